// SPDX-License-Identifier: MIT
//
// Compiles where the facts of tenon/onnxruntime/api agree with the header of ONNX Runtime.
#include <onnxruntime_c_api.h>

#include "tenon/onnxruntime/api/check_header.hpp"
