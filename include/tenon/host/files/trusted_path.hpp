// SPDX-License-Identifier: MIT
#pragma once

/// Opens files so that what was checked is what is used (`open_file`, `Folder`); each system has
/// its own rules for who answers for a path.
#if defined(_WIN32)
#include "tenon/host/platform/windows/trusted_path.hpp"
#else
#include "tenon/host/platform/posix/trusted_path.hpp"
#endif
