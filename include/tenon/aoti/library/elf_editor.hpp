// SPDX-License-Identifier: MIT
#pragma once

#include <elf.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/core/elf_class.hpp"
#include "tenon/core/file_bytes.hpp"
#include "tenon/core/result.hpp"

namespace tenon::inline TENON_RELEASE::aoti {

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
class ElfEditor {
 public:
  /// `bytes` must outlive the editor. Fails with InvalidArgument when they are not a 64-bit
  /// little-endian shared library for this machine, are cut off, or have an offset outside.
  [[nodiscard]] static Result<ElfEditor> open(std::span<std::byte> bytes) {
    ElfEditor editor(bytes);
    TENON_RETURN_IF_ERROR(editor.read_header());
    TENON_RETURN_IF_ERROR(editor.read_dynamic());
    TENON_RETURN_IF_ERROR(editor.count_symbols());
    return editor;
  }

  /// All program headers, in their order. Those of PT_LOAD and PT_DYNAMIC are inside of the file.
  [[nodiscard]] const std::vector<ElfClass::Segment>& segments() const noexcept {
    return segments_;
  }

  void change_segment(std::size_t index, const ElfClass::Segment& segment) noexcept {
    segments_[index] = segment;
    // The address is there twice: loaders do not read the physical one.
    const Elf64_Phdr header = {segment.type,        segment.flags,    segment.offset,
                               segment.address,     segment.address,  segment.file_size,
                               segment.memory_size, segment.alignment};
    put(segments_at_ + index * sizeof header, header);
  }

  /// Offset of the program headers in the file.
  [[nodiscard]] std::uint64_t segments_at() const noexcept { return segments_at_; }

  /// Entries of the dynamic section, in their order, without its end (DT_NULL).
  [[nodiscard]] const std::vector<ElfClass::DynamicEntry>& entries() const noexcept {
    return entries_;
  }

  void change_entry(std::size_t index, const ElfClass::DynamicEntry& entry) noexcept {
    static_assert(sizeof entry == ElfClass().dynamic_size());
    entries_[index] = entry;
    put(dynamic_.offset + index * sizeof entry, entry);
  }

  /// Gives an entry an unused tag from the range for operating systems. glibc ignores tags that it
  /// does not know (elf/get-dynamic-info.h).
  void drop_entry(std::size_t index) noexcept {
    constexpr std::uint64_t unused_tag = 0x6ffe7e00;
    change_entry(index, {unused_tag, entries_[index].value});
  }

  /// The text of the string table at an offset. Refers to the library's bytes.
  [[nodiscard]] Result<std::string_view> string(std::uint64_t offset, std::string_view what) const {
    if (offset >= strings_.size()) return malformed(what, " is outside the string table");
    const std::string_view rest = strings_.substr(offset);
    return rest.substr(0, rest.find('\0'));
  }

  /// Offset in the file of `size` bytes at an address of the loaded library.
  [[nodiscard]] Result<std::uint64_t> place(std::uint64_t address, std::uint64_t size,
                                            std::string_view what) const {
    for (const ElfClass::Segment& segment : loads_) {
      if (address < segment.address) continue;
      const std::uint64_t offset = address - segment.address;
      if (offset <= segment.file_size && size <= segment.file_size - offset) {
        return segment.offset + offset;
      }
    }
    return malformed(what, " (", size, " bytes at address ", address, ") is outside its segments");
  }

  /// Writes an object at an offset that `place` returned.
  template <class T>
  void put(std::uint64_t offset, const T& value) noexcept {
    std::memcpy(bytes_.data() + offset, &value, sizeof value);
  }

  /// The object at an offset that `place` returned.
  template <class T>
  [[nodiscard]] T at(std::uint64_t offset) const noexcept {
    T value;
    std::memcpy(&value, bytes_.data() + offset, sizeof value);
    return value;
  }

  /// Needed libraries (DT_NEEDED), in their order.
  [[nodiscard]] const std::vector<std::string_view>& needed() const noexcept { return needed_; }

  /// Bytes from the lowest to the highest address of the loaded library.
  [[nodiscard]] std::uint64_t extent() const noexcept { return extent_; }

  /// Bits GNU_PROPERTY_X86_ISA_1_... that its compiler recorded; 0 when there are none.
  [[nodiscard]] std::uint32_t isa_needed() const noexcept { return isa_needed_; }

  /// Number of symbols, with the empty first one.
  [[nodiscard]] std::uint32_t num_symbols() const noexcept { return num_symbols_; }

