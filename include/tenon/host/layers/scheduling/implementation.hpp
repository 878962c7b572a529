// SPDX-License-Identifier: MIT
//
// The definitions of the layer scheduling: hints and threads for backends. A part of
// <tenon/host/implementation.hpp>.
#pragma once

#include "tenon/host/layers/scheduling/impl/method_scheduling.hpp"
#include "tenon/host/layers/scheduling/impl/scheduling_hints.hpp"
#include "tenon/host/layers/scheduling/impl/threads_part.hpp"
