// SPDX-License-Identifier: MIT
#pragma once

#include <elf.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/core/elf/elf_class.hpp"
#include "tenon/core/elf/elf_image.hpp"
#include "tenon/core/elf/elf_symbols.hpp"
#include "tenon/core/file_bytes.hpp"
#include "tenon/core/result.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace aoti {

/// A failure of a library whose structures contradict each other.
template <class... Pieces>
[[nodiscard]] Status malformed_library(const Pieces&... pieces) {
  return error(Error::InvalidArgument, "not a library that can be loaded: ", pieces...);
}

/// A symbol of a library's dynamic symbol table.
struct DynamicSymbol {
  std::uint32_t index;
  std::string_view name;  ///< Refers to the library's bytes.
  bool is_undefined;
  bool is_weak;
  bool is_unique;     ///< STB_GNU_UNIQUE: the dynamic loader never unloads a library that has one.
  bool is_versioned;  ///< Required from a named library ("memcpy@GLIBC_2.14").
  /// STT_GNU_IFUNC: its address is what a function of the library returns while it is relocated.
  bool is_indirect = false;
  std::uint16_t version = 1;  ///< Index of its version (DT_VERSYM); 0 and 1 mean none.
};

/// Reads and changes the headers and dynamic symbols of an ELF shared library in memory, before it
/// is loaded.
///
/// Why: a compiled model needs functions (`aoti_torch_...`) without naming a library for them. The
/// dynamic loader would take them from any global library in the process: another plugin, or
/// libtorch, whose tensors have another type. A symbol that is made absolute and hidden, in a
/// private copy of the library, is bound to one address without any look-up, also while the
/// library's own initialisers run. glibc supports this since 2.28 (elf/dl-machine.h: RESOLVE_MAP
/// keeps a symbol that `dl_symbol_visibility_binds_local_p`, SYMBOL_ADDRESS adds no load address to
/// SHN_ABS).
///
/// The bytes are untrusted: every offset is checked, and nothing is written outside of them.
class ElfEditor : public ElfImage {
 public:
  /// `bytes` must outlive the editor. Fails with InvalidArgument when they are not a 64-bit
  /// little-endian shared library for this machine, are cut off, or have an offset outside.
  [[nodiscard]] static Result<ElfEditor> open(std::span<std::byte> bytes) {
    TENON_RETURN_IF_ERROR(check_header(FileBytes(bytes)));
    auto image = ElfImage::open(FileBytes(bytes), ElfClass());
    if (!image.ok()) return std::move(image).status().with_context("the model's library");
    auto symbols = ElfSymbols::open(*image);
    if (!symbols.ok()) return std::move(symbols).status().with_context("the model's library");
    ElfEditor editor(bytes, *std::move(image), *std::move(symbols));
    TENON_RETURN_IF_ERROR(editor.check_segments());
    TENON_RETURN_IF_ERROR(editor.read_symbols());
    return editor;
  }

  void change_segment(std::size_t index, const ElfClass::Segment& segment) noexcept {
    segments_[index] = segment;
    // The address is there twice: loaders do not read the physical one.
    const Elf64_Phdr header = {segment.type,        segment.flags,    segment.offset,
                               segment.address,     segment.address,  segment.file_size,
                               segment.memory_size, segment.alignment};
    put(segments_at() + index * sizeof header, header);
  }

  /// Offset of the program headers in the file.
  [[nodiscard]] std::uint64_t segments_at() const noexcept {
    return headers().header().program_headers;
  }

  void change_entry(std::size_t index, const ElfClass::DynamicEntry& entry) noexcept {
    static_assert(sizeof entry == ElfClass().dynamic_size());
    entries_[index] = entry;
    put(entries_at() + index * sizeof entry, entry);
  }

  /// Gives an entry an unused tag from the range for operating systems. glibc ignores tags that it
  /// does not know (elf/get-dynamic-info.h).
  void drop_entry(std::size_t index) noexcept {
    constexpr std::uint64_t unused_tag = 0x6ffe7e00;
    change_entry(index, {unused_tag, entries()[index].value});
  }

  /// The string table, which ends with a zero byte.
  [[nodiscard]] FileBytes strings() const noexcept { return symbol_tables_.strings(); }

  /// The text of the string table at an offset, which refers to the library's bytes. `strings` is
  /// of `strings()`, and bounds the work on texts that share their ends.
  [[nodiscard]] Result<std::string_view> string(ElfStrings& strings, std::uint64_t offset,
                                                std::string_view what) const {
    if (offset >= this->strings().size()) {
      return malformed_library(what, " is outside the string table");
    }
    const std::string_view text = strings.at(offset);
    if (strings.exhausted()) return strings.check().with_context("the model's library");
    return text;
  }

