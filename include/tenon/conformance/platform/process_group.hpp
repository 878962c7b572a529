// SPDX-License-Identifier: MIT
#pragma once

#if defined(_WIN32)
#include "tenon/conformance/platform/windows/process_group.hpp"
#else
#include "tenon/conformance/platform/posix/process_group.hpp"
#endif
