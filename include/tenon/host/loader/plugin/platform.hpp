// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>  // Defines __GLIBC__ with that C library.
#include <string>
#include <string_view>

#include "tenon/abi/version.h"

/// The platforms that libraries are for.
namespace tenon { inline namespace TENON_RELEASE { namespace host {

/// The C library that a shared library needs. Those of musl have the symbols of glibc without their
/// versions: what was linked with the one must not be loaded with the other, even where its loader
/// tries.
enum class CLibrary : std::uint8_t {
  any,    ///< It needs none, or one of a name that is not known.
  glibc,  ///< libc.so.6
  musl,   ///< libc.musl-MACHINE.so.1 or, as bionic, libc.so
};

/// "glibc (libc.so.6)", "musl (libc.so)", "any C library".
[[nodiscard]] constexpr std::string_view name_of(CLibrary library) noexcept {
  switch (library) {
    case CLibrary::glibc:
      return "glibc (libc.so.6)";
    case CLibrary::musl:
      return "musl (libc.so)";
    case CLibrary::any:
      break;
  }
  return "any C library";
}

namespace detail {

namespace elf {
/// The C library that this host was compiled for.
#if defined(__GLIBC__)
inline constexpr CLibrary this_c_library = CLibrary::glibc;
#elif defined(__linux__)
inline constexpr CLibrary this_c_library = CLibrary::musl;
#else
inline constexpr CLibrary this_c_library = CLibrary::any;
#endif
}  // namespace elf

namespace macho {
inline constexpr std::uint32_t cpu_x86_64 = 0x01000007;
inline constexpr std::uint32_t cpu_arm64 = 0x0100000c;
}  // namespace macho

namespace pe {
inline constexpr std::uint32_t machine_i386 = 0x14c;
inline constexpr std::uint32_t machine_x86_64 = 0x8664;
inline constexpr std::uint32_t machine_arm64 = 0xaa64;
}  // namespace pe

}  // namespace detail

/// The file formats that are read: of Linux, macOS and Windows.
enum class BinaryFormat : std::uint8_t { elf, mach_o, pe };

/// "ELF", "Mach-O", "PE".
[[nodiscard]] constexpr std::string_view name_of(BinaryFormat format) noexcept {
  constexpr std::string_view names[] = {"ELF", "Mach-O", "PE"};
  return names[static_cast<std::size_t>(format)];
}

/// The platform of a shared library that a process can load.
struct Platform {
  BinaryFormat format;
  std::uint32_t machine;  ///< `e_machine` of an ELF file, `cputype` of Mach-O, `Machine` of PE.
  /// The C library of ELF files; a plugin that needs another one is refused.
  CLibrary c_library = CLibrary::any;

  friend bool operator==(const Platform&, const Platform&) = default;
};

/// The platform that this host was compiled for.
#if defined(__APPLE__) && defined(__aarch64__)
inline constexpr Platform this_platform{BinaryFormat::mach_o, detail::macho::cpu_arm64};
#elif defined(__APPLE__) && defined(__x86_64__)
inline constexpr Platform this_platform{BinaryFormat::mach_o, detail::macho::cpu_x86_64};
#elif defined(_WIN32) && (defined(_M_ARM64) || defined(__aarch64__))
inline constexpr Platform this_platform{BinaryFormat::pe, detail::pe::machine_arm64};
#elif defined(_WIN32) && (defined(_M_X64) || defined(__x86_64__))
inline constexpr Platform this_platform{BinaryFormat::pe, detail::pe::machine_x86_64};
#elif defined(_WIN32) && (defined(_M_IX86) || defined(__i386__))
inline constexpr Platform this_platform{BinaryFormat::pe, detail::pe::machine_i386};
#elif defined(__x86_64__)
inline constexpr Platform this_platform{BinaryFormat::elf, 62, detail::elf::this_c_library};
#elif defined(__aarch64__)
inline constexpr Platform this_platform{BinaryFormat::elf, 183, detail::elf::this_c_library};
#elif defined(__arm__)
inline constexpr Platform this_platform{BinaryFormat::elf, 40, detail::elf::this_c_library};
#elif defined(__riscv) && __riscv_xlen == 64
inline constexpr Platform this_platform{BinaryFormat::elf, 243, detail::elf::this_c_library};
#elif defined(__powerpc64__) && defined(__LITTLE_ENDIAN__)
inline constexpr Platform this_platform{BinaryFormat::elf, 21, detail::elf::this_c_library};
#elif defined(__loongarch64)
inline constexpr Platform this_platform{BinaryFormat::elf, 258, detail::elf::this_c_library};
#else
#error \
    "tenon/host/loader/plugin/platform.hpp does not know this machine: add its ELF, Mach-O or PE number above"
#endif

/// Name of the platform's machine as its system has it ("x86_64", "aarch64" of Linux, "arm64" of
/// macOS and Windows); "machine number N" for one that is not known. threads: any.
[[nodiscard]] std::string machine_name(const Platform& platform);

/// The name of a platform in manifests: "linux-x86_64", "macos-arm64", "windows-x86_64". threads:
/// any.
[[nodiscard]] std::string platform_name(const Platform& platform = this_platform);

/// The kind of file that a platform loads: "ELF shared library for x86_64", "Mach-O library for
/// arm64", "Windows DLL for x86_64". threads: any.
[[nodiscard]] std::string library_kind(const Platform& platform);

}}}  // namespace tenon::TENON_RELEASE::host
