// SPDX-License-Identifier: MIT
#pragma once

#if defined(_WIN32)
#include "tenon/host/platform/windows/signals_blocked.hpp"
#else
#include "tenon/host/platform/posix/signals_blocked.hpp"
#endif
