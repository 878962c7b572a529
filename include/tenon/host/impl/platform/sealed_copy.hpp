// SPDX-License-Identifier: MIT
#pragma once

/// Copies of files that no process can change, and states of files.
#if defined(_WIN32)
#include "tenon/host/impl/platform/windows/sealed_copy.hpp"
#else
#include "tenon/host/impl/platform/posix/sealed_copy.hpp"
#endif
