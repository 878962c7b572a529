// SPDX-License-Identifier: MIT
#pragma once

/// Libraries of the system that are loaded by name when they are needed.
#if defined(_WIN32)
#include "tenon/host/platform/impl/windows/system_library.hpp"
#else
#include "tenon/host/platform/impl/posix/system_library.hpp"
#endif
