// SPDX-License-Identifier: MIT
#pragma once

/// The names in a directory (`list_directory`).
#if defined(_WIN32)
#include "tenon/host/platform/windows/list_directory.hpp"
#else
#include "tenon/host/platform/posix/list_directory.hpp"
#endif
