// SPDX-License-Identifier: MIT
#pragma once

#if defined(_WIN32)
#include "tenon/conformance/impl/platform/windows/output_of_program.hpp"
#else
#include "tenon/conformance/impl/platform/posix/output_of_program.hpp"
#endif
