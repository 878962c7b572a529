// SPDX-License-Identifier: MIT
//
// The definitions of the layer sessions: further states of a method. A part of
// <tenon/host/implementation.hpp>.
#pragma once

#include "tenon/host/layers/sessions/impl/method_sessions.hpp"
