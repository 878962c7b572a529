// SPDX-License-Identifier: MIT
#pragma once

#include "tenon/host/binary/elf_library.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/abi/plugin.h"
#include "tenon/core/concat.hpp"
#include "tenon/core/file_bytes.hpp"
#include "tenon/core/hex.hpp"
#include "tenon/host/impl/binary/elf.hpp"
#include "tenon/host/impl/binary/elf_dependencies.hpp"

namespace tenon::inline TENON_RELEASE::host {

namespace detail::elf {

/// Bounds the work on a hostile file; large libraries have some hundred thousand symbols.
inline constexpr std::uint64_t max_symbols = 4'000'000;

/// Build ids are in the first notes. Headers that all cover one large part of the file would
/// otherwise have it read once for each.
inline constexpr std::uint64_t max_notes = 1024;

/// Reads the parts of `ElfLibrary`. Nothing in the file is trusted: what is not in
/// it reads as absent.
class LibraryReader {
 public:
  LibraryReader(const ElfImage& image, const SymbolTables& tables)
      : image_(image), tables_(tables), texts_(tables.strings) {}

  [[nodiscard]] Result<ElfLibrary> read() && {
    library_.file_size = image_.file().size();
    read_segments();
    read_dynamic();
    read_symbols();
    read_sections();
    TENON_RETURN_IF_ERROR(texts_.check());
    return std::move(library_);
  }

 private:
  enum : std::uint32_t {
    pt_interp = 3,
    pt_note = 4,
    pt_tls = 7,
    pt_gnu_stack = 0x6474e551,
    pt_gnu_relro = 0x6474e552,
    flag_executable = 1,
    flag_writable = 2,
  };

  void read_segments() {
    for (std::uint64_t i = 0; i < image_.num_segments(); ++i) {
      const ElfClass::Segment segment = image_.segment(i);
      const bool executable = (segment.flags & flag_executable) != 0;
      const bool writable = (segment.flags & flag_writable) != 0;
      if (segment.type == ElfImage::load) library_.writable_code |= executable && writable;
      if (segment.type == pt_interp) library_.interpreter = true;
      if (segment.type == pt_tls) library_.thread_local_data = true;
      if (segment.type == pt_gnu_relro) {
        library_.relro = true;
        relro_ = segment;
      }
      if (segment.type == pt_gnu_stack) {
        library_.has_stack_note = true;
        library_.executable_stack = executable;
      }
      if (segment.type == pt_note) {
        read_notes(image_.file().part(segment.offset, segment.file_size));
      }
    }
  }

  void read_notes(FileBytes notes) {
    constexpr std::uint32_t build_id = 3;  // NT_GNU_BUILD_ID
    const auto padded = [](std::uint64_t size) { return (size + 3) / 4 * 4; };
    for (std::uint64_t at = 0; at + 12 <= notes.size() && notes_left_ != 0; --notes_left_) {
      const std::uint64_t name = at + 12;
      const std::uint64_t content = name + padded(notes.u32(at));
      const std::uint64_t size = notes.u32(at + 4);
      if (notes.u32(at + 8) == build_id && notes.c_string(name, 4) == "GNU" &&
          notes.holds(content, size)) {
        library_.build_id.clear();
        for (const char digit : to_spaced_hex(notes.part(content, size).bytes(), 64)) {
          if (digit != ' ') library_.build_id.push_back(digit);
        }
      }
      at = content + padded(size);
    }
  }

