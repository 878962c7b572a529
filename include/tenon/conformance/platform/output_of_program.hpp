// SPDX-License-Identifier: MIT
#pragma once

#if defined(_WIN32)
#include "tenon/conformance/platform/windows/output_of_program.hpp"
#else
#include "tenon/conformance/platform/posix/output_of_program.hpp"
#endif
