// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "tenon/core/concat.hpp"
#include "tenon/core/elf_class.hpp"
#include "tenon/core/file_bytes.hpp"
#include "tenon/core/result.hpp"
#include "tenon/host/binary/platform.hpp"
#include "tenon/host/impl/binary/elf_platform.hpp"

/// Finds a plugin's object in a little-endian ELF shared library, of 64 or 32 bits.
///
/// The way is that of the dynamic loader: program headers, dynamic section, hash table, symbol. So
/// it works without section headers, and what is found here is what `dlsym` finds. Layouts are
/// those of the System V gABI; the GNU hash table is described in binutils and read by glibc and
/// musl.
namespace tenon::inline TENON_RELEASE::host::detail::elf {

// Bounds on the work that a hostile file can cause. A library with a million exported symbols has
// chains of a few dozen entries.
inline constexpr std::uint64_t max_dynamic_entries = 65536;
inline constexpr std::uint32_t max_chain_length = 65536;

using tenon::detail::Piece;

[[nodiscard, gnu::cold]] inline Status malformed(Piece a, Piece b = "", Piece c = "", Piece d = "",
                                                 Piece e = "", Piece f = "", Piece g = "") {
  return error(Error::InvalidArgument, "is a malformed ELF file: ", a, b, c, d, e, f, g);
}

/// Checks that the file is a shared library for `machine`.
inline Status check_file_header(FileBytes file, std::uint32_t machine) {
  const auto refuse = [&](Piece a, Piece b = "", Piece c = "", Piece d = "", Piece e = "",
                          Piece f = "") {
    return error(Error::InvalidArgument, "is ", a, b, c, d, e, f,
                 ", expected an ELF shared library for ", machine_name(machine));
  };
  const ElfClass expected = class_of_machine(machine);
  if (file.size() < expected.file_header_size()) {
    return refuse("a truncated ELF file of ", file.size(), " bytes");
  }
  const auto byte_order = file.u8(5);
  const bool big_endian = byte_order == 2;
  const auto found_machine = big_endian ? file.big_endian<std::uint16_t>(18) : file.u16(18);
  const auto width = file.u8(4);
  if (width != 1 && width != 2) {
    return malformed("its class is ", width, ", expected ",
                     expected.wide ? "2 (64-bit)" : "1 (32-bit)");
  }
  if (const bool wide = width == 2; wide != expected.wide) {
    return refuse(wide ? "a 64-bit" : "a 32-bit", " ELF file for ", machine_name(found_machine));
  }
  if (big_endian) return refuse("a big-endian ELF file for ", machine_name(found_machine));
  if (byte_order != 1) {
    return malformed("its data encoding is ", byte_order, ", expected 1 (little-endian)");
  }
  if (const std::string system = system_name(file.u8(7)); !system.empty()) {
    return refuse("an ELF file for ", machine_name(found_machine), " and ", system);
  }
  switch (const auto type = file.u16(16)) {
    case 3:
      break;
    case 1:
      return refuse("an object file that is not linked (.o)");
    case 2:
      return refuse("an executable");
    case 4:
      return refuse("a core dump");
    default:
      return refuse("an ELF file of type ", type);
  }
  if (found_machine != machine) {
    return refuse("an ELF shared library for ", machine_name(found_machine));
  }
  const ElfClass::FileHeader header = expected.file_header(file);
  constexpr std::uint32_t arm = 40, soft_float = 0x200;  // EF_ARM_ABI_FLOAT_SOFT
  if (machine == arm && (header.flags & soft_float) != 0) {
    return refuse("an ELF shared library for arm without floating-point registers (armel)");
  }
  if (header.program_header_size != expected.segment_size()) {
    return malformed("its program headers have ", header.program_header_size, " bytes, expected ",
                     expected.segment_size());
  }
  if (!file.holds(header.program_headers, header.num_program_headers * expected.segment_size())) {
    return refuse("a truncated ELF file of ", file.size(), " bytes whose ",
                  header.num_program_headers, " program headers begin at ", header.program_headers);
  }
  return ok();
}

/// A file whose loaded segments are all inside it.
class ElfImage {
 public:
  static Result<ElfImage> open(FileBytes file, std::uint32_t machine) {
    TENON_RETURN_IF_ERROR(check_file_header(file, machine));
    ElfImage image;
    image.file_ = file;
    image.class_ = class_of_machine(machine);
    const ElfClass::FileHeader header = image.class_.file_header(file);
    image.headers_ =
        file.part(header.program_headers, header.num_program_headers * image.class_.segment_size());
    bool has_dynamic = false;
    for (std::uint64_t i = 0; i < image.num_segments(); ++i) {
      const ElfClass::Segment segment = image.segment(i);
      if (segment.type == load && !file.holds(segment.offset, segment.file_size)) {
        return error(Error::InvalidArgument, "is a truncated ELF file of ", file.size(),
                     " bytes: segment ", i, " has ", segment.file_size, " bytes at ",
                     segment.offset);
      }
      if (segment.type == dynamic && !has_dynamic) {
        has_dynamic = true;
        image.dynamic_ = image.at_address(segment.address).part(0, segment.file_size);
      }
    }
    if (!has_dynamic) {
      return error(Error::InvalidArgument,
                   "is an ELF file without a dynamic section (statically linked, or only debug "
                   "information), expected a shared library");
    }
    if (image.dynamic_.empty())
      return malformed(
          "its dynamic section is not in the file (one with only debug information has none)");
    return image;
  }