  /// All symbols except the empty first one.
  [[nodiscard]] Result<std::vector<DynamicSymbol>> symbols() const {
    std::vector<DynamicSymbol> out;
    out.reserve(num_symbols_);
    for (std::uint32_t i = 1; i < num_symbols_; ++i) {
      const ElfClass::Symbol symbol = ElfClass().symbol(file().part(symbols_), i);
      if (symbol.name >= strings_.size()) {
        return malformed("the name of symbol ", i, " is outside the string table");
      }
      const std::string_view rest = strings_.substr(symbol.name);
      const bool is_undefined = symbol.section == SHN_UNDEF;
      const auto binding = symbol.info >> 4;
      std::uint16_t version = 1;
      if (versions_ != 0) version = file().u16(versions_ + std::uint64_t{i} * 2) & 0x7fff;
      out.push_back({i, rest.substr(0, rest.find('\0')), is_undefined, binding == STB_WEAK,
                     binding == STB_GNU_UNIQUE, version > 1,
                     !is_undefined && (symbol.info & 0xf) == STT_GNU_IFUNC, version});
    }
    return out;
  }

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
  explicit ElfEditor(std::span<std::byte> bytes) noexcept : bytes_(bytes) {}

  template <class... Pieces>
  static Status malformed(const Pieces&... pieces) {
    return error(Error::InvalidArgument, "not a library that can be loaded: ", pieces...);
  }

  [[nodiscard]] FileBytes file() const noexcept { return FileBytes(bytes_); }

  template <class Change>
  void edit(const DynamicSymbol& symbol, Change change) noexcept {
    const std::uint64_t offset = symbols_ + std::uint64_t{symbol.index} * sizeof(Elf64_Sym);
    auto entry = at<Elf64_Sym>(offset);
    change(entry);
    put(offset, entry);
  }

  Status read_header() {
    if (bytes_.size() < sizeof(Elf64_Ehdr) || std::memcmp(bytes_.data(), ELFMAG, SELFMAG) != 0) {
      return malformed("expected an ELF file, found ", bytes_.size(), " bytes of something else");
    }
    if (file().u8(EI_CLASS) != ELFCLASS64 || file().u8(EI_DATA) != ELFDATA2LSB) {
      return malformed("expected 64 bit, little-endian; found class ",
                       static_cast<int>(file().u8(EI_CLASS)), ", data encoding ",
                       static_cast<int>(file().u8(EI_DATA)));
    }
    const std::uint16_t type = file().u16(16);
    const std::uint16_t machine = file().u16(18);
    if (machine != this_machine) {
      return malformed("expected ELF machine number ", this_machine, " (this processor), found ",
                       machine);
    }
    const ElfClass::FileHeader header = ElfClass().file_header(file());
    if (type != ET_DYN || header.program_header_size != ElfClass().segment_size()) {
      return malformed("expected a shared library (ELF type 3), found ELF type ", type);
    }
    if (!file().holds(header.program_headers,
                      header.num_program_headers * ElfClass().segment_size())) {
      return malformed("its program headers are outside its ", bytes_.size(), " bytes");
    }
    segments_at_ = header.program_headers;
    std::uint64_t lowest = std::numeric_limits<std::uint64_t>::max();
    std::uint64_t highest = 0;
    for (std::uint64_t i = 0; i < header.num_program_headers; ++i) {
      const ElfClass::Segment segment = ElfClass().segment(file().part(segments_at_), i);
      segments_.push_back(segment);
      if (segment.type != PT_LOAD && segment.type != PT_DYNAMIC &&
          segment.type != PT_GNU_PROPERTY) {
        continue;
      }
      std::uint64_t end = 0;
      if (!file().holds(segment.offset, segment.file_size) ||
          segment.file_size > segment.memory_size ||
          __builtin_add_overflow(segment.address, segment.memory_size, &end)) {
        return malformed("segment ", i, " (", segment.file_size, " bytes at ", segment.offset,
                         ") is outside its ", bytes_.size(), " bytes: it was cut off");
      }
      if (segment.type == PT_DYNAMIC) dynamic_ = segment;
      if (segment.type == PT_GNU_PROPERTY) read_property(segment);
      if (segment.type != PT_LOAD) continue;
      if (segment.address < lowest) lowest = segment.address;
      if (end > highest) highest = end;
      loads_.push_back(segment);
    }
    if (loads_.empty() || dynamic_.file_size == 0) {
      return malformed("it has no loadable or no dynamic segment");
    }
    extent_ = highest - lowest;
    return ok();
  }

  /// Reads the note NT_GNU_PROPERTY_TYPE_0 (x86-64 psABI): pairs of type and size, padded to 8.
  void read_property(const ElfClass::Segment& segment) noexcept {
    constexpr std::uint64_t header_size = sizeof(Elf64_Nhdr) + 4;  // And the name "GNU".
    std::uint64_t offset = segment.offset + header_size;
    const std::uint64_t end = segment.offset + segment.file_size;
    while (offset <= end && end - offset >= 8) {
      const auto type = file().u32(offset);
      const auto size = file().u32(offset + 4);
      if (size > end - offset - 8) return;
      if (type == x86_isa_1_needed && size >= 4) isa_needed_ = file().u32(offset + 8);
      offset += 8 + (std::uint64_t{size} + 7) / 8 * 8;
    }
  }

