// SPDX-License-Identifier: MIT
#pragma once

#if defined(_WIN32)
#include "kit/platform/windows/test_server.hpp"
#else
#include "kit/platform/posix/fork_tests.hpp"
#include "kit/platform/posix/test_server.hpp"
#endif
