// SPDX-License-Identifier: MIT
//
// The definitions of the layer external_memory: memory and fences of other owners. A part of
// <tenon/host/implementation.hpp>.
#pragma once

#include "tenon/host/layers/external_memory/impl/external_memory.hpp"
#include "tenon/host/layers/external_memory/impl/imported_pages.hpp"
#include "tenon/host/layers/external_memory/impl/method_fences.hpp"
