// SPDX-License-Identifier: MIT
//
// The definitions of the layer trust: checks of the files that a host loads. A part of
// <tenon/host/implementation.hpp>.
#pragma once

#include "tenon/host/layers/trust/impl/sha256.hpp"
#include "tenon/host/layers/trust/impl/trust_gate.hpp"
