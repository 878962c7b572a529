// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "tenon/core/concat.hpp"
#include "tenon/core/result.hpp"
#include "tenon/host/binary/file_bytes.hpp"

/// Finds a plugin's object in a 64-bit little-endian ELF shared library.
///
/// The way is that of the dynamic loader: program headers, dynamic section, hash table, symbol. So
/// it works without section headers, and what is found here is what `dlsym` finds. Layouts are
/// those of the System V gABI; the GNU hash table is described in binutils and read by glibc and
/// musl.
namespace tenon::host::detail::elf {

inline constexpr std::uint64_t file_header_size = 64;
inline constexpr std::uint64_t program_header_size = 56;
inline constexpr std::uint64_t symbol_size = 24;

// Bounds on the work that a hostile file can cause. A library with a million exported symbols has
// chains of a few dozen entries.
inline constexpr std::uint64_t max_dynamic_entries = 65536;
inline constexpr std::uint32_t max_chain_length = 65536;

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

template <class... Pieces>
[[nodiscard]] Status malformed(const Pieces&... pieces) {
  return error(Error::InvalidArgument, "is a malformed ELF file: ", pieces...);
}

/// Checks that the file is a shared library for `machine`.
inline Status check_file_header(FileBytes file, std::uint32_t machine) {
  const auto refuse = [&](const auto&... found) {
    return error(Error::InvalidArgument, "is ", found..., ", expected an ELF shared library for ",
                 machine_name(machine));
  };
  if (file.size() < file_header_size) {
    return refuse("a truncated ELF file of ", file.size(), " bytes");
  }
  const auto byte_order = file.u8(5);
  const bool big_endian = byte_order == 2;
  const auto found_machine = big_endian ? file.big_endian<std::uint16_t>(18) : file.u16(18);
  if (const auto width = file.u8(4); width != 2) {
    if (width == 1) return refuse("a 32-bit ELF file for ", machine_name(found_machine));
    return malformed("its class is ", width, ", expected 2 (64-bit)");
  }
  if (big_endian) return refuse("a big-endian ELF file for ", machine_name(found_machine));
  if (byte_order != 1) {
    return malformed("its data encoding is ", byte_order, ", expected 1 (little-endian)");
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
  if (const auto entry_size = file.u16(54); entry_size != program_header_size) {
    return malformed("its program headers have ", entry_size, " bytes, expected ",
                     program_header_size);
  }
  const auto offset = file.u64(32);
  const auto count = file.u16(56);
  if (!file.holds(offset, count * program_header_size)) {
    return refuse("a truncated ELF file of ", file.size(), " bytes whose ", count,
                  " program headers begin at ", offset);
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
    image.headers_ = file.part(file.u64(32), file.u16(56) * program_header_size);
    bool has_dynamic = false;
    for (std::uint64_t i = 0; i < image.num_segments(); ++i) {
      const Segment segment = image.segment(i);
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

  /// A program header. Where it says its bytes are is only checked for those that are loaded.
  struct Segment {
    std::uint32_t type, flags;
    std::uint64_t offset, address, file_size, memory_size;
  };
  [[nodiscard]] std::uint64_t num_segments() const noexcept {
    return headers_.size() / program_header_size;
  }
  [[nodiscard]] Segment segment(std::uint64_t index) const noexcept {
    const std::uint64_t at = index * program_header_size;
    return {headers_.u32(at),      headers_.u32(at + 4),  headers_.u64(at + 8),
            headers_.u64(at + 16), headers_.u64(at + 32), headers_.u64(at + 40)};
  }

  [[nodiscard]] FileBytes file() const noexcept { return file_; }
  [[nodiscard]] FileBytes dynamic_section() const noexcept { return dynamic_; }

  /// The file's bytes from `address` to the end of the loaded segment around it; empty when no
  /// segment has bytes in the file there.
  [[nodiscard]] FileBytes at_address(std::uint64_t address) const noexcept {
    for (std::uint64_t i = 0; i < num_segments(); ++i) {
      const Segment found = segment(i);
      if (found.type != load || address < found.address) continue;
      const std::uint64_t skipped = address - found.address;
      const std::uint64_t size = std::min(found.file_size, found.memory_size);
      if (skipped < size) return file_.part(found.offset, size).part(skipped);
    }
    return {};
  }

 private:
  FileBytes file_;
  FileBytes headers_;
  FileBytes dynamic_;
};

/// The parts of the dynamic section that a look-up needs.
struct SymbolTables {
  std::optional<std::uint64_t> gnu_hash, sysv_hash;  ///< Addresses.
  FileBytes symbols;
  FileBytes strings;
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

  SymbolTables tables;
  std::optional<std::uint64_t> symbols, strings;
  std::uint64_t strings_size = 0;
  const FileBytes entries = image.dynamic_section();
  const std::uint64_t count = entries.size() / 16;
  if (count > max_dynamic_entries) {
    return malformed("its dynamic section has ", count, " entries, expected at most ",
                     max_dynamic_entries);
  }
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t tag = entries.u64(16 * i);
    const std::uint64_t value = entries.u64(16 * i + 8);
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
  const auto start = tables.symbols.u32(index * symbol_size);
  return tables.strings.c_string(start, name.size() + 1) == name;
}

/// Index of the symbol `name` by the GNU hash table at the start of `table`; 0 when there is none.
/// The table's Bloom filter is passed over: it saves no work when one name is looked up.
inline Result<std::uint32_t> find_by_gnu_hash(FileBytes table, const SymbolTables& tables,
                                              std::string_view name) {
  std::uint32_t hash = 5381;
  for (const char c : name) hash = hash * 33 + static_cast<unsigned char>(c);

  const std::uint32_t num_buckets = table.u32(0);
  const std::uint32_t first_symbol = table.u32(4);
  const std::uint64_t buckets = 16 + std::uint64_t{table.u32(8)} * 8;
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
    if (!table.holds(link, 4) || !tables.symbols.holds(index * symbol_size, symbol_size)) {
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
    if (index >= num_chains || !tables.symbols.holds(index * symbol_size, symbol_size)) {
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

/// The bytes of the data object `name` that the library exports.
///
/// `machine` is the `e_machine` that the file must be for. Nothing in the file is trusted; the time
/// is bounded by a few passes over its tables. Failures do not name the file.
inline Result<std::span<const std::byte>> find_object(FileBytes file, std::uint32_t machine,
                                                      std::string_view name) {
  TENON_TRY(const ElfImage image, ElfImage::open(file, machine));
  TENON_TRY(const SymbolTables tables, read_dynamic_section(image));
  TENON_TRY(const std::uint32_t index,
            tables.gnu_hash ? find_by_gnu_hash(image.at_address(*tables.gnu_hash), tables, name)
                            : find_by_sysv_hash(image.at_address(*tables.sysv_hash), tables, name));
  const FileBytes symbol = tables.symbols.part(index * symbol_size, symbol_size);
  const auto type = symbol.u8(4) & 15;
  const auto binding = symbol.u8(4) >> 4;
  const auto visibility = symbol.u8(5) & 3;
  const auto section = symbol.u16(6);
  const auto address = symbol.u64(8);
  const auto size = symbol.u64(16);

  const bool local = binding == 0;                         // STB_LOCAL
  const bool hidden = visibility == 1 || visibility == 2;  // STV_INTERNAL, STV_HIDDEN
  const bool object = type == 0 || type == 1;              // STT_NOTYPE, STT_OBJECT
  if (index == 0 || local || hidden) {
    return error(Error::InvalidArgument, "exports no symbol ", name,
                 ", expected one: it is a shared library but not a plugin");
  }
  if (section == 0) {
    return error(Error::InvalidArgument, "uses the symbol ", name,
                 " without defining it, expected a library that exports it");
  }
  if (!object) {
    return error(Error::InvalidArgument, "exports ", name, " as ",
                 type == 2 ? "a function" : concat("a symbol of type ", type),
                 ", expected a data object");
  }
  const FileBytes found = image.at_address(address);
  if (!found.holds(0, size) || found.empty()) {
    return malformed("the ", size, " bytes of ", name, " at address ", address,
                     " are not all in the file");
  }
  return found.part(0, size).bytes();
}

}  // namespace tenon::host::detail::elf