  Status read_dynamic() {
    std::uint64_t strings = 0;
    std::uint64_t strings_size = 0;
    std::uint64_t symbols = 0;
    std::uint64_t versions = 0;
    bool has_end = false;
    const FileBytes dynamic = file().part(dynamic_.offset, dynamic_.file_size);
    for (std::uint64_t i = 0; i < dynamic.size() / ElfClass().dynamic_size(); ++i) {
      const ElfClass::DynamicEntry entry = ElfClass().dynamic_entry(dynamic, i);
      const std::uint64_t value = entry.value;
      has_end = entry.tag == DT_NULL;
      if (has_end) break;
      if (entry.tag == DT_STRTAB) strings = value;
      if (entry.tag == DT_STRSZ) strings_size = value;
      if (entry.tag == DT_SYMTAB) symbols = value;
      if (entry.tag == DT_VERSYM) versions = value;
      if (entry.tag == DT_HASH) hash_ = value;
      if (entry.tag == DT_GNU_HASH) gnu_hash_ = value;
      if (entry.tag == DT_NEEDED) needed_at_.push_back(entries_.size());
      entries_.push_back(entry);
    }
    if (!has_end) return malformed("its dynamic section has no end");
    TENON_TRY(const std::uint64_t text, place(strings, strings_size, "its string table"));
    strings_ = {reinterpret_cast<const char*>(bytes_.data() + text), strings_size};
    if (strings_.empty() || strings_.back() != '\0') {
      return malformed("its string table does not end with a zero byte");
    }
    TENON_TRY(symbols_, place(symbols, sizeof(Elf64_Sym), "its symbol table"));
    if (versions != 0) {
      TENON_TRY(versions_, place(versions, 2, "its table of symbol versions"));
    }
    for (const std::size_t index : needed_at_) {
      TENON_TRY(const std::string_view name,
                string(entries_[index].value, "the name of a needed library"));
      needed_.push_back(name);
    }
    return ok();
  }

  /// Reads the number of symbols from the hash tables: the dynamic section does not hold it.
  Status count_symbols() {
    std::uint64_t count = 0;
    if (hash_ != 0) {
      TENON_TRY(const std::uint64_t table, place(hash_, 8, "its hash table"));
      count = file().u32(table + 4);
    } else {
      TENON_TRY(count, count_gnu_symbols());
    }
    if (count == 0 || count > bytes_.size() / sizeof(Elf64_Sym) ||
        !file().holds(symbols_, count * sizeof(Elf64_Sym)) ||
        (versions_ != 0 && !file().holds(versions_, count * 2))) {
      return malformed("its ", count, " symbols do not fit into its ", bytes_.size(), " bytes");
    }
    num_symbols_ = static_cast<std::uint32_t>(count);
    return ok();
  }

  /// One more than the last symbol in any chain, found as in glibc's elf/dl-addr.c and binutils'
  /// `elf_create_symbuf`.
  [[nodiscard]] Result<std::uint64_t> count_gnu_symbols() const {
    TENON_TRY(const std::uint64_t table, place(gnu_hash_, 16, "its GNU hash table"));
    const std::uint64_t num_buckets = file().u32(table);
    const std::uint64_t first = file().u32(table + 4);
    const std::uint64_t buckets = table + 16 + std::uint64_t{file().u32(table + 8)} * 8;
    if (!file().holds(buckets, num_buckets * 4)) {
      return malformed("the buckets of its GNU hash table are outside its bytes");
    }
    std::uint64_t last = 0;
    for (std::uint64_t i = 0; i < num_buckets; ++i) {
      const std::uint64_t first_of_chain = file().u32(buckets + i * 4);
      if (first_of_chain > last) last = first_of_chain;
    }
    if (last < first) return first;
    const std::uint64_t chains = buckets + num_buckets * 4;
    for (std::uint64_t offset = chains + (last - first) * 4; file().holds(offset, 4); offset += 4) {
      ++last;
      if ((file().u32(offset) & 1) != 0) return last;
    }
    return malformed("a chain of its GNU hash table has no end");
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
  std::vector<ElfClass::Segment> segments_;
  std::vector<ElfClass::Segment> loads_;
  ElfClass::Segment dynamic_{};
  std::string_view strings_;
  std::vector<std::string_view> needed_;
  std::vector<ElfClass::DynamicEntry> entries_;
  std::vector<std::size_t> needed_at_;  ///< Their indices in `entries_`.
  std::uint64_t segments_at_ = 0;
  std::uint64_t symbols_ = 0;
  std::uint64_t versions_ = 0;
  std::uint64_t hash_ = 0;
  std::uint64_t gnu_hash_ = 0;
  std::uint64_t extent_ = 0;
  std::uint32_t num_symbols_ = 0;
  std::uint32_t isa_needed_ = 0;
};

}  // namespace tenon::inline TENON_RELEASE::aoti
