// SPDX-License-Identifier: MIT
//
// The definitions of the layer sessions: states of a method beside its own. A part of
// <tenon/host/implementation.hpp>.
#pragma once

#include "tenon/host/layers/sessions/impl/method_sessions.hpp"
