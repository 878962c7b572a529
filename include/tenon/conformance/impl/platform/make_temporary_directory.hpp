// SPDX-License-Identifier: MIT
#pragma once

#if defined(_WIN32)
#include "tenon/conformance/impl/platform/windows/make_temporary_directory.hpp"
#else
#include "tenon/conformance/impl/platform/posix/make_temporary_directory.hpp"
#endif
