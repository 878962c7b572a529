// SPDX-License-Identifier: MIT
//
// The definitions of the layer streams: streams of the application for backends. A part of
// <tenon/host/implementation.hpp>.
#pragma once

#include "tenon/host/layers/streams/impl/method_streams.hpp"
