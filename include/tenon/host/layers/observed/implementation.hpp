// SPDX-License-Identifier: MIT
//
// The definitions of the layer observed: runs that other layers look at. A part of
// <tenon/host/implementation.hpp>.
#pragma once

#include "tenon/host/layers/observed/impl/choose_run.hpp"
