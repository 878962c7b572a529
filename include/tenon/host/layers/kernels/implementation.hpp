// SPDX-License-Identifier: MIT
//
// The definitions of the layer kernels: kernels from plugins. A part of
// <tenon/host/implementation.hpp>.
#pragma once

#include "tenon/host/layers/kernels/impl/kernel_backends.hpp"
#include "tenon/host/layers/kernels/impl/kernel_extension.hpp"
#include "tenon/host/layers/kernels/impl/plugin_kernels.hpp"