  static constexpr std::uint32_t load = 1;     // PT_LOAD
  static constexpr std::uint32_t dynamic = 2;  // PT_DYNAMIC

  [[nodiscard]] std::uint64_t num_segments() const noexcept {
    return headers_.size() / class_.segment_size();
  }
  [[nodiscard]] ElfClass::Segment segment(std::uint64_t index) const noexcept {
    return class_.segment(headers_, index);
  }

  /// Entries of the dynamic section, with the one that ends it.
  [[nodiscard]] std::uint64_t num_dynamic_entries() const noexcept {
    return dynamic_.size() / class_.dynamic_size();
  }
  [[nodiscard]] ElfClass::DynamicEntry dynamic_entry(std::uint64_t index) const noexcept {
    return class_.dynamic_entry(dynamic_, index);
  }

  [[nodiscard]] const ElfClass& elf_class() const noexcept { return class_; }
  [[nodiscard]] FileBytes file() const noexcept { return file_; }

  /// The file's bytes from `address` to the end of the loaded segment around it; empty when no
  /// segment has bytes in the file there.
  [[nodiscard]] FileBytes at_address(std::uint64_t address) const noexcept {
    for (std::uint64_t i = 0; i < num_segments(); ++i) {
      const ElfClass::Segment found = segment(i);
      if (found.type != load || address < found.address) continue;
      const std::uint64_t skipped = address - found.address;
      const std::uint64_t size = std::min(found.file_size, found.memory_size);
      if (skipped < size) return file_.part(found.offset, size).part(skipped);
    }
    return {};
  }

 private:
  FileBytes file_;
  ElfClass class_;
  FileBytes headers_;
  FileBytes dynamic_;
};

/// The parts of the dynamic section that a look-up needs.
struct SymbolTables {
  ElfClass elf_class;
  std::optional<std::uint64_t> gnu_hash{}, sysv_hash{};  ///< Addresses.
  FileBytes symbols{};
  FileBytes strings{};
};

inline Result<SymbolTables> read_dynamic_section(const ElfImage& image) {
  enum : std::uint64_t {
    dt_null = 0,
    dt_hash = 4,
    dt_strtab = 5,
    dt_symtab = 6,
    dt_strsz = 10,
    dt_syment = 11,
    dt_gnu_hash = 0x6ffffef5,
    dt_flags_1 = 0x6ffffffb
  };
  constexpr std::uint64_t position_independent_executable = 0x08000000;  // DF_1_PIE

  SymbolTables tables{.elf_class = image.elf_class()};
  std::optional<std::uint64_t> symbols, strings;
  std::uint64_t strings_size = 0;
  const std::uint64_t count = image.num_dynamic_entries();
  const std::uint64_t symbol_size = tables.elf_class.symbol_size();
  if (count > max_dynamic_entries) {
    return malformed("its dynamic section has ", count, " entries, expected at most ",
                     max_dynamic_entries);
  }
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto [tag, value] = image.dynamic_entry(i);
    if (tag == dt_null) break;
    if (tag == dt_hash) tables.sysv_hash = value;
    if (tag == dt_gnu_hash) tables.gnu_hash = value;
    if (tag == dt_symtab) symbols = value;
    if (tag == dt_strtab) strings = value;
    if (tag == dt_strsz) strings_size = value;
    if (tag == dt_syment && value != symbol_size) {
      return malformed("its symbols have ", value, " bytes, expected ", symbol_size);
    }
    if (tag == dt_flags_1 && (value & position_independent_executable) != 0) {
      return error(Error::InvalidArgument,
                   "is a position-independent executable, expected a shared library");
    }
  }
  if (!symbols || !strings || !(tables.gnu_hash || tables.sysv_hash)) {
    return malformed("its dynamic section lacks the ",
                     !symbols ? "symbol table" : (!strings ? "string table" : "symbol hash table"));
  }
  tables.symbols = image.at_address(*symbols);
  tables.strings = image.at_address(*strings);
  if (tables.symbols.empty()) return malformed("its symbol table is not in the file");
  if (!tables.strings.holds(0, strings_size) || strings_size == 0) {
    return malformed("its string table of ", strings_size, " bytes is not in the file");
  }
  tables.strings = tables.strings.part(0, strings_size);
  return tables;
}

