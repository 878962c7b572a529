// SPDX-License-Identifier: MIT
//
// The definitions of the layer observed: runs that other layers observe. A part of
// <tenon/host/implementation.hpp>.
#pragma once

#include "tenon/host/layers/observed/impl/observed_run.hpp"
