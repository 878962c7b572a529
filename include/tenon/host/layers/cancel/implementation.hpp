// SPDX-License-Identifier: MIT
//
// The definitions of the layer cancel: ending a run from another thread. A part of
// <tenon/host/implementation.hpp>.
#pragma once

#include "tenon/host/layers/cancel/impl/cancel.hpp"
