// SPDX-License-Identifier: MIT
//
// The definitions of the layer devices: memory of devices. A part of
// <tenon/host/implementation.hpp>.
#pragma once

#include "tenon/host/layers/devices/impl/device_memory.hpp"
#include "tenon/host/layers/devices/impl/devices.hpp"
