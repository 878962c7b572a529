// SPDX-License-Identifier: MIT
#pragma once

/// Which sanitizer the code is compiled with: each of TENON_DETAIL_ADDRESS_SANITIZER,
/// TENON_DETAIL_THREAD_SANITIZER and TENON_DETAIL_MEMORY_SANITIZER is 1 or 0. gcc defines a macro
/// for the first two, clang has `__has_feature`.
#if defined(__has_feature)
#define TENON_DETAIL_HAS_FEATURE(feature) __has_feature(feature)
#else
#define TENON_DETAIL_HAS_FEATURE(feature) 0
#endif

#if defined(__SANITIZE_ADDRESS__) || TENON_DETAIL_HAS_FEATURE(address_sanitizer)
#define TENON_DETAIL_ADDRESS_SANITIZER 1
#else
#define TENON_DETAIL_ADDRESS_SANITIZER 0
#endif

#if defined(__SANITIZE_THREAD__) || TENON_DETAIL_HAS_FEATURE(thread_sanitizer)
#define TENON_DETAIL_THREAD_SANITIZER 1
#else
#define TENON_DETAIL_THREAD_SANITIZER 0
#endif

#if TENON_DETAIL_HAS_FEATURE(memory_sanitizer)
#define TENON_DETAIL_MEMORY_SANITIZER 1
#else
#define TENON_DETAIL_MEMORY_SANITIZER 0
#endif

#undef TENON_DETAIL_HAS_FEATURE
