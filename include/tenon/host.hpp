// SPDX-License-Identifier: MIT
//
// Everything that an application needs to load plugins and run programs. Needs fmt and flatbuffers.
#pragma once

#include "tenon/host/binary_lint.hpp"
#include "tenon/host/check_blob.hpp"
#include "tenon/host/compare_arrays.hpp"
#include "tenon/host/data_file.hpp"
#include "tenon/host/devices.hpp"
#include "tenon/host/discovery.hpp"
#include "tenon/host/embedded_code.hpp"
#include "tenon/host/kernel_backends.hpp"
#include "tenon/host/kernels.hpp"
#include "tenon/host/method.hpp"
#include "tenon/host/method_meta.hpp"
#include "tenon/host/named_data.hpp"
#include "tenon/host/npy.hpp"
#include "tenon/host/peek.hpp"
#include "tenon/host/plugin.hpp"
#include "tenon/host/program.hpp"
#include "tenon/host/registry.hpp"
#include "tenon/host/trace.hpp"
#include "tenon/host/value_array.hpp"
