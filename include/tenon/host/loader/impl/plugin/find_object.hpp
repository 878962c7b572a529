// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "tenon/abi/plugin.h"
#include "tenon/core/concat.hpp"
#include "tenon/core/elf/elf_image.hpp"
#include "tenon/core/file_bytes.hpp"
#include "tenon/core/hex.hpp"
#include "tenon/core/result.hpp"
#include "tenon/host/layers/inspect/impl/macho.hpp"
#include "tenon/host/layers/inspect/impl/pe.hpp"
#include "tenon/host/loader/impl/plugin/elf.hpp"
#include "tenon/host/loader/plugin/peek.hpp"
#include "tenon/host/loader/plugin/platform.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host::detail {

/// With the article of the name that follows it.
constexpr std::string_view article_of(BinaryFormat format) {
  return format == BinaryFormat::elf ? "an " : "a ";
}

/// Describes a file that is neither ELF nor 64-bit Mach-O nor PE.
[[gnu::cold]] inline std::string describe_content(FileBytes file) {
  struct Kind {
    std::size_t offset;
    std::string_view bytes;
    std::string_view name;
  };
  using namespace std::string_view_literals;
  static constexpr std::array kinds{
      Kind{0, "\xce\xfa\xed\xfe"sv, "a 32-bit Mach-O file"sv},
      Kind{0, "\xfe\xed\xfa\xcf"sv, "a big-endian Mach-O file"sv},
      Kind{0, "\xfe\xed\xfa\xce"sv, "a big-endian 32-bit Mach-O file"sv},
      Kind{0, "\xca\xfe\xba\xbe"sv, "a Java class file"sv},
      Kind{0, "!<arch>\n"sv, "a static library (.a)"sv},
      Kind{0, "!<thin>\n"sv, "a static library (.a)"sv},
      Kind{0, "BC\xc0\xde"sv, "LLVM bitcode"sv},
      Kind{0, "\0asm"sv, "a WebAssembly module"sv},
      Kind{0, "PK\x03\x04"sv, "a zip archive"sv},
      Kind{0, "\x1f\x8b"sv, "a gzip archive"sv},
      Kind{4, "ET12"sv, "an ExecuTorch program (.pte)"sv},
      Kind{4, "FT01"sv, "an ExecuTorch data file (.ptd)"sv},
      Kind{0, "\x89TENON1\n"sv, "a bare plugin object"sv},
      Kind{0, "#!"sv, "a script"sv},
      Kind{0, "version https://git-lfs"sv, "a Git LFS pointer whose file was not fetched"sv},
  };
  const std::string_view text = file.part(0, 512).text();
  for (const Kind& kind : kinds) {
    if (text.size() >= kind.offset && text.substr(kind.offset).starts_with(kind.bytes)) {
      return std::string(kind.name);
    }
  }
  bool printable = true;
  for (const char c : text) {
    const auto code = static_cast<unsigned char>(c);
    printable = printable && (code >= 0x20 ? code != 0x7f : (code >= '\t' && code <= '\r'));
  }
  if (printable) return "a text file";
  return concat("a file of no known kind that begins with ", to_spaced_hex(file.bytes(), 8));
}

/// Which of the formats the file begins as; nothing for another file.
inline std::optional<BinaryFormat> format_of(FileBytes file) noexcept {
  const auto first = file.big_endian<std::uint32_t>(0);
  if (is_elf(file)) return BinaryFormat::elf;
  if (file.u16(0) == pe::dos_magic) return BinaryFormat::pe;
  const bool is_universal =
      first == macho::fat_magic_64 ||
      (first == macho::fat_magic && file.big_endian<std::uint32_t>(4) <= macho::max_slices);
  if (is_universal || file.u32(0) == macho::thin_magic) return BinaryFormat::mach_o;
  return std::nullopt;
}

/// Whether a file has the format of `platform`. Failures do not name the file.
inline Status check_format(FileBytes file, const Platform& platform) {
  const auto refuse = [&](std::string_view found) {
    return error(Error::InvalidArgument, "is ", found, ", expected ", describe_library(platform));
  };
  if (file.empty()) return refuse("empty");
  const auto format = format_of(file);
  if (!format) return refuse(describe_content(file));
  if (*format != platform.format) {
    if (*format == BinaryFormat::pe) return refuse(pe::describe(file));
    return refuse(concat(article_of(*format), name_of(*format),
                         *format == BinaryFormat::elf ? " file (Linux)" : " file (macOS)"));
  }
  return ok();
}

/// The bytes of the plugin's object in a file. Failures do not name the file.
inline Result<std::span<const std::byte>> find_plugin_object(FileBytes file,
                                                             const Platform& platform) {
  TENON_RETURN_IF_ERROR(check_format(file, platform));
  switch (platform.format) {
    case BinaryFormat::mach_o:
      return macho::find_object(file, platform.machine, TENON_PLUGIN_SYMBOL);
    case BinaryFormat::pe:
      return pe::find_object(file, platform.machine, TENON_PLUGIN_SYMBOL);
    default:
      return elf::find_object(file, platform.machine, TENON_PLUGIN_SYMBOL, platform.c_library);
  }
}

}}}  // namespace tenon::TENON_RELEASE::host::detail
