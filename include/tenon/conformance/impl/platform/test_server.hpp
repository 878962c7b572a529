// SPDX-License-Identifier: MIT
#pragma once

#if defined(_WIN32)
#include "tenon/conformance/impl/platform/windows/test_server.hpp"
#else
#include "tenon/conformance/impl/platform/posix/fork_tests.hpp"
#include "tenon/conformance/impl/platform/posix/test_server.hpp"
#endif
