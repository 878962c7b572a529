// SPDX-License-Identifier: MIT
#pragma once

#include <elf.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/core/result.hpp"

namespace tenon::aoti {

/// A symbol of a library's dynamic symbol table.
struct ElfSymbol {
  std::uint32_t index;
  std::string_view name;  ///< Refers to the library's bytes.
  bool is_undefined;
  bool is_weak;
  bool is_unique;     ///< STB_GNU_UNIQUE: the dynamic loader never unloads a library that has one.
  bool is_versioned;  ///< Asked for from a named library ("memcpy@GLIBC_2.14").
};

/// Reads and changes the dynamic symbols of an ELF shared library in memory, before it is loaded.
///
/// Why: a compiled model asks for functions (`aoti_torch_...`) by name and names no library that
/// has them. The dynamic loader would take them from whatever is global in the process: another
/// plugin's, or libtorch's, with tensors of another type. A symbol that is made absolute and
/// hidden, in a private copy of the library, is bound to one address without any look-up, also when
/// the library's own initialisers run. glibc does so since 2.28 (elf/dl-machine.h: RESOLVE_MAP
/// keeps a symbol that `dl_symbol_visibility_binds_local_p`, SYMBOL_ADDRESS adds no load address to
/// SHN_ABS).
///
/// The bytes come from a program: every offset is checked, and nothing is written outside of them.
class ElfEditor {
 public:
  /// `bytes` must outlive the editor. Fails with InvalidArgument when they are not a 64-bit
  /// little-endian shared library for this machine, or are cut off, or point outside themselves.
  [[nodiscard]] static Result<ElfEditor> open(std::span<std::byte> bytes) {
    ElfEditor editor(bytes);
    TENON_CHECK(editor.read_header());
    TENON_CHECK(editor.read_dynamic());
    TENON_CHECK(editor.count_symbols());
    return editor;
  }

  /// Libraries that it needs (DT_NEEDED), in their order.
  [[nodiscard]] const std::vector<std::string_view>& needed() const noexcept { return needed_; }

  /// Bytes from the lowest to the highest address once it is loaded.
  [[nodiscard]] std::uint64_t extent() const noexcept { return extent_; }

  /// Bits GNU_PROPERTY_X86_ISA_1_... that its compiler says it needs; 0 when it does not say.
  [[nodiscard]] std::uint32_t isa_needed() const noexcept { return isa_needed_; }

  /// All symbols but the empty first one.
  [[nodiscard]] Result<std::vector<ElfSymbol>> symbols() const {
    std::vector<ElfSymbol> out;
    out.reserve(num_symbols_);
    for (std::uint32_t i = 1; i < num_symbols_; ++i) {
      const auto symbol = at<Elf64_Sym>(symbols_ + std::uint64_t{i} * sizeof(Elf64_Sym));
      if (symbol.st_name >= strings_.size()) {
        return malformed("the name of symbol ", i, " lies outside the string table");
      }
      const std::string_view rest = strings_.substr(symbol.st_name);
      const auto binding = symbol.st_info >> 4;
      std::uint16_t version = 1;
      if (versions_ != 0) version = at<std::uint16_t>(versions_ + std::uint64_t{i} * 2) & 0x7fff;
      out.push_back({i, rest.substr(0, rest.find('\0')), symbol.st_shndx == SHN_UNDEF,
                     binding == STB_WEAK, binding == STB_GNU_UNIQUE, version > 1});
    }
    return out;
  }

  /// Binds an undefined symbol to an address of this process.
  void bind(const ElfSymbol& symbol, const void* address) noexcept {
    edit(symbol, [&](Elf64_Sym& entry) {
      entry.st_info = static_cast<unsigned char>(STB_GLOBAL << 4 | STT_FUNC);
      entry.st_other = STV_HIDDEN;
      entry.st_shndx = SHN_ABS;
      entry.st_value = reinterpret_cast<std::uintptr_t>(address);
    });
  }

  /// Keeps the dynamic loader from looking for needed library `index`. What the library wanted from
  /// there must have been bound.
  ///
  /// The entry's tag becomes one of the range for operating systems that nobody uses. glibc keeps
  /// only entries that it knows (elf/get-dynamic-info.h) and passes over this one.
  void drop_needed(std::size_t index) noexcept {
    auto entry = at<Elf64_Dyn>(needed_at_[index]);
    constexpr Elf64_Sxword unused_tag = 0x6ffe7e00;
    entry.d_tag = unused_tag;
    std::memcpy(bytes_.data() + needed_at_[index], &entry, sizeof entry);
  }

  /// Makes a symbol that the library defines its own: ordinary where it was unique, so that the
  /// library can be unloaded, and hidden, so that no definition of another library takes its place.
  void make_own(const ElfSymbol& symbol) noexcept {
    edit(symbol, [](Elf64_Sym& entry) {
      entry.st_info = static_cast<unsigned char>(STB_WEAK << 4 | (entry.st_info & 0xf));
      entry.st_other = STV_HIDDEN;
    });
  }

