// SPDX-License-Identifier: MIT
//
// The definitions of the layer code: the policy for native code in programs. A part of
// <tenon/host/implementation.hpp>.
#pragma once

#include "tenon/host/layers/code/impl/code_part.hpp"
#include "tenon/host/layers/code/impl/embedded_code.hpp"
