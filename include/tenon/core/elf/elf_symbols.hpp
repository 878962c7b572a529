// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "tenon/core/elf/elf_class.hpp"
#include "tenon/core/elf/elf_image.hpp"
#include "tenon/core/file_bytes.hpp"
#include "tenon/core/result.hpp"

namespace tenon { inline namespace TENON_RELEASE {

/// A string table. Texts may share their ends, as "memory" does with "shared_memory", so they can
/// be longer in sum than the table; in a hostile file each of a million can be all of it. Hence the
/// bound.
class ElfStrings {
 public:
  explicit ElfStrings(FileBytes strings) noexcept
      : strings_(strings), left_(max_overlap * strings.size()) {}

  /// The text at `offset`, which refers to the file; empty when it does not end in the table, and
  /// beyond the bound.
  [[nodiscard]] std::string_view at(std::uint64_t offset) noexcept {
    if (exhausted_) return {};
    const auto text = strings_.c_string(offset, strings_.size());
    // To find no end, all that follows was read.
    const std::uint64_t cost = text ? text->size() : strings_.part(offset).size();
    exhausted_ = cost > left_;
    if (exhausted_) return {};
    left_ -= cost;
    return text.value_or(std::string_view());
  }

  [[nodiscard]] bool exhausted() const noexcept { return exhausted_; }

  /// Fails when a text was beyond the bound.
  [[nodiscard]] Status check() const {
    if (!exhausted_) return ok();
    return malformed_elf("its names are longer in sum than ", max_overlap,
                         " times its string table of ", strings_.size(), " bytes");
  }

 private:
  static constexpr std::uint64_t max_overlap = 16;

  FileBytes strings_;
  std::uint64_t left_;
  bool exhausted_ = false;
};

/// The dynamic symbols of a library, with their names and hash tables. The GNU hash table is
/// described in binutils and read by glibc and musl.
class ElfSymbols {
 public:
  /// Refers to the file of `image`, and not to `image`.
  ///
  /// errors: InvalidArgument when the dynamic section does not name the tables, or names others
  /// than are in the file.
  [[nodiscard]] static Result<ElfSymbols> open(const ElfImage& image) {
    ElfSymbols out;
    out.class_ = image.elf_class();
    const auto size = image.value_of(ElfClass::dt_syment).value_or(out.class_.symbol_size());
    if (size != out.class_.symbol_size()) {
      return malformed_elf("its symbols have ", size, " bytes, expected ",
                           out.class_.symbol_size());
    }
    const auto symbols = image.value_of(ElfClass::dt_symtab);
    const auto strings = image.value_of(ElfClass::dt_strtab);
    const auto gnu_hash = image.value_of(ElfClass::dt_gnu_hash);
    const auto sysv_hash = image.value_of(ElfClass::dt_hash);
    if (!symbols || !strings || !(gnu_hash || sysv_hash)) {
      return malformed_elf(
          "its dynamic section lacks the ",
          !symbols ? "symbol table" : (!strings ? "string table" : "symbol hash table"));
    }
    if (gnu_hash) out.gnu_hash_ = image.at_address(*gnu_hash);
    if (sysv_hash) out.sysv_hash_ = image.at_address(*sysv_hash);
    out.symbols_ = image.at_address(*symbols);
    out.strings_ = image.at_address(*strings);
    if (out.symbols_.empty()) return malformed_elf("its symbol table is not in the file");
    const std::uint64_t strings_size = image.value_of(ElfClass::dt_strsz).value_or(0);
    if (!out.strings_.holds(0, strings_size) || strings_size == 0) {
      return malformed_elf("its string table of ", strings_size, " bytes is not in the file");
    }
    out.strings_ = out.strings_.part(0, strings_size);
    return out;
  }

  [[nodiscard]] FileBytes strings() const noexcept { return strings_; }

  /// The table of symbols, and what follows it in its segment.
  [[nodiscard]] FileBytes table() const noexcept { return symbols_; }

  [[nodiscard]] ElfClass::Symbol symbol(std::uint64_t index) const noexcept {
    return class_.symbol(symbols_, index);
  }

  struct Count {
    std::uint64_t
        count;      ///< With the empty first one. `num_symbols` says how many are in the file.
    bool is_whole;  ///< The tables do not contradict each other.
  };