 private:
  explicit ElfEditor(std::span<std::byte> bytes) noexcept : bytes_(bytes) {}

  template <class... Pieces>
  static Status malformed(const Pieces&... pieces) {
    return error(Error::InvalidArgument, "is no library that can be loaded: ", pieces...);
  }

  [[nodiscard]] bool holds(std::uint64_t offset, std::uint64_t size) const noexcept {
    return offset <= bytes_.size() && size <= bytes_.size() - offset;
  }

  /// The object at a place that was checked with `holds`.
  template <class T>
  [[nodiscard]] T at(std::uint64_t offset) const noexcept {
    T value;
    std::memcpy(&value, bytes_.data() + offset, sizeof value);
    return value;
  }

  template <class Change>
  void edit(const ElfSymbol& symbol, Change change) noexcept {
    const std::uint64_t offset = symbols_ + std::uint64_t{symbol.index} * sizeof(Elf64_Sym);
    auto entry = at<Elf64_Sym>(offset);
    change(entry);
    std::memcpy(bytes_.data() + offset, &entry, sizeof entry);
  }

  Status read_header() {
    if (bytes_.size() < sizeof(Elf64_Ehdr) || std::memcmp(bytes_.data(), ELFMAG, SELFMAG) != 0) {
      return malformed("expected an ELF file, found ", bytes_.size(), " bytes of something else");
    }
    const auto header = at<Elf64_Ehdr>(0);
    if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB) {
      return malformed("expected 64 bit, little-endian; found class ",
                       static_cast<int>(header.e_ident[EI_CLASS]), ", data encoding ",
                       static_cast<int>(header.e_ident[EI_DATA]));
    }
    if (header.e_machine != this_machine) {
      return malformed("expected ELF machine number ", this_machine, " (this processor), found ",
                       header.e_machine);
    }
    if (header.e_type != ET_DYN || header.e_phentsize != sizeof(Elf64_Phdr)) {
      return malformed("expected a shared library (ELF type 3), found ELF type ", header.e_type);
    }
    if (!holds(header.e_phoff, std::uint64_t{header.e_phnum} * sizeof(Elf64_Phdr))) {
      return malformed("its program headers lie outside its ", bytes_.size(), " bytes");
    }
    std::uint64_t lowest = std::numeric_limits<std::uint64_t>::max();
    std::uint64_t highest = 0;
    for (std::uint64_t i = 0; i < header.e_phnum; ++i) {
      const auto segment = at<Elf64_Phdr>(header.e_phoff + i * sizeof(Elf64_Phdr));
      if (segment.p_type != PT_LOAD && segment.p_type != PT_DYNAMIC &&
          segment.p_type != PT_GNU_PROPERTY) {
        continue;
      }
      std::uint64_t end = 0;
      if (!holds(segment.p_offset, segment.p_filesz) || segment.p_filesz > segment.p_memsz ||
          __builtin_add_overflow(segment.p_vaddr, segment.p_memsz, &end)) {
        return malformed("segment ", i, " (", segment.p_filesz, " bytes at ", segment.p_offset,
                         ") lies outside its ", bytes_.size(), " bytes: it was cut off");
      }
      if (segment.p_type == PT_DYNAMIC) dynamic_ = segment;
      if (segment.p_type == PT_GNU_PROPERTY) read_property(segment);
      if (segment.p_type != PT_LOAD) continue;
      lowest = std::min(lowest, segment.p_vaddr);
      highest = std::max(highest, end);
      loads_.push_back(segment);
    }
    if (loads_.empty() || dynamic_.p_filesz == 0) {
      return malformed("it has no loadable or no dynamic segment");
    }
    extent_ = highest - lowest;
    return ok();
  }

  /// The note of type NT_GNU_PROPERTY_TYPE_0 (x86-64 psABI): pairs of type and size, padded to 8.
  void read_property(const Elf64_Phdr& segment) noexcept {
    constexpr std::uint64_t header_size = sizeof(Elf64_Nhdr) + 4;  // And the name "GNU".
    std::uint64_t offset = segment.p_offset + header_size;
    const std::uint64_t end = segment.p_offset + segment.p_filesz;
    while (offset <= end && end - offset >= 8) {
      const auto type = at<std::uint32_t>(offset);
      const auto size = at<std::uint32_t>(offset + 4);
      if (size > end - offset - 8) return;
      if (type == x86_isa_1_needed && size >= 4) isa_needed_ = at<std::uint32_t>(offset + 8);
      offset += 8 + (std::uint64_t{size} + 7) / 8 * 8;
    }
  }

  /// Place in the file of `size` bytes at an address of the loaded library.
  [[nodiscard]] Result<std::uint64_t> place(std::uint64_t address, std::uint64_t size,
                                            std::string_view what) const {
    for (const Elf64_Phdr& segment : loads_) {
      if (address < segment.p_vaddr) continue;
      const std::uint64_t offset = address - segment.p_vaddr;
      if (offset <= segment.p_filesz && size <= segment.p_filesz - offset) {
        return segment.p_offset + offset;
      }
    }
    return malformed(what, " (", size, " bytes at address ", address,
                     ") lies outside its segments");
  }

