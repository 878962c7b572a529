// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "tenon/core/file_bytes.hpp"

namespace tenon { inline namespace TENON_RELEASE {

/// One of the two widths of little-endian ELF files: where things are in its structures. The 32-bit
/// structures have the same members with shorter numbers, and not all in the same order (System V
/// gABI, "Object Files"). The numbers come from the gABI too, and for GNU from glibc's <elf.h>,
/// which other systems lack.
struct ElfClass {
  static constexpr std::uint32_t pt_load = 1, pt_dynamic = 2, pt_interp = 3, pt_note = 4,
                                 pt_tls = 7, pt_gnu_stack = 0x6474e551, pt_gnu_relro = 0x6474e552;
  static constexpr std::uint32_t pf_execute = 1, pf_write = 2;
  static constexpr std::uint32_t sht_symtab = 2, sht_strtab = 3, sht_nobits = 8, sht_dynsym = 11;
  static constexpr std::uint64_t shf_alloc = 2, shf_execute = 4, shf_info_link = 0x40;
  static constexpr std::uint64_t dt_null = 0, dt_needed = 1, dt_hash = 4, dt_strtab = 5,
                                 dt_symtab = 6, dt_strsz = 10, dt_syment = 11, dt_init = 12,
                                 dt_soname = 14, dt_rpath = 15, dt_textrel = 22, dt_bind_now = 24,
                                 dt_init_arraysz = 27, dt_fini_arraysz = 28, dt_runpath = 29,
                                 dt_flags = 30, dt_gnu_hash = 0x6ffffef5, dt_flags_1 = 0x6ffffffb,
                                 dt_verneed = 0x6ffffffe, dt_auxiliary = 0x7ffffffd,
                                 dt_filter = 0x7fffffff;
  static constexpr unsigned stb_local = 0;
  static constexpr unsigned stt_notype = 0, stt_object = 1, stt_func = 2, stt_gnu_ifunc = 10;
  static constexpr unsigned stv_internal = 1, stv_hidden = 2;

  /// A program header. Where it says its bytes are is only checked for those that are loaded.
  struct Segment {
    std::uint32_t type, flags;
    std::uint64_t offset, address, file_size, memory_size, alignment;
  };

  /// A section header.
  struct Section {
    std::uint32_t name, type, link, info;
    std::uint64_t offset, size, flags, address;
  };

  /// An entry of a symbol table.
  struct Symbol {
    std::uint32_t name;
    std::uint8_t info, other;
    std::uint16_t section;  ///< 0 when it is to be found in another library.
    std::uint64_t address, size;

    [[nodiscard]] constexpr unsigned binding() const noexcept { return info >> 4; }
    [[nodiscard]] constexpr unsigned type() const noexcept { return info & 15U; }
    /// Whether no other library sees it.
    [[nodiscard]] constexpr bool is_hidden() const noexcept {
      return (other & 3U) == stv_internal || (other & 3U) == stv_hidden;
    }
  };

  struct DynamicEntry {
    std::uint64_t tag, value;
  };

  /// Members of a file header, without the bytes that are the same for both widths.
  struct FileHeader {
    std::uint64_t program_headers, section_headers;
    std::uint32_t flags;
    std::uint16_t program_header_size, num_program_headers;
    std::uint16_t section_header_size, num_sections, section_of_names;
  };

  bool wide = true;  ///< ELFCLASS64.

  [[nodiscard]] constexpr std::uint64_t word_size() const noexcept { return wide ? 8 : 4; }
  [[nodiscard]] constexpr std::uint64_t file_header_size() const noexcept { return wide ? 64 : 52; }
  [[nodiscard]] constexpr std::uint64_t segment_size() const noexcept { return wide ? 56 : 32; }
  [[nodiscard]] constexpr std::uint64_t section_size() const noexcept { return wide ? 64 : 40; }
  [[nodiscard]] constexpr std::uint64_t symbol_size() const noexcept { return wide ? 24 : 16; }
  [[nodiscard]] constexpr std::uint64_t dynamic_size() const noexcept { return 2 * word_size(); }

  [[nodiscard]] std::uint64_t word(FileBytes bytes, std::uint64_t offset) const noexcept {
    return wide ? bytes.u64(offset) : bytes.u32(offset);
  }

  [[nodiscard]] FileHeader file_header(FileBytes file) const noexcept {
    const std::uint64_t after_words = 24 + 3 * word_size();
    const auto u16 = [&](std::uint64_t offset) { return file.u16(after_words + offset); };
    return {word(file, 24 + word_size()),
            word(file, 24 + 2 * word_size()),
            file.u32(after_words),
            u16(6),
            u16(8),
            u16(10),
            u16(12),
            u16(14)};
  }
  [[nodiscard]] Segment segment(FileBytes table, std::uint64_t index) const noexcept {
    const FileBytes entry = table.part(index * segment_size(), segment_size());
    return {entry.u32(0),
            entry.u32(wide ? 4 : 24),
            word(entry, wide ? 8 : 4),
            word(entry, wide ? 16 : 8),
            word(entry, wide ? 32 : 16),
            word(entry, wide ? 40 : 20),
            word(entry, wide ? 48 : 28)};
  }
  [[nodiscard]] Section section(FileBytes table, std::uint64_t index) const noexcept {
    const FileBytes entry = table.part(index * section_size(), section_size());
    return {entry.u32(0),
            entry.u32(4),
            entry.u32(wide ? 40 : 24),
            entry.u32(wide ? 44 : 28),
            word(entry, wide ? 24 : 16),
            word(entry, wide ? 32 : 20),
            word(entry, 8),
            word(entry, wide ? 16 : 12)};
  }
  [[nodiscard]] Symbol symbol(FileBytes table, std::uint64_t index) const noexcept {
    const FileBytes entry = table.part(index * symbol_size(), symbol_size());
    return {entry.u32(0),
            entry.u8(wide ? 4 : 12),
            entry.u8(wide ? 5 : 13),
            entry.u16(wide ? 6 : 14),
            word(entry, wide ? 8 : 4),
            word(entry, wide ? 16 : 8)};
  }
  [[nodiscard]] DynamicEntry dynamic_entry(FileBytes table, std::uint64_t index) const noexcept {
    const std::uint64_t at = index * dynamic_size();
    return {word(table, at), word(table, at + word_size())};
  }
};

}}  // namespace tenon::TENON_RELEASE
