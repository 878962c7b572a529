// SPDX-License-Identifier: MIT
//
// The definitions of the layer budget: budgets and estimates of memory. A part of
// <tenon/host/implementation.hpp>.
#pragma once

#include "tenon/host/layers/budget/impl/budget.hpp"
#include "tenon/host/layers/budget/impl/estimate.hpp"
#include "tenon/host/layers/budget/impl/memory_info.hpp"
