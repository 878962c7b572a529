// SPDX-License-Identifier: MIT
//
// This directory: all that the kit asks the system for, except what it replaces of the C library
// (process/interpose.hpp). `posix` and `windows` have the same names; the rest of the kit includes
// no header of the system.
#pragma once

#if defined(_WIN32)
#include "kit/platform/windows/crash_handlers.hpp"
#include "kit/platform/windows/guest_state.hpp"
#include "kit/platform/windows/kept_libraries.hpp"
#include "kit/platform/windows/process_resources.hpp"
#include "kit/platform/windows/shared_file.hpp"
#include "kit/platform/windows/system_name.hpp"
#include "kit/platform/windows/thread.hpp"
#else
#include "kit/platform/posix/crash_handlers.hpp"
#include "kit/platform/posix/guest_state.hpp"
#include "kit/platform/posix/kept_libraries.hpp"
#include "kit/platform/posix/process_resources.hpp"
#include "kit/platform/posix/shared_file.hpp"
#include "kit/platform/posix/system_name.hpp"
#include "kit/platform/posix/thread.hpp"
#endif
