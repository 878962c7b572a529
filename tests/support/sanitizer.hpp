// SPDX-License-Identifier: MIT
#pragma once

#include "tenon/core/sanitizer.hpp"

/// TENON_TEST_HAS_SANITIZER: the address or the thread sanitizer watches this program.
#if TENON_DETAIL_ADDRESS_SANITIZER || TENON_DETAIL_THREAD_SANITIZER
#define TENON_TEST_HAS_SANITIZER 1
#endif

/// TENON_TEST_HAS_THREAD_SANITIZER: the thread sanitizer does, which has an operator new of its
/// own.
#if TENON_DETAIL_THREAD_SANITIZER
#define TENON_TEST_HAS_THREAD_SANITIZER 1
#endif
