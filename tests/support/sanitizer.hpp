// SPDX-License-Identifier: MIT
#pragma once

/// TENON_TEST_HAS_SANITIZER: the address or the thread sanitizer watches this program.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define TENON_TEST_HAS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define TENON_TEST_HAS_SANITIZER 1
#endif
#endif

/// TENON_TEST_HAS_THREAD_SANITIZER: the thread sanitizer does, which has an operator new of its
/// own.
#if defined(__SANITIZE_THREAD__)
#define TENON_TEST_HAS_THREAD_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define TENON_TEST_HAS_THREAD_SANITIZER 1
#endif
#endif