  /// The number of symbols, which only the hash tables say. The larger one of two: the dynamic
  /// loader finds symbols by the GNU hash table where there is one, so the other table cannot hide
  /// any; and a GNU hash table without symbols does not say how many are undefined.
  [[nodiscard]] Count num_symbols() const noexcept {
    const Count by_sysv = count_by_sysv_hash(), by_gnu = count_by_gnu_hash();
    const std::uint64_t said = std::max(by_sysv.count, by_gnu.count);
    return {std::min(said, most_symbols()),
            by_sysv.is_whole && by_gnu.is_whole && said <= most_symbols()};
  }

  /// Index of the symbol `name`, as `dlsym` finds it; 0 when there is none.
  ///
  /// errors: InvalidArgument for a hash table that leaves the file or whose chains do not end.
  [[nodiscard]] Result<std::uint32_t> find(std::string_view name) const {
    return gnu_hash_ ? find_by_gnu_hash(name) : find_by_sysv_hash(name);
  }

  /// Bounds the work on a hostile file; large libraries have some hundred thousand symbols.
  static constexpr std::uint64_t max_symbols = 4'000'000;

 private:
  /// A library with a million exported symbols has chains of a few dozen entries.
  static constexpr std::uint32_t max_chain_length = 65536;

  struct GnuHash {
    GnuHash(FileBytes bytes, const ElfClass& elf_class) noexcept
        : table(bytes),
          num_buckets(bytes.u32(0)),
          first(bytes.u32(4)),
          buckets(16 + bytes.u32(8) * elf_class.word_size()) {}

    [[nodiscard]] bool has_buckets() const noexcept {
      return num_buckets != 0 && table.holds(buckets, std::uint64_t{num_buckets} * 4);
    }
    [[nodiscard]] std::uint64_t bucket(std::uint64_t index) const noexcept {
      return buckets + index * 4;
    }
    /// The link of a symbol in its chain; the symbol is not below the first.
    [[nodiscard]] std::uint64_t link(std::uint64_t symbol) const noexcept {
      return bucket(num_buckets) + (symbol - first) * 4;
    }

    FileBytes table;
    std::uint32_t num_buckets, first;
    std::uint64_t buckets;
  };

  [[nodiscard]] std::uint64_t most_symbols() const noexcept {
    return std::min(symbols_.size() / class_.symbol_size(), max_symbols);
  }

  [[nodiscard]] Count count_by_sysv_hash() const noexcept {
    if (!sysv_hash_) return {0, true};
    return {sysv_hash_->u32(4), sysv_hash_->holds(0, 8)};
  }

  [[nodiscard]] Count count_by_gnu_hash() const noexcept {
    if (!gnu_hash_) return {0, true};
    const GnuHash hash(*gnu_hash_, class_);
    std::uint64_t last = 0;
    for (std::uint64_t i = 0; i < hash.num_buckets && hash.table.holds(hash.bucket(i), 4); ++i) {
      last = std::max<std::uint64_t>(last, hash.table.u32(hash.bucket(i)));
    }
    if (last < hash.first) return {hash.first, hash.has_buckets()};
    // The longest chain ends where its lowest bit is set.
    for (; last < most_symbols() && hash.table.holds(hash.link(last), 4); ++last) {
      if ((hash.table.u32(hash.link(last)) & 1) != 0) return {last + 1, hash.has_buckets()};
    }
    return {last + 1, false};
  }

  [[nodiscard]] bool is_named(std::uint32_t index, std::string_view name) const noexcept {
    return strings_.c_string(symbol(index).name, name.size() + 1) == name;
  }

  [[nodiscard]] bool holds(std::uint32_t index) const noexcept {
    return symbols_.holds(index * class_.symbol_size(), class_.symbol_size());
  }

  /// The table's Bloom filter is passed over: it saves no work when one name is looked up.
  [[nodiscard]] Result<std::uint32_t> find_by_gnu_hash(std::string_view name) const {
    std::uint32_t hash = 5381;
    for (const char c : name) hash = hash * 33 + static_cast<unsigned char>(c);

    const GnuHash table(*gnu_hash_, class_);
    if (!table.has_buckets()) {
      return malformed_elf("its GNU hash table of ", table.num_buckets,
                           " buckets is not in the file");
    }
    std::uint32_t index = table.table.u32(table.bucket(hash % table.num_buckets));
    if (index == 0) return index;
    if (index < table.first) {
      return malformed_elf("its GNU hash table names symbol ", index, ", expected at least ",
                           table.first);
    }
    for (std::uint32_t step = 0; step < max_chain_length; ++step, ++index) {
      const std::uint64_t link = table.link(index);
      if (!table.table.holds(link, 4) || !holds(index)) {
        return malformed_elf("a chain of its GNU hash table leaves the file at symbol ", index);
      }
      const std::uint32_t entry = table.table.u32(link);
      if ((entry | 1) == (hash | 1) && is_named(index, name)) return index;
      if ((entry & 1) != 0) return std::uint32_t{0};
    }
    return malformed_elf("a chain of its GNU hash table is longer than ", max_chain_length);
  }