  void read_dynamic() {
    enum : std::uint64_t {
      dt_null = 0,
      dt_init = 12,
      dt_textrel = 22,
      dt_bind_now = 24,
      dt_init_arraysz = 27,
      dt_fini_arraysz = 28,
      dt_flags = 30,
      dt_flags_1 = 0x6ffffffb,
      dt_verneed = 0x6ffffffe,
      dt_verneednum = 0x6fffffff,
    };
    enum : std::uint64_t { df_textrel = 4, df_bind_now = 8, df_static_tls = 16 };
    enum : std::uint64_t { df_1_now = 1, df_1_nodelete = 8 };
    std::uint64_t versions = 0, num_versions = 0;
    const std::uint64_t pointer_size = image_.elf_class().word_size();
    for (std::uint64_t i = 0; i < image_.num_dynamic_entries(); ++i) {
      const auto [tag, value] = image_.dynamic_entry(i);
      if (tag == dt_null) break;
      if (tag == dt_init) init_ = value;
      if (tag == dt_init_arraysz) library_.num_constructors = value / pointer_size;
      if (tag == dt_fini_arraysz) library_.num_destructors = value / pointer_size;
      if (tag == dt_textrel) library_.text_relocations = true;
      if (tag == dt_bind_now) library_.bind_now = true;
      if (tag == dt_verneed) versions = value;
      if (tag == dt_verneednum) num_versions = value;
      if (tag == dt_flags) {
        library_.text_relocations |= (value & df_textrel) != 0;
        library_.bind_now |= (value & df_bind_now) != 0;
        library_.static_tls |= (value & df_static_tls) != 0;
      }
      if (tag == dt_flags_1) {
        library_.bind_now |= (value & df_1_now) != 0;
        library_.no_delete |= (value & df_1_nodelete) != 0;
      }
    }
    if (num_versions != 0) read_versions(image_.at_address(versions), num_versions);
  }

  /// Elf64_Verneed, each with a chain of Elf64_Vernaux; those of 32 bits are the same.
  void read_versions(FileBytes table, std::uint64_t count) {
    std::uint64_t left = table.size() / 16;  // As many entries as fit, whatever the links say.
    for (std::uint64_t at = 0, i = 0; i < count && table.holds(at, 16) && left != 0; ++i) {
      std::uint64_t aux = at + table.u32(at + 8);
      for (std::uint16_t n = table.u16(at + 2); n != 0 && table.holds(aux, 16) && left != 0; --n) {
        --left;
        library_.versions.push_back(
            concat(texts_.at(table.u32(at + 4)), " ", texts_.at(table.u32(aux + 8))));
        if (table.u32(aux + 12) == 0) break;
        aux += table.u32(aux + 12);
      }
      if (table.u32(at + 12) == 0) return;
      at += table.u32(at + 12);
    }
  }

  /// The dynamic symbol table does not say how long it is; its hash table does.
  [[nodiscard]] std::uint64_t num_symbols() const {
    const std::uint64_t in_file = tables_.symbols.size() / tables_.elf_class.symbol_size();
    if (tables_.sysv_hash) {
      const std::uint64_t said = image_.at_address(*tables_.sysv_hash).u32(4);
      return std::min({said, in_file, max_symbols});
    }
    const FileBytes table = image_.at_address(*tables_.gnu_hash);
    const std::uint64_t num_buckets = table.u32(0);
    const std::uint64_t first = table.u32(4);
    const std::uint64_t buckets = 16 + table.u32(8) * tables_.elf_class.word_size();
    const std::uint64_t chains = buckets + num_buckets * 4;
    std::uint64_t last = 0;
    for (std::uint64_t i = 0; i < num_buckets && table.holds(buckets + i * 4, 4); ++i) {
      last = std::max<std::uint64_t>(last, table.u32(buckets + i * 4));
    }
    if (last < first) return std::min({first, in_file, max_symbols});
    // The longest chain ends where its lowest bit is set.
    while (table.holds(chains + (last - first) * 4, 4) && last < in_file &&
           (table.u32(chains + (last - first) * 4) & 1) == 0) {
      ++last;
    }
    return std::min({last + 1, in_file, max_symbols});
  }

  void read_symbols() {
    constexpr unsigned hidden = 2, internal = 1;  // STV_HIDDEN, STV_INTERNAL
    const std::uint64_t count = num_symbols();
    for (std::uint64_t i = 1; i < count && !texts_.exhausted(); ++i) {
      const ElfClass::Symbol entry = tables_.elf_class.symbol(tables_.symbols, i);
      const unsigned visibility = entry.other & 3U;
      const bool defined = entry.section != 0;
      LibrarySymbol symbol{texts_.at(entry.name),
                           static_cast<LibrarySymbol::Binding>(entry.info >> 4),
                           static_cast<LibrarySymbol::Kind>(entry.info & 15)};
      if (symbol.name.empty() || symbol.binding == LibrarySymbol::Binding::local) continue;
      if (!defined) {
        library_.undefined.push_back(std::move(symbol));
      } else if (visibility != hidden && visibility != internal) {
        if (!has_object_ && symbol.name == TENON_PLUGIN_SYMBOL) {
          has_object_ = true;
          library_.writable_object = stays_writable(entry.address, entry.size);
        }
        library_.exported.push_back(std::move(symbol));
      }
    }
  }

