// SPDX-License-Identifier: MIT
//
// The definitions of the layer progress: how far the load of a method is. A part of
// <tenon/host/implementation.hpp>.
#pragma once

#include "tenon/host/layers/progress/impl/load_progress.hpp"
