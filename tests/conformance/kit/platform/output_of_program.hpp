// SPDX-License-Identifier: MIT
#pragma once

#if defined(_WIN32)
#include "kit/platform/windows/output_of_program.hpp"
#else
#include "kit/platform/posix/output_of_program.hpp"
#endif