  /// Whether a byte from `address` on is in a writable segment and stays so after relocation.
  [[nodiscard]] bool stays_writable(std::uint64_t address, std::uint64_t size) const {
    const std::uint64_t skipped = address - relro_.address;
    if (address >= relro_.address && skipped <= relro_.memory_size &&
        size <= relro_.memory_size - skipped && relro_.memory_size != 0) {
      return false;
    }
    for (std::uint64_t i = 0; i < image_.num_segments(); ++i) {
      const ElfClass::Segment segment = image_.segment(i);
      const bool is_in =
          address >= segment.address && address - segment.address < segment.memory_size;
      if (segment.type == ElfImage::load && is_in) return (segment.flags & flag_writable) != 0;
    }
    return false;
  }

  /// Whether the file's table of symbols, which a stripped one lacks, has the function of the C
  /// runtime that is an entry of .init_array: in gcc's crtbeginS.o, or in that of compiler-rt.
  [[nodiscard]] static bool has_frame_dummy(const ElfClass& elf_class, FileBytes symbols,
                                            FileBytes names) {
    const std::uint64_t count = std::min(symbols.size() / elf_class.symbol_size(), max_symbols);
    for (std::uint64_t i = 1; i < count; ++i) {
      const std::uint64_t name = elf_class.symbol(symbols, i).name;
      if (names.c_string(name, 16) == "frame_dummy" || names.c_string(name, 16) == "__do_init") {
        return true;
      }
    }
    return false;
  }

  /// Section headers are not needed to load a library and may be missing.
  void read_sections() {
    constexpr std::uint32_t symbol_table = 2;  // SHT_SYMTAB
    // crtbeginS.o asks for it, whether or not the file was stripped later.
    library_.has_start_files = library_.needs_symbol("_ITM_registerTMCloneTable");
    bool has_section_init = false;
    const FileBytes file = image_.file();
    const ElfClass elf_class = image_.elf_class();
    const FileBytes headers = elf_class.section_table(file);
    const std::uint64_t count = headers.size() / elf_class.section_size();
    const ElfClass::Section names_section =
        elf_class.section(headers, elf_class.file_header(file).section_of_names);
    const FileBytes names = file.part(names_section.offset, names_section.size);
    for (std::uint64_t i = 0; i < count; ++i) {
      const ElfClass::Section section = elf_class.section(headers, i);
      if (section.type == symbol_table && !library_.symbol_table) {
        library_.symbol_table = true;
        const ElfClass::Section texts = elf_class.section(headers, section.link);
        library_.has_start_files |=
            has_frame_dummy(elf_class, file.part(section.offset, section.size),
                            file.part(texts.offset, texts.size));
      }
      const auto name = names.c_string(section.name, 32).value_or("");
      library_.debug_information |= name == ".debug_info" || name == ".zdebug_info";
      has_section_init |= name == ".init" && section.address == init_;
    }
    library_.own_init_function = init_ != 0 && count != 0 && !has_section_init;
  }

  const ElfImage& image_;
  const SymbolTables& tables_;
  std::uint64_t notes_left_ = max_notes;
  ElfClass::Segment relro_{};
  std::uint64_t init_ = 0;  ///< DT_INIT; 0 without one.
  bool has_object_ = false;
  StringTable texts_;
  ElfLibrary library_;
};

}  // namespace detail::elf

Result<ElfLibrary> read_elf_library(std::span<const std::byte> file, std::uint32_t machine) {
  const FileBytes bytes(file);
  TENON_TRY(const auto image, detail::elf::ElfImage::open(bytes, machine));
  TENON_TRY(const auto tables, detail::elf::read_dynamic_section(image));
  TENON_TRY(ElfLibrary library, detail::elf::LibraryReader(image, tables).read());
  library.machine = machine;
  TENON_TRY(library.dependencies, detail::elf::read_dependencies(bytes, machine));
  return library;
}

}  // namespace tenon::inline TENON_RELEASE::host
