// SPDX-License-Identifier: MIT
//
// The definitions of the layer trace: traces and intermediates. A part of
// <tenon/host/implementation.hpp>.
#pragma once

#include "tenon/host/layers/trace/impl/method_intermediates.hpp"
#include "tenon/host/layers/trace/impl/trace.hpp"
#include "tenon/host/layers/trace/impl/trace_part.hpp"
