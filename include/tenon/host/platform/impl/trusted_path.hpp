// SPDX-License-Identifier: MIT
#pragma once

/// Each system has its own rules for who answers for a path.
#if defined(_WIN32)
#include "tenon/host/platform/impl/windows/trusted_path.hpp"
#else
#include "tenon/host/platform/impl/posix/trusted_path.hpp"
#endif
