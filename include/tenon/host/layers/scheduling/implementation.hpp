// SPDX-License-Identifier: MIT
//
// The definitions of the layer scheduling: hints for backends. A part of
// <tenon/host/implementation.hpp>.
#pragma once

#include "tenon/host/layers/scheduling/impl/method_scheduling.hpp"
