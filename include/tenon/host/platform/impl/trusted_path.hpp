// SPDX-License-Identifier: MIT
#pragma once

/// Each system decides in its own way which accounts answer for a path.
#if defined(_WIN32)
#include "tenon/host/platform/impl/windows/trusted_path.hpp"
#else
#include "tenon/host/platform/impl/posix/trusted_path.hpp"
#endif
