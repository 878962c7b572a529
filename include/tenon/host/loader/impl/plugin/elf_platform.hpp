// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "tenon/core/concat.hpp"
#include "tenon/core/elf/elf_class.hpp"

/// The platform of an ELF file: machine, width and system.
namespace tenon { inline namespace TENON_RELEASE { namespace host::detail::elf {

/// Name of an ELF machine number (`e_machine`).
inline std::string machine_name(std::uint32_t machine) {
  struct Machine {
    std::uint32_t number;
    std::string_view name;
  };
  static constexpr Machine machines[] = {
      {3, "i386"},      {8, "mips"},     {20, "powerpc"},   {21, "powerpc64"}, {22, "s390x"},
      {40, "arm"},      {43, "sparc64"}, {62, "x86_64"},    {183, "aarch64"},  {190, "NVIDIA CUDA"},
      {224, "AMD GPU"}, {243, "riscv"},  {258, "loongarch"}};
  for (const Machine& known : machines) {
    if (known.number == machine) return std::string(known.name);
  }
  return concat("machine number ", machine);
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

}}}  // namespace tenon::TENON_RELEASE::host::detail::elf
