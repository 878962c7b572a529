// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "tenon/core/concat.hpp"
#include "tenon/core/file_bytes.hpp"
#include "tenon/core/hex.hpp"
#include "tenon/core/object/format.hpp"
#include "tenon/core/result.hpp"

/// Finds a plugin's object in a 64-bit Mach-O library, thin or universal.
///
/// Layouts come from Apple's <mach-o/loader.h>, <mach-o/fat.h> and <mach-o/nlist.h>. The export
/// trie is asked, as dyld does; the symbol table only in a library that has no trie.
namespace tenon { inline namespace TENON_RELEASE { namespace detail::macho {

inline constexpr std::uint32_t cpu_x86_64 = 0x01000007;
inline constexpr std::uint32_t cpu_arm64 = 0x0100000c;

inline constexpr std::uint64_t header_size = 32;
inline constexpr std::uint64_t segment_command_size = 72;
inline constexpr std::uint64_t symbol_size = 16;

// Bounds on the work that a hostile file can cause.
inline constexpr std::uint32_t max_commands = 65536;
inline constexpr std::uint32_t max_symbols = 1u << 22;
inline constexpr std::uint64_t max_label_size = 65536;

/// Name of a Mach-O CPU type.
inline std::string machine_name(std::uint32_t cpu) {
  switch (cpu) {
    case 7:
      return "i386";
    case 12:
      return "arm";
    case 18:
      return "powerpc";
    case cpu_x86_64:
      return "x86_64";
    case cpu_arm64:
      return "arm64";
    case 0x01000012:
      return "powerpc64";
    case 0x0200000c:
      return "arm64_32";
    default:
      return concat("CPU type ", cpu);
  }
}

/// "a Mach-O library for arm64"
inline std::string describe_library(std::uint32_t cpu) {
  return concat("a Mach-O library for ", machine_name(cpu));
}

template <class... Pieces>
[[nodiscard]] Status malformed(const Pieces&... pieces) {
  return error(Error::InvalidArgument, "is a malformed Mach-O file: ", pieces...);
}

/// The part of a universal file that is for `cpu`. Of two the one with the generic subtype is
/// taken (x86_64 before x86_64h, arm64 before arm64e), which every machine of that CPU runs.
inline Result<FileBytes> choose_slice(FileBytes file, std::uint32_t cpu) {
  const bool wide = file.big_endian<std::uint32_t>(0) == fat_magic_64;
  const std::uint32_t count = file.big_endian<std::uint32_t>(4);
  const std::uint64_t entry_size = wide ? 32 : 20;
  if (count > max_slices) {
    return malformed("it says that it has ", count, " slices, expected at most ", max_slices);
  }
  const std::uint32_t generic_subtype = cpu == cpu_x86_64 ? 3 : 0;
  std::optional<std::uint64_t> chosen;
  std::string found;
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint64_t entry = 8 + i * entry_size;
    if (!file.holds(entry, entry_size)) {
      return error(Error::InvalidArgument, "is a truncated universal Mach-O file of ", file.size(),
                   " bytes with ", count, " slices");
    }
    const auto slice_cpu = file.big_endian<std::uint32_t>(entry);
    const auto subtype = file.big_endian<std::uint32_t>(entry + 4) & 0x00ffffff;
    found += concat(found.empty() ? "" : ", ", machine_name(slice_cpu));
    if (slice_cpu == cpu && (!chosen || subtype == generic_subtype)) chosen = entry;
  }
  if (!chosen) {
    return error(Error::InvalidArgument, "is a universal Mach-O file for ",
                 found.empty() ? "no machine" : found, ", expected a slice for ",
                 machine_name(cpu));
  }
  const auto offset = wide ? file.big_endian<std::uint64_t>(*chosen + 8)
                           : file.big_endian<std::uint32_t>(*chosen + 8);
  const auto size = wide ? file.big_endian<std::uint64_t>(*chosen + 16)
                         : file.big_endian<std::uint32_t>(*chosen + 12);
  if (!file.holds(offset, size)) {
    return error(Error::InvalidArgument, "is a truncated universal Mach-O file of ", file.size(),
                 " bytes: the slice for ", machine_name(cpu), " has ", size, " bytes at ", offset);
  }
  return file.part(offset, size);
}

/// Checks that the thin file is a library for `cpu`.
inline Status check_header(FileBytes file, std::uint32_t cpu) {
  const auto refuse = [&](const auto&... found) {
    return error(Error::InvalidArgument, "is ", found..., ", expected a Mach-O library for ",
                 machine_name(cpu));
  };
  if (file.size() < header_size) {
    return refuse("a truncated Mach-O file of ", file.size(), " bytes");
  }
  const auto found_cpu = file.u32(4);
  if (file.u32(0) != thin_magic) {
    return refuse("a slice with magic ", to_spaced_hex(file.bytes(), 4), " instead of cf fa ed fe");
  }
  switch (const auto type = file.u32(12)) {
    case 6:
      break;  // MH_DYLIB
    case 8:
      break;  // MH_BUNDLE
    case 1:
      return refuse("a Mach-O object file that is not linked (.o)");
    case 2:
      return refuse("a Mach-O executable");
    case 4:
      return refuse("a Mach-O core dump");
    case 10:
      return refuse("a Mach-O file with debug information only (.dSYM)");
    default:
      return refuse("a Mach-O file of type ", type);
  }
  if (found_cpu != cpu) return refuse("a Mach-O library for ", machine_name(found_cpu));
  if (const auto size = file.u32(20); !file.holds(header_size, size)) {
    return refuse("a truncated Mach-O file of ", file.size(), " bytes whose load commands have ",
                  size);
  }
  return ok();
}

/// A part of the file that a load command names.
struct Table {
  std::uint32_t offset = 0;
  std::uint32_t size = 0;
};

/// A library whose segments are all inside the file.
class MachoImage {
 public:
  static Result<MachoImage> open(FileBytes file, std::uint32_t cpu) {
    TENON_RETURN_IF_ERROR(check_header(file, cpu));
    MachoImage image;
    image.file_ = file;
    image.commands_ = file.part(header_size, file.u32(20));
    const std::uint32_t count = file.u32(16);
    if (count > max_commands) {
      return malformed("it says that it has ", count, " load commands, expected at most ",
                       max_commands);
    }
    std::uint64_t at = 0;
    for (std::uint32_t i = 0; i < count; ++i) {
      const std::uint64_t size = image.commands_.u32(at + 4);
      if (size < 8 || !image.commands_.holds(at, size)) {
        return malformed("load command ", i, " of ", count, " has ", size,
                         " bytes, which is not inside the ", image.commands_.size(),
                         " bytes of load commands");
      }
      TENON_RETURN_IF_ERROR(image.read_command(image.commands_.part(at, size)));
      at += size;
    }
    image.commands_ = image.commands_.part(0, at);
    return image;
  }

