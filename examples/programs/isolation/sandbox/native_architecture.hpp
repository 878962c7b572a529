// SPDX-License-Identifier: MIT
#pragma once

#include <linux/audit.h>

#include <cstdint>

namespace tenon::isolated {

/// AUDIT_ARCH of the calls that a worker may make.
#if defined(__x86_64__)
inline constexpr std::uint32_t native_architecture = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
inline constexpr std::uint32_t native_architecture = AUDIT_ARCH_AARCH64;
#else
#error "the filter of system calls is written for x86-64 and arm64"
#endif

}  // namespace tenon::isolated
