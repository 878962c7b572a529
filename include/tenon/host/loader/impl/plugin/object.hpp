// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "tenon/abi/plugin.h"
#include "tenon/core/concat.hpp"
#include "tenon/core/file_bytes.hpp"
#include "tenon/core/hex.hpp"
#include "tenon/core/object/format.hpp"
#include "tenon/core/object/pe_header.hpp"
#include "tenon/core/result.hpp"
#include "tenon/host/loader/plugin/platform.hpp"

// A loader has the reader of its own system's format alone.
#if defined(__APPLE__)
#include "tenon/core/object/mach_o.hpp"
#elif defined(_WIN32)
#include "tenon/core/object/pe.hpp"
#else
#include "tenon/core/object/elf.hpp"
#endif

namespace tenon { inline namespace TENON_RELEASE { namespace host::detail {

/// Describes any file by its first bytes: "an ELF file (Linux)", "a text file".
[[gnu::cold]] inline std::string describe_content(FileBytes file) {
  if (file.empty()) return "empty";
  if (const auto format = format_of(file)) {
    if (*format == BinaryFormat::pe) return tenon::detail::pe::describe(file);
    return *format == BinaryFormat::elf ? "an ELF file (Linux)" : "a Mach-O file (macOS)";
  }
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

/// The kind of file that this host loads: "an ELF shared library for x86_64".
[[gnu::cold]] inline std::string describe_expected() {
#if defined(__APPLE__)
  return tenon::detail::macho::describe_library(this_platform.machine);
#elif defined(_WIN32)
  return tenon::detail::pe::describe_library(this_platform.machine);
#else
  return tenon::detail::elf::describe_library(this_platform.machine);
#endif
}

/// The bytes of the plugin's object in a file for this host. Failures do not name the file.
inline Result<std::span<const std::byte>> find_plugin_object(FileBytes file) {
  if (format_of(file) != this_platform.format) {
    return error(Error::InvalidArgument, "is ", describe_content(file), ", expected ",
                 describe_expected());
  }
#if defined(__APPLE__)
  return tenon::detail::macho::find_object(file, this_platform.machine, TENON_PLUGIN_SYMBOL);
#elif defined(_WIN32)
  return tenon::detail::pe::find_object(file, this_platform.machine, TENON_PLUGIN_SYMBOL);
#else
  return tenon::detail::elf::find_object(file, this_platform.machine, TENON_PLUGIN_SYMBOL,
                                         this_platform.c_library);
#endif
}

}}}  // namespace tenon::TENON_RELEASE::host::detail