  /// Offset in the file of `size` bytes at an address of the loaded library.
  [[nodiscard]] Result<std::uint64_t> place(std::uint64_t address, std::uint64_t size,
                                            std::string_view what) const {
    const FileBytes found = at_address(address);
    if (!found.empty() && found.holds(0, size)) return offset_of(found);
    return malformed_library(what, " (", size, " bytes at address ", address,
                             ") is outside its segments");
  }

  /// Writes an object at an offset that `place` returned; nothing outside of the file.
  template <class T>
  void put(std::uint64_t offset, const T& value) noexcept {
    if (file().holds(offset, sizeof value)) {
      std::memcpy(bytes_.data() + offset, &value, sizeof value);
    }
  }

  /// The object at an offset that `place` returned; zeroes outside of the file.
  template <class T>
  [[nodiscard]] T at(std::uint64_t offset) const noexcept {
    T value{};
    if (file().holds(offset, sizeof value)) {
      std::memcpy(&value, bytes_.data() + offset, sizeof value);
    }
    return value;
  }

  /// Needed libraries (DT_NEEDED), in their order.
  [[nodiscard]] const std::vector<std::string_view>& needed() const noexcept { return needed_; }

  /// Offset in the string table of the name of needed library `index`.
  [[nodiscard]] std::uint64_t needed_name(std::size_t index) const noexcept {
    return entries()[needed_at_[index]].value;
  }

  /// Bytes from the lowest to the highest address of the loaded library.
  [[nodiscard]] std::uint64_t extent() const noexcept { return extent_; }

  /// Bits GNU_PROPERTY_X86_ISA_1_... that its compiler recorded; 0 when there are none.
  [[nodiscard]] std::uint32_t isa_needed() const noexcept { return isa_needed_; }

  /// Number of symbols, with the empty first one.
  [[nodiscard]] std::uint64_t num_symbols() const noexcept { return symbols_.size() + 1; }

  /// All symbols except the empty first one.
  [[nodiscard]] const std::vector<DynamicSymbol>& symbols() const noexcept { return symbols_; }

  /// Binds an undefined symbol to an address of this process.
  void bind(const DynamicSymbol& symbol, const void* address) noexcept {
    edit(symbol, [&](Elf64_Sym& entry) {
      entry.st_info = static_cast<unsigned char>(STB_GLOBAL << 4 | STT_FUNC);
      entry.st_other = STV_HIDDEN;
      entry.st_shndx = SHN_ABS;
      entry.st_value = reinterpret_cast<std::uintptr_t>(address);
    });
  }

  /// Keeps the dynamic loader from looking for needed library `index`. All functions from there
  /// must have been bound.
  void drop_needed(std::size_t index) noexcept { drop_entry(needed_at_[index]); }

  /// Makes a symbol that the library defines local to it: no longer unique, so that the library can
  /// be unloaded, and hidden, so that no other library's definition replaces it.
  void make_own(const DynamicSymbol& symbol) noexcept {
    edit(symbol, [](Elf64_Sym& entry) {
      entry.st_info = static_cast<unsigned char>(STB_WEAK << 4 | (entry.st_info & 0xf));
      entry.st_other = STV_HIDDEN;
    });
  }

 private:
  ElfEditor(std::span<std::byte> bytes, ElfImage image, ElfSymbols symbols) noexcept
      : ElfImage(std::move(image)), bytes_(bytes), symbol_tables_(std::move(symbols)) {}

  template <class Change>
  void edit(const DynamicSymbol& symbol, Change change) noexcept {
    const std::uint64_t offset =
        offset_of(symbol_tables_.table()) + std::uint64_t{symbol.index} * sizeof(Elf64_Sym);
    auto entry = at<Elf64_Sym>(offset);
    change(entry);
    put(offset, entry);
    symbols_[symbol.index - 1] = read_symbol(symbol.index, symbol.name);
  }

  static Status check_header(FileBytes file) {
    if (!is_elf(file) || file.size() < ElfClass().file_header_size()) {
      return malformed_library("expected an ELF file, found ", file.size(),
                               " bytes of something else");
    }
    if (!is_elf64(file)) {
      return malformed_library("expected 64 bit, little-endian; found class ", file.u8(EI_CLASS),
                               ", data encoding ", file.u8(EI_DATA));
    }
    const std::uint16_t type = file.u16(16);
    const std::uint16_t machine = file.u16(18);
    if (machine != this_machine) {
      return malformed_library("expected ELF machine number ", this_machine,
                               " (this processor), found ", machine);
    }
    if (type == ET_DYN) return ok();
    return malformed_library("expected a shared library (ELF type 3), found ELF type ", type);
  }

