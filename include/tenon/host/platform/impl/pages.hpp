// SPDX-License-Identifier: MIT
#pragma once

/// Whole pages of memory, and the accesses to them.
#if defined(_WIN32)
#include "tenon/host/platform/impl/windows/pages.hpp"
#else
#include "tenon/host/platform/impl/posix/pages.hpp"
#endif
