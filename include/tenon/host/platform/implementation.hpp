// SPDX-License-Identifier: MIT
//
// The definitions of the platform that layers use, and the loader does not: files that are written,
// and paths that other users cannot change. A part of <tenon/host/implementation.hpp>.
#pragma once

#include "tenon/host/platform/impl/new_file.hpp"
#include "tenon/host/platform/impl/trusted_path.hpp"
