// SPDX-License-Identifier: MIT
#pragma once

#if defined(_WIN32)
#include "tenon/host/platform/impl/windows/opened_file.hpp"
#else
#include "tenon/host/platform/impl/posix/opened_file.hpp"
#endif