  /// By the System V hash table, whose chains can be made circular.
  [[nodiscard]] Result<std::uint32_t> find_by_sysv_hash(std::string_view name) const {
    std::uint32_t hash = 0;
    for (const char c : name) {
      hash = (hash << 4) + static_cast<unsigned char>(c);
      const std::uint32_t top = hash & 0xf0000000;
      hash = (hash ^ (top >> 24)) & ~top;
    }

    const FileBytes table = *sysv_hash_;
    const std::uint32_t num_buckets = table.u32(0);
    const std::uint32_t num_chains = table.u32(4);
    const std::uint64_t chains = 8 + std::uint64_t{num_buckets} * 4;
    if (num_buckets == 0 || !table.holds(chains, std::uint64_t{num_chains} * 4)) {
      return malformed_elf("its hash table of ", num_buckets, " buckets and ", num_chains,
                           " symbols is not in the file");
    }
    std::uint32_t index = table.u32(8 + std::uint64_t{hash % num_buckets} * 4);
    for (std::uint32_t step = 0; index != 0; ++step) {
      if (index >= num_chains || !holds(index)) {
        return malformed_elf("a chain of its hash table leaves the file at symbol ", index);
      }
      if (step >= std::min(num_chains, max_chain_length)) {
        return malformed_elf("a chain of its hash table does not end after ", step, " symbols");
      }
      if (is_named(index, name)) return index;
      index = table.u32(chains + std::uint64_t{index} * 4);
    }
    return index;
  }

  ElfClass class_;
  std::optional<FileBytes> gnu_hash_, sysv_hash_;  ///< At least one is there.
  FileBytes symbols_;
  FileBytes strings_;
};

/// A version that a library needs of another one.
struct ElfNeededVersion {
  std::uint64_t record_at, at;  ///< Offsets in the table: of the library's record, and its own.
  std::uint32_t file, name;     ///< Offsets in the string table.
  std::uint16_t form;           ///< Of the record; 1.
  std::uint16_t flags;          ///< VER_FLG_....
  std::uint16_t index;          ///< The version (DT_VERSYM) of the symbols that have it.
};

struct ElfNeededVersions {
  std::vector<ElfNeededVersion> all;
  /// Offset of a record that is outside of the table, or one more than fit into it: chains that
  /// share records are read once for each.
  std::optional<std::uint64_t> outside;
};

/// Reads the table of DT_VERNEED: Elf64_Verneed, each with a chain of Elf64_Vernaux, both of 16
/// bytes and equal in both widths. As the dynamic loader it follows the links, which are not
/// negative, and not the numbers.
[[nodiscard]] inline ElfNeededVersions read_needed_versions(FileBytes table) {
  ElfNeededVersions out;
  std::uint64_t left = table.size() / 16;
  const auto may_read = [&](std::uint64_t at) {
    const bool is_inside = left != 0 && table.holds(at, 16);
    if (is_inside) --left;
    if (!is_inside) out.outside = at;
    return is_inside;
  };
  std::uint64_t next_record = 1;
  for (std::uint64_t record = 0; next_record != 0; record += next_record) {
    if (!may_read(record)) return out;
    next_record = table.u32(record + 12);
    std::uint64_t next = 1;
    for (std::uint64_t at = record + table.u32(record + 8); next != 0; at += next) {
      if (!may_read(at)) return out;
      next = table.u32(at + 12);
      out.all.push_back({record, at, table.u32(record + 4), table.u32(at + 8), table.u16(record),
                         table.u16(at + 4),
                         static_cast<std::uint16_t>(table.u16(at + 6) & 0x7fff)});
    }
  }
  return out;
}

}}  // namespace tenon::TENON_RELEASE
