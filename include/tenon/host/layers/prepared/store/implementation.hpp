// SPDX-License-Identifier: MIT
//
// The definitions of PreparedStore, which an application's own store uses as well. A part of
// <tenon/host/implementation.hpp>, apart from the store in a directory.
#pragma once

#include "tenon/host/layers/prepared/impl/prepared_store.hpp"
