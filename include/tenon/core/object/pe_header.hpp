// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>

#include "tenon/core/concat.hpp"
#include "tenon/core/file_bytes.hpp"

/// The headers of a Windows file (PE), which name its kind and machine on every system.
namespace tenon { inline namespace TENON_RELEASE { namespace detail::pe {

inline constexpr std::uint32_t signature = 0x00004550;  // "PE\0\0"
inline constexpr std::uint64_t dos_header_size = 64;
inline constexpr std::uint64_t coff_header_size = 24;  // With the signature before it.
inline constexpr std::uint64_t section_header_size = 40;

inline constexpr std::uint32_t machine_i386 = 0x14c;
inline constexpr std::uint32_t machine_x86_64 = 0x8664;
inline constexpr std::uint32_t machine_arm64 = 0xaa64;

/// Name of a machine number of PE (`IMAGE_FILE_MACHINE_...`).
inline std::string machine_name(std::uint32_t machine) {
  switch (machine) {
    case machine_i386:
      return "i386";
    case 0x1c4:
      return "arm";
    case 0x200:
      return "ia64";
    case 0x5064:
      return "riscv64";
    case machine_x86_64:
      return "x86_64";
    case 0xa641:
      return "arm64ec";
    case machine_arm64:
      return "arm64";
    default:
      return concat("machine number ", machine);
  }
}

/// "a Windows DLL for x86_64"
inline std::string describe_library(std::uint32_t machine) {
  return concat("a Windows DLL for ", machine_name(machine));
}

/// The headers of a file that begins with "MZ".
struct Headers {
  FileBytes coff;      ///< From the signature on; empty where there is none.
  FileBytes optional;  ///< What the COFF header calls optional, and every DLL has.
  FileBytes sections;

  static Headers of(FileBytes file) noexcept {
    const FileBytes coff = file.part(file.u32(60));
    if (file.size() < dos_header_size || coff.size() < coff_header_size || coff.u32(0) != signature)
      return {};
    const std::uint64_t size = coff.u16(20);
    return {coff, coff.part(coff_header_size, size),
            coff.part(coff_header_size + size, coff.u16(6) * section_header_size)};
  }

  [[nodiscard]] std::uint32_t machine() const noexcept { return coff.u16(4); }
  [[nodiscard]] std::uint64_t num_sections() const noexcept { return coff.u16(6); }
  [[nodiscard]] bool is_dll() const noexcept { return (coff.u16(22) & 0x2000) != 0; }
  /// PE32+, the form of 64-bit machines.
  [[nodiscard]] bool is_wide() const noexcept { return optional.u16(0) == 0x20b; }
};

/// Describes the file by its headers: "a Windows DLL for x86_64".
inline std::string describe(FileBytes file) {
  const Headers headers = Headers::of(file);
  if (file.size() < dos_header_size)
    return concat("a truncated PE file of ", file.size(), " bytes");
  if (headers.coff.empty()) return "a program for DOS or a truncated PE file: it has no PE header";
  return concat("a Windows ", headers.is_dll() ? "DLL" : "program (.exe)", " for ",
                machine_name(headers.machine()));
}

}}}  // namespace tenon::TENON_RELEASE::detail::pe
