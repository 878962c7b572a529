// SPDX-License-Identifier: MIT
#pragma once

/// All that the host asks the system for: files, directories, libraries, the environment. `posix`
/// and `windows` have the same names; no other directory of the host includes a header of the
/// system.
///
/// Files are descriptors of the C library on both. The functions of `platform` fail as POSIX
/// functions do: they return -1, false or null, and `errno` has the reason.
#if defined(_WIN32)
#include "tenon/host/platform/windows/file.hpp"
#else
#include "tenon/host/platform/posix/file.hpp"
#endif
