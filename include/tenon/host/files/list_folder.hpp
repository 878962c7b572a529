// SPDX-License-Identifier: MIT
#pragma once

/// The names in a directory (`list_folder`).
#if defined(_WIN32)
#include "tenon/host/platform/windows/list_folder.hpp"
#else
#include "tenon/host/platform/posix/list_folder.hpp"
#endif