inline bool symbol_is_named(const SymbolTables& tables, std::uint32_t index,
                            std::string_view name) {
  const auto start = tables.elf_class.symbol(tables.symbols, index).name;
  return tables.strings.c_string(start, name.size() + 1) == name;
}

/// Whether the file has the symbol.
inline bool holds_symbol(const SymbolTables& tables, std::uint32_t index) {
  const std::uint64_t size = tables.elf_class.symbol_size();
  return tables.symbols.holds(index * size, size);
}

/// Index of the symbol `name` by the GNU hash table at the start of `table`; 0 when there is none.
/// The table's Bloom filter is passed over: it saves no work when one name is looked up.
inline Result<std::uint32_t> find_by_gnu_hash(FileBytes table, const SymbolTables& tables,
                                              std::string_view name) {
  std::uint32_t hash = 5381;
  for (const char c : name) hash = hash * 33 + static_cast<unsigned char>(c);

  const std::uint32_t num_buckets = table.u32(0);
  const std::uint32_t first_symbol = table.u32(4);
  const std::uint64_t buckets = 16 + table.u32(8) * tables.elf_class.word_size();
  if (num_buckets == 0 || !table.holds(buckets, std::uint64_t{num_buckets} * 4)) {
    return malformed("its GNU hash table of ", num_buckets, " buckets is not in the file");
  }
  const std::uint64_t chains = buckets + std::uint64_t{num_buckets} * 4;
  std::uint32_t index = table.u32(buckets + std::uint64_t{hash % num_buckets} * 4);
  if (index == 0) return index;
  if (index < first_symbol) {
    return malformed("its GNU hash table names symbol ", index, ", expected at least ",
                     first_symbol);
  }
  for (std::uint32_t step = 0; step < max_chain_length; ++step, ++index) {
    const std::uint64_t link = chains + std::uint64_t{index - first_symbol} * 4;
    if (!table.holds(link, 4) || !holds_symbol(tables, index)) {
      return malformed("a chain of its GNU hash table leaves the file at symbol ", index);
    }
    const std::uint32_t entry = table.u32(link);
    if ((entry | 1) == (hash | 1) && symbol_is_named(tables, index, name)) return index;
    if ((entry & 1) != 0) return std::uint32_t{0};
  }
  return malformed("a chain of its GNU hash table is longer than ", max_chain_length);
}