  [[nodiscard]] FileBytes file() const noexcept { return file_; }
  [[nodiscard]] const std::optional<Table>& export_trie() const noexcept { return export_trie_; }
  /// `size` is the number of symbols.
  [[nodiscard]] const std::optional<Table>& symbols() const noexcept { return symbols_; }
  [[nodiscard]] Table strings() const noexcept { return strings_; }
  /// Where the linker placed the header; the export trie counts from there.
  [[nodiscard]] std::uint64_t base() const noexcept { return base_; }

  /// The file's bytes from `address` to the end of the segment around it; empty when no segment has
  /// bytes in the file there.
  [[nodiscard]] FileBytes at_address(std::uint64_t address) const noexcept {
    for (std::uint64_t at = 0; at < commands_.size(); at += commands_.u32(at + 4)) {
      if (commands_.u32(at) != segment_64) continue;
      const std::uint64_t start = commands_.u64(at + 24);
      const std::uint64_t size = std::min(commands_.u64(at + 32), commands_.u64(at + 48));
      if (address < start || address - start >= size) continue;
      return file_.part(commands_.u64(at + 40), size).part(address - start);
    }
    return {};
  }

 private:
  enum : std::uint32_t {
    symtab = 0x2,
    segment_64 = 0x19,
    dyld_info = 0x22,
    dyld_info_only = 0x80000022,
    dyld_exports_trie = 0x80000033
  };

  Status read_command(FileBytes command) {
    const auto needs = [&](std::uint64_t size) -> Status {
      if (command.size() >= size) return ok();
      return malformed("load command ", command.u32(0), " has ", command.size(),
                       " bytes, expected at least ", size);
    };
    switch (command.u32(0)) {
      case segment_64: {
        TENON_RETURN_IF_ERROR(needs(segment_command_size));
        const auto offset = command.u64(40);
        const auto size = command.u64(48);
        if (!file_.holds(offset, size)) {
          return error(Error::InvalidArgument, "is a truncated Mach-O file of ", file_.size(),
                       " bytes: a segment has ", size, " bytes at ", offset);
        }
        if (offset == 0 && size != 0) base_ = command.u64(24);
        break;
      }
      case symtab:
        TENON_RETURN_IF_ERROR(needs(24));
        symbols_ = Table{command.u32(8), command.u32(12)};
        strings_ = Table{command.u32(16), command.u32(20)};
        break;
      case dyld_info:
      case dyld_info_only:
        TENON_RETURN_IF_ERROR(needs(48));
        export_trie_ = Table{command.u32(40), command.u32(44)};
        break;
      case dyld_exports_trie:
        TENON_RETURN_IF_ERROR(needs(16));
        export_trie_ = Table{command.u32(8), command.u32(12)};
        break;
      default:
        break;
    }
    return ok();
  }

  FileBytes file_;
  FileBytes commands_;
  std::optional<Table> export_trie_;
  std::optional<Table> symbols_;
  Table strings_;
  std::uint64_t base_ = 0;
};

/// Reads numbers one after the other; after a number that is cut or too long `failed` stays set.
struct Cursor {
  FileBytes bytes;
  std::uint64_t at = 0;
  bool failed = false;

