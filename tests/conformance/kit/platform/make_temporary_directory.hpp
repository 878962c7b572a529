// SPDX-License-Identifier: MIT
#pragma once

#if defined(_WIN32)
#include "kit/platform/windows/make_temporary_directory.hpp"
#else
#include "kit/platform/posix/make_temporary_directory.hpp"
#endif