  Status check_segments() {
    if (!entries_have_end()) return malformed_library("its dynamic section has no end");
    std::uint64_t lowest = std::numeric_limits<std::uint64_t>::max();
    std::uint64_t highest = 0;
    for (const ElfClass::Segment& segment : segments()) {
      if (segment.type == PT_GNU_PROPERTY) read_property(segment);
      if (segment.type != PT_LOAD) continue;
      std::uint64_t end = 0;
      if (segment.file_size > segment.memory_size ||
          __builtin_add_overflow(segment.address, segment.memory_size, &end)) {
        return malformed_library("a segment at address ", segment.address, " has ",
                                 segment.file_size, " of ", segment.memory_size, " bytes");
      }
      lowest = std::min(lowest, segment.address);
      highest = std::max(highest, end);
    }
    extent_ = highest - lowest;
    return ok();
  }

  /// Reads the note NT_GNU_PROPERTY_TYPE_0 (x86-64 psABI): pairs of type and size, padded to 8.
  void read_property(const ElfClass::Segment& segment) {
    std::uint64_t notes_left = 1;
    for_each_gnu_note(segment, notes_left, [&](std::uint32_t, FileBytes content) {
      for (std::uint64_t at = 0; content.holds(at, 8);) {
        const std::uint64_t size = content.u32(at + 4);
        if (!content.holds(at + 8, size)) return;
        if (content.u32(at) == x86_isa_1_needed && size >= 4) isa_needed_ = content.u32(at + 8);
        at += 8 + (size + 7) / 8 * 8;
      }
    });
  }

  [[nodiscard]] DynamicSymbol read_symbol(std::uint32_t index, std::string_view name) const {
    const ElfClass::Symbol symbol = symbol_tables_.symbol(index);
    const bool is_undefined = symbol.section == SHN_UNDEF;
    std::uint16_t version = 1;
    if (!versions_.empty()) version = versions_.u16(std::uint64_t{index} * 2) & 0x7fff;
    return {index,
            name,
            is_undefined,
            symbol.binding() == STB_WEAK,
            symbol.binding() == STB_GNU_UNIQUE,
            version > 1,
            !is_undefined && symbol.type() == STT_GNU_IFUNC,
            version};
  }

  Status read_symbols() {
    if (strings().text().back() != '\0') {
      return malformed_library("its string table does not end with a zero byte");
    }
    const auto [count, is_whole] = symbol_tables_.num_symbols();
    const std::uint64_t versions = value_of(DT_VERSYM).value_or(0);
    if (versions != 0) versions_ = at_address(versions);
    if (count == 0 || !is_whole || (versions != 0 && !versions_.holds(0, count * 2))) {
      return malformed_library("its ", count, " symbols do not fit into its ", bytes_.size(),
                               " bytes, or a chain of its GNU hash table has no end");
    }
    ElfStrings names(strings());
    symbols_.reserve(count - 1);
    for (std::uint32_t i = 1; i < count; ++i) {
      TENON_TRY(const std::string_view name,
                string(names, symbol_tables_.symbol(i).name, "the name of a symbol"));
      symbols_.push_back(read_symbol(i, name));
    }
    for (std::size_t i = 0; i < entries().size(); ++i) {
      if (entries()[i].tag != DT_NEEDED) continue;
      needed_at_.push_back(i);
      TENON_TRY(const std::string_view name,
                string(names, entries()[i].value, "the name of a needed library"));
      needed_.push_back(name);
    }
    return ok();
  }

#if defined(__x86_64__)
  static constexpr std::uint16_t this_machine = EM_X86_64;
#elif defined(__aarch64__)
  static constexpr std::uint16_t this_machine = EM_AARCH64;
#else
  static constexpr std::uint16_t this_machine = EM_NONE;
#endif
  static constexpr std::uint32_t x86_isa_1_needed = 0xc0008002;  // <elf.h> of glibc 2.36 lacks it.

  std::span<std::byte> bytes_;
  ElfSymbols symbol_tables_;
  FileBytes versions_;  ///< DT_VERSYM; empty without it.
  std::vector<DynamicSymbol> symbols_;
  std::vector<std::string_view> needed_;
  std::vector<std::size_t> needed_at_;  ///< Their indices in `entries()`.
  std::uint64_t extent_ = 0;
  std::uint32_t isa_needed_ = 0;
};

}}}  // namespace tenon::TENON_RELEASE::aoti
