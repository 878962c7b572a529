// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "tenon/core/file_bytes.hpp"

/// The purpose of a shared library: a system, by its format, and a C library. Each format has
/// its reader in this folder, which finds the data object that a library exports.
namespace tenon { inline namespace TENON_RELEASE {

/// The file formats that are read: of Linux, macOS and Windows.
enum class BinaryFormat : std::uint8_t { elf, mach_o, pe };

/// "ELF", "Mach-O", "PE".
[[nodiscard]] constexpr std::string_view name_of(BinaryFormat format) noexcept {
  constexpr std::string_view names[] = {"ELF", "Mach-O", "PE"};
  return names[static_cast<std::size_t>(format)];
}

/// The C library that an ELF shared library needs. Musl's libraries have the symbols of glibc
/// without their versions: what was linked with the one must not be loaded with the other, even
/// where its loader tries.
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

namespace detail::macho {
inline constexpr std::uint32_t thin_magic = 0xfeedfacf;    // MH_MAGIC_64, little endian
inline constexpr std::uint32_t fat_magic = 0xcafebabe;     // FAT_MAGIC, big endian
inline constexpr std::uint32_t fat_magic_64 = 0xcafebabf;  // FAT_MAGIC_64, big endian
/// Java class files begin as universal files do; they show a count above this one there.
inline constexpr std::uint32_t max_slices = 40;
}  // namespace detail::macho

/// The format that a file begins as; nothing for another file. Of Mach-O only files of 64 bits.
[[nodiscard]] inline std::optional<BinaryFormat> format_of(FileBytes file) noexcept {
  using namespace detail::macho;
  constexpr std::uint32_t elf_magic = 0x7f454c46;
  constexpr std::uint16_t dos_magic = 0x5a4d;  // "MZ"
  const auto first = file.big_endian<std::uint32_t>(0);
  if (first == elf_magic) return BinaryFormat::elf;
  if (file.u16(0) == dos_magic) return BinaryFormat::pe;
  const bool is_universal = first == fat_magic_64 ||
                            (first == fat_magic && file.big_endian<std::uint32_t>(4) <= max_slices);
  if (is_universal || file.u32(0) == thin_magic) return BinaryFormat::mach_o;
  return std::nullopt;
}

}}  // namespace tenon::TENON_RELEASE
