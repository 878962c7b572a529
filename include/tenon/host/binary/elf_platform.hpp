// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>  // Defines __GLIBC__ with that C library.
#include <string>
#include <string_view>

#include "tenon/core/api.hpp"
#include "tenon/core/concat.hpp"
#include "tenon/host/binary/elf_class.hpp"

/// The platform of an ELF file: machine, width, system and C library.
namespace tenon::host {

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

namespace detail::elf {

/// Name of an ELF machine number (`e_machine`).
TENON_COLD inline std::string machine_name(std::uint32_t machine) {
  switch (machine) {
    case 3:
      return "i386";
    case 8:
      return "mips";
    case 20:
      return "powerpc";
    case 21:
      return "powerpc64";
    case 22:
      return "s390x";
    case 40:
      return "arm";
    case 43:
      return "sparc64";
    case 62:
      return "x86_64";
    case 183:
      return "aarch64";
    case 190:
      return "NVIDIA CUDA";
    case 224:
      return "AMD GPU";
    case 243:
      return "riscv";
    case 258:
      return "loongarch";
    default:
      return concat("machine number ", machine);
  }
}

/// The width of the shared libraries of a machine. Where one number is of machines of both widths,
/// the one that is read: 32 bits for mips, 64 for riscv and loongarch.
constexpr ElfClass class_of_machine(std::uint32_t machine) {
  constexpr std::uint32_t i386 = 3, mips = 8, powerpc = 20, arm = 40;
  return {machine != i386 && machine != mips && machine != powerpc && machine != arm};
}

/// Name of a system by the `EI_OSABI` of its files; empty for Linux and for those that do not say.
inline std::string system_name(unsigned os_abi) {
  switch (os_abi) {
    case 0:  // System V: Linux too, unless the file uses what only GNU has.
    case 3:
      return {};
    case 2:
      return "NetBSD";
    case 6:
      return "Solaris";
    case 9:
      return "FreeBSD";
    case 12:
      return "OpenBSD";
    default:
      return concat("system number ", os_abi);
  }
}

/// The C library that this host was compiled for.
#if defined(__GLIBC__)
inline constexpr CLibrary this_c_library = CLibrary::glibc;
#elif defined(__linux__)
inline constexpr CLibrary this_c_library = CLibrary::musl;
#else
inline constexpr CLibrary this_c_library = CLibrary::any;
#endif

}  // namespace detail::elf
}  // namespace tenon::host
