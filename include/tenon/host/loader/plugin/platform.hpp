// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>  // Defines __GLIBC__ with that C library.

#include "tenon/core/object/format.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

/// The platform of a shared library that a process can load.
struct Platform {
  BinaryFormat format;
  std::uint32_t machine;  ///< `e_machine` of an ELF file, `cputype` of Mach-O, `Machine` of PE.
  /// The C library of ELF files; a plugin that needs another one is refused.
  CLibrary c_library = CLibrary::any;

  friend bool operator==(const Platform&, const Platform&) = default;
};

namespace detail {
/// The C library that this host was compiled for.
#if defined(__GLIBC__)
inline constexpr CLibrary this_c_library = CLibrary::glibc;
#elif defined(__linux__)
inline constexpr CLibrary this_c_library = CLibrary::musl;
#else
inline constexpr CLibrary this_c_library = CLibrary::any;
#endif
}  // namespace detail

/// The platform that this host was compiled for, the only one whose files the loader reads:
/// <tenon/host/inspect.hpp> reads files for the other platforms.
#if defined(__APPLE__) && defined(__aarch64__)
inline constexpr Platform this_platform{BinaryFormat::mach_o, 0x0100000c};
#elif defined(__APPLE__) && defined(__x86_64__)
inline constexpr Platform this_platform{BinaryFormat::mach_o, 0x01000007};
#elif defined(_WIN32) && (defined(_M_ARM64) || defined(__aarch64__))
inline constexpr Platform this_platform{BinaryFormat::pe, 0xaa64};
#elif defined(_WIN32) && (defined(_M_X64) || defined(__x86_64__))
inline constexpr Platform this_platform{BinaryFormat::pe, 0x8664};
#elif defined(_WIN32) && (defined(_M_IX86) || defined(__i386__))
inline constexpr Platform this_platform{BinaryFormat::pe, 0x14c};
#elif defined(__x86_64__)
inline constexpr Platform this_platform{BinaryFormat::elf, 62, detail::this_c_library};
#elif defined(__aarch64__)
inline constexpr Platform this_platform{BinaryFormat::elf, 183, detail::this_c_library};
#elif defined(__arm__)
inline constexpr Platform this_platform{BinaryFormat::elf, 40, detail::this_c_library};
#elif defined(__riscv) && __riscv_xlen == 64
inline constexpr Platform this_platform{BinaryFormat::elf, 243, detail::this_c_library};
#elif defined(__powerpc64__) && defined(__LITTLE_ENDIAN__)
inline constexpr Platform this_platform{BinaryFormat::elf, 21, detail::this_c_library};
#elif defined(__loongarch64)
inline constexpr Platform this_platform{BinaryFormat::elf, 258, detail::this_c_library};
#else
#error \
    "tenon/host/loader/plugin/platform.hpp does not know this machine: add its ELF, Mach-O or PE number above"
#endif

}}}  // namespace tenon::TENON_RELEASE::host