  std::uint64_t uleb128() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 63 && bytes.holds(at, 1); shift += 7) {
      const std::uint64_t byte = bytes.u8(at++);
      value |= (byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    failed = true;
    return 0;
  }
};

/// Address of the exported data `symbol`, by the export trie; nothing when there is none.
inline Result<std::optional<std::uint64_t>> find_in_trie(const MachoImage& image,
                                                         std::string_view symbol) {
  const Table table = *image.export_trie();
  if (!image.file().holds(table.offset, table.size)) {
    return malformed("its export trie of ", table.size, " bytes at ", table.offset,
                     " is not in the file");
  }
  const FileBytes trie = image.file().part(table.offset, table.size);
  if (trie.empty()) return std::optional<std::uint64_t>();
  std::string_view rest = symbol;
  std::uint64_t node = 0;
  // Ends: each turn takes at least one character off `rest`.
  while (true) {
    Cursor cursor{trie, node};
    const std::uint64_t terminal_size = cursor.uleb128();
    if (rest.empty()) {
      if (terminal_size == 0 && !cursor.failed) return std::optional<std::uint64_t>();
      const std::uint64_t flags = cursor.uleb128();
      const std::uint64_t offset = cursor.uleb128();
      if (cursor.failed) return malformed("its export trie ends inside ", symbol);
      // Kind (thread-local, absolute), re-export, stub and resolver: none is data of this file.
      if ((flags & 0x1b) != 0) {
        return error(Error::InvalidArgument, "exports ", symbol, " with flags ", flags,
                     ", expected plain data of this library");
      }
      return std::optional<std::uint64_t>(image.base() + offset);
    }
    if (cursor.failed || !trie.holds(cursor.at, terminal_size) ||
        !trie.holds(cursor.at + terminal_size, 1)) {
      return malformed("its export trie leaves its ", trie.size(), " bytes at node ", node);
    }
    cursor.at += terminal_size;
    const unsigned num_children = trie.u8(cursor.at++);
    std::optional<std::uint64_t> next;
    for (unsigned i = 0; i < num_children && !next; ++i) {
      const auto label = trie.c_string(cursor.at, max_label_size);
      if (label) cursor.at += label->size() + 1;
      const std::uint64_t child = cursor.uleb128();
      if (!label || cursor.failed) {
        return malformed("its export trie has a broken edge ", i, " at node ", node);
      }
      if (!label->empty() && rest.starts_with(*label)) {
        rest.remove_prefix(label->size());
        next = child;
      }
    }
    if (!next) return std::optional<std::uint64_t>();
    node = *next;
  }
}

/// Address of the exported data `symbol`, by the symbol table; nothing when there is none.
inline Result<std::optional<std::uint64_t>> find_in_symbols(const MachoImage& image,
                                                            std::string_view symbol) {
  constexpr unsigned debug = 0xe0, is_private = 0x10, kind = 0x0e, defined = 0x0e, external = 0x01;
  const auto [offset, count] = *image.symbols();
  const auto [strings_offset, strings_size] = image.strings();
  if (count > max_symbols || !image.file().holds(offset, count * symbol_size) ||
      !image.file().holds(strings_offset, strings_size)) {
    return malformed("its symbol table of ", count, " symbols at ", offset, " and ", strings_size,
                     " bytes of names at ", strings_offset, " is not in the file");
  }
  const FileBytes symbols = image.file().part(offset, count * symbol_size);
  const FileBytes strings = image.file().part(strings_offset, strings_size);
  for (std::uint64_t at = 0; at < symbols.size(); at += symbol_size) {
    const unsigned type = symbols.u8(at + 4);
    if ((type & (debug | is_private)) != 0 || (type & external) == 0 || (type & kind) != defined) {
      continue;
    }
    if (strings.c_string(symbols.u32(at), symbol.size() + 1) == symbol) {
      return std::optional<std::uint64_t>(symbols.u64(at + 8));
    }
  }
  return std::optional<std::uint64_t>();
}

/// The bytes from the data object `name` (as C spells it) to the end of its segment: Mach-O does
/// not record sizes.
///
/// `cpu` is the CPU type that the file must be for. Nothing in the file is trusted; the time is
/// bounded by a few passes over its tables. Failures do not name the file.
inline Result<std::span<const std::byte>> find_object(FileBytes file, std::uint32_t cpu,
                                                      std::string_view name) {
  if (file.u32(0) != thin_magic) {
    TENON_TRY(file, choose_slice(file, cpu));
  }
  TENON_TRY(const MachoImage image, MachoImage::open(file, cpu));
  const std::string symbol = concat("_", name);
  if (!image.export_trie() && !image.symbols()) {
    return malformed("it has neither an export trie nor a symbol table");
  }
  TENON_TRY(const auto address,
            image.export_trie() ? find_in_trie(image, symbol) : find_in_symbols(image, symbol));
  if (!address) {
    return error(Error::InvalidArgument, "exports no symbol ", symbol,
                 ", expected one: it is a library but not a plugin");
  }
  const FileBytes found = image.at_address(*address);
  if (found.empty()) {
    return malformed("the object ", symbol, " at address ", *address, " is not in the file");
  }
  return found.bytes();
}

}}}  // namespace tenon::TENON_RELEASE::detail::macho
