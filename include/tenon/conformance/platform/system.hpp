// SPDX-License-Identifier: MIT
//
// This directory: all that the kit asks the system for, except what it replaces of the C library
// (process/interpose.hpp). `posix` and `windows` have the same names; the rest of the kit includes
// no header of the system.
#pragma once

#if defined(_WIN32)
#include "tenon/conformance/platform/windows/crash_handlers.hpp"
#include "tenon/conformance/platform/windows/guest_state.hpp"
#include "tenon/conformance/platform/windows/kept_libraries.hpp"
#include "tenon/conformance/platform/windows/process_resources.hpp"
#include "tenon/conformance/platform/windows/shared_file.hpp"
#include "tenon/conformance/platform/windows/system_name.hpp"
#include "tenon/conformance/platform/windows/thread.hpp"
#else
#include "tenon/conformance/platform/posix/crash_handlers.hpp"
#include "tenon/conformance/platform/posix/guest_state.hpp"
#include "tenon/conformance/platform/posix/kept_libraries.hpp"
#include "tenon/conformance/platform/posix/process_resources.hpp"
#include "tenon/conformance/platform/posix/shared_file.hpp"
#include "tenon/conformance/platform/posix/system_name.hpp"
#include "tenon/conformance/platform/posix/thread.hpp"
#endif
