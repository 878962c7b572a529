// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>

#include "tenon/core/concat.hpp"
#include "tenon/core/elf_class.hpp"

/// The platform of an ELF file: machine, width and system.
namespace tenon::inline TENON_RELEASE::host::detail::elf {

/// Name of an ELF machine number (`e_machine`).
inline std::string machine_name(std::uint32_t machine) {
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

}  // namespace tenon::inline TENON_RELEASE::host::detail::elf