  Status read_dynamic() {
    std::uint64_t strings = 0;
    std::uint64_t strings_size = 0;
    std::uint64_t symbols = 0;
    std::uint64_t versions = 0;
    std::vector<std::uint64_t> needed;
    for (std::uint64_t i = 0; i + sizeof(Elf64_Dyn) <= dynamic_.p_filesz; i += sizeof(Elf64_Dyn)) {
      const auto entry = at<Elf64_Dyn>(dynamic_.p_offset + i);
      const std::uint64_t value = entry.d_un.d_val;
      if (entry.d_tag == DT_NULL) break;
      if (entry.d_tag == DT_STRTAB) strings = value;
      if (entry.d_tag == DT_STRSZ) strings_size = value;
      if (entry.d_tag == DT_SYMTAB) symbols = value;
      if (entry.d_tag == DT_VERSYM) versions = value;
      if (entry.d_tag == DT_HASH) hash_ = value;
      if (entry.d_tag == DT_GNU_HASH) gnu_hash_ = value;
      if (entry.d_tag == DT_NEEDED) {
        needed.push_back(value);
        needed_at_.push_back(dynamic_.p_offset + i);
      }
    }
    TENON_TRY(const std::uint64_t text, place(strings, strings_size, "its string table"));
    strings_ = {reinterpret_cast<const char*>(bytes_.data() + text), strings_size};
    if (strings_.empty() || strings_.back() != '\0') {
      return malformed("its string table does not end with a zero byte");
    }
    TENON_TRY(symbols_, place(symbols, sizeof(Elf64_Sym), "its symbol table"));
    if (versions != 0) {
      TENON_TRY(versions_, place(versions, 2, "its table of symbol versions"));
    }
    for (const std::uint64_t name : needed) {
      if (name >= strings_.size()) {
        return malformed("the name of a needed library lies outside the string table");
      }
      const std::string_view rest = strings_.substr(name);
      needed_.push_back(rest.substr(0, rest.find('\0')));
    }
    return ok();
  }

  /// The dynamic section does not say how many symbols there are; the hash tables do.
  Status count_symbols() {
    std::uint64_t count = 0;
    if (hash_ != 0) {
      TENON_TRY(const std::uint64_t table, place(hash_, 8, "its hash table"));
      count = at<std::uint32_t>(table + 4);
    } else {
      TENON_TRY(count, count_gnu_symbols());
    }
    if (count == 0 || count > bytes_.size() / sizeof(Elf64_Sym) ||
        !holds(symbols_, count * sizeof(Elf64_Sym)) ||
        (versions_ != 0 && !holds(versions_, count * 2))) {
      return malformed("its ", count, " symbols do not fit into its ", bytes_.size(), " bytes");
    }
    num_symbols_ = static_cast<std::uint32_t>(count);
    return ok();
  }

  /// One more than the last symbol in any chain (layout: binutils, `elf_create_symbuf` and glibc's
  /// elf/dl-addr.c walk it the same way).
  [[nodiscard]] Result<std::uint64_t> count_gnu_symbols() const {
    TENON_TRY(const std::uint64_t table, place(gnu_hash_, 16, "its GNU hash table"));
    const std::uint64_t num_buckets = at<std::uint32_t>(table);
    const std::uint64_t first = at<std::uint32_t>(table + 4);
    const std::uint64_t buckets = table + 16 + std::uint64_t{at<std::uint32_t>(table + 8)} * 8;
    if (!holds(buckets, num_buckets * 4)) {
      return malformed("the buckets of its GNU hash table lie outside its bytes");
    }
    std::uint64_t last = 0;
    for (std::uint64_t i = 0; i < num_buckets; ++i) {
      last = std::max<std::uint64_t>(last, at<std::uint32_t>(buckets + i * 4));
    }
    if (last < first) return first;
    const std::uint64_t chains = buckets + num_buckets * 4;
    for (std::uint64_t offset = chains + (last - first) * 4; holds(offset, 4); offset += 4) {
      ++last;
      if ((at<std::uint32_t>(offset) & 1) != 0) return last;
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
  std::vector<Elf64_Phdr> loads_;
  Elf64_Phdr dynamic_{};
  std::string_view strings_;
  std::vector<std::string_view> needed_;
  std::vector<std::uint64_t> needed_at_;  ///< Their entries' places in the file.
  std::uint64_t symbols_ = 0;
  std::uint64_t versions_ = 0;
  std::uint64_t hash_ = 0;
  std::uint64_t gnu_hash_ = 0;
  std::uint64_t extent_ = 0;
  std::uint32_t num_symbols_ = 0;
  std::uint32_t isa_needed_ = 0;
};

}  // namespace tenon::aoti