/// The same by the System V hash table, whose chains can be made circular.
inline Result<std::uint32_t> find_by_sysv_hash(FileBytes table, const SymbolTables& tables,
                                               std::string_view name) {
  std::uint32_t hash = 0;
  for (const char c : name) {
    hash = (hash << 4) + static_cast<unsigned char>(c);
    const std::uint32_t top = hash & 0xf0000000;
    hash = (hash ^ (top >> 24)) & ~top;
  }

  const std::uint32_t num_buckets = table.u32(0);
  const std::uint32_t num_chains = table.u32(4);
  const std::uint64_t chains = 8 + std::uint64_t{num_buckets} * 4;
  if (num_buckets == 0 || !table.holds(chains, std::uint64_t{num_chains} * 4)) {
    return malformed("its hash table of ", num_buckets, " buckets and ", num_chains,
                     " symbols is not in the file");
  }
  std::uint32_t index = table.u32(8 + std::uint64_t{hash % num_buckets} * 4);
  for (std::uint32_t step = 0; index != 0; ++step) {
    if (index >= num_chains || !holds_symbol(tables, index)) {
      return malformed("a chain of its hash table leaves the file at symbol ", index);
    }
    if (step >= std::min(num_chains, max_chain_length)) {
      return malformed("a chain of its hash table does not end after ", step, " symbols");
    }
    if (symbol_is_named(tables, index, name)) return index;
    index = table.u32(chains + std::uint64_t{index} * 4);
  }
  return index;
}

/// The C library among the needed ones. Names that are not in the file are passed over.
inline CLibrary needed_c_library(const ElfImage& image, const SymbolTables& tables) {
  constexpr std::uint64_t dt_null = 0, dt_needed = 1;
  constexpr std::uint64_t longest_name = 32;
  for (std::uint64_t i = 0; i < image.num_dynamic_entries(); ++i) {
    const auto [tag, value] = image.dynamic_entry(i);
    if (tag == dt_null) break;
    if (tag != dt_needed) continue;
    const auto name = tables.strings.c_string(value, longest_name).value_or("");
    if (name == "libc.so.6") return CLibrary::glibc;
    if (name == "libc.so" || name.starts_with("libc.musl-")) return CLibrary::musl;
  }
  return CLibrary::any;
}

/// The bytes of the data object `name` that the library exports.
///
/// `machine` is the `e_machine` that the file must be for, and `c_library` the one that it must
/// need, if it needs one. Nothing in the file is trusted; the time is bounded by a few passes over
/// its tables. Failures do not name the file.
inline Result<std::span<const std::byte>> find_object(FileBytes file, std::uint32_t machine,
                                                      std::string_view name,
                                                      CLibrary c_library = CLibrary::any) {
  TENON_TRY(const ElfImage image, ElfImage::open(file, machine));
  TENON_TRY(const SymbolTables tables, read_dynamic_section(image));
  if (c_library != CLibrary::any) {
    const CLibrary needed = needed_c_library(image, tables);
    if (needed != CLibrary::any && needed != c_library) {
      return error(Error::InvalidArgument, "is an ELF shared library for ", machine_name(machine),
                   " that needs ", name_of(needed), ", expected one for ", name_of(c_library));
    }
  }
  TENON_TRY(const std::uint32_t index,
            tables.gnu_hash ? find_by_gnu_hash(image.at_address(*tables.gnu_hash), tables, name)
                            : find_by_sysv_hash(image.at_address(*tables.sysv_hash), tables, name));
  const ElfClass::Symbol symbol = tables.elf_class.symbol(tables.symbols, index);
  const unsigned type = symbol.info & 15U;
  const unsigned binding = symbol.info >> 4;
  const unsigned visibility = symbol.other & 3U;

  const bool local = binding == 0;                         // STB_LOCAL
  const bool hidden = visibility == 1 || visibility == 2;  // STV_INTERNAL, STV_HIDDEN
  const bool object = type == 0 || type == 1;              // STT_NOTYPE, STT_OBJECT
  if (index == 0 || local || hidden) {
    return error(Error::InvalidArgument, "exports no symbol ", name,
                 ", expected one: it is a shared library but not a plugin");
  }
  if (symbol.section == 0) {
    return error(Error::InvalidArgument, "uses the symbol ", name,
                 " without defining it, expected a library that exports it");
  }
  if (!object) {
    return error(Error::InvalidArgument, "exports ", name, " as ",
                 type == 2 ? "a function" : concat("a symbol of type ", type),
                 ", expected a data object");
  }
  const FileBytes found = image.at_address(symbol.address);
  if (!found.holds(0, symbol.size) || found.empty()) {
    return malformed("the ", symbol.size, " bytes of ", name, " at address ", symbol.address,
                     " are not all in the file");
  }
  return found.part(0, symbol.size).bytes();
}

}  // namespace tenon::inline TENON_RELEASE::host::detail::elf
