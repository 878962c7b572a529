// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/core/file_bytes.hpp"
#include "tenon/core/result.hpp"
#include "tenon/host/binary/elf_library.hpp"
#include "tenon/host/impl/binary/elf.hpp"

namespace tenon::inline TENON_RELEASE::host::detail::elf {

/// A string table, from which texts are copied. Texts may share their ends, as "memory" does with
/// "shared_memory", so they can be longer in sum than the table; in a hostile file each of a
/// million can be all of it. Hence the bound.
class StringTable {
 public:
  explicit StringTable(FileBytes strings) noexcept
      : strings_(strings), left_(max_overlap * strings.size()) {}

  /// The text at `offset`; empty when it does not end in the table, and beyond the bound.
  [[nodiscard]] std::string at(std::uint64_t offset) {
    if (exhausted_) return {};
    const auto text = strings_.c_string(offset, strings_.size());
    // To find no end, all that follows was read.
    const std::uint64_t cost = text ? text->size() : strings_.part(offset).size();
    exhausted_ = cost > left_;
    if (exhausted_) return {};
    left_ -= cost;
    return std::string(text.value_or(std::string_view()));
  }

  [[nodiscard]] bool exhausted() const noexcept { return exhausted_; }

  /// Fails when a text was beyond the bound.
  [[nodiscard]] Status check() const {
    if (!exhausted_) return ok();
    return malformed("its names are longer in sum than ", max_overlap,
                     " times its string table of ", strings_.size(), " bytes");
  }

 private:
  static constexpr std::uint64_t max_overlap = 16;

  FileBytes strings_;
  std::uint64_t left_;
  bool exhausted_ = false;
};

/// Reads them, for a shared library for `machine`. Bounds and trust are those of `find_object`: any
/// bytes may be given. A text that is not in the file reads as empty.
inline Result<Dependencies> read_dependencies(FileBytes file, std::uint32_t machine) {
  TENON_TRY(const ElfImage image, ElfImage::open(file, machine));
  TENON_TRY(const SymbolTables tables, read_dynamic_section(image));
  enum : std::uint64_t {
    dt_null = 0,
    dt_needed = 1,
    dt_soname = 14,
    dt_rpath = 15,
    dt_runpath = 29,
    dt_auxiliary = 0x7ffffffd,
    dt_filter = 0x7fffffff
  };
  StringTable texts(tables.strings);
  Dependencies out;
  for (std::uint64_t i = 0; i < image.num_dynamic_entries(); ++i) {
    const auto [tag, value] = image.dynamic_entry(i);
    if (tag == dt_null) break;
    if (tag == dt_needed || tag == dt_auxiliary || tag == dt_filter) {
      out.needed.push_back(texts.at(value));
    }
    if (tag == dt_soname) out.soname = texts.at(value);
    if (tag == dt_rpath) out.rpath = texts.at(value);
    if (tag == dt_runpath) out.run_path = texts.at(value);
  }
  TENON_RETURN_IF_ERROR(texts.check());
  return out;
}

}  // namespace tenon::inline TENON_RELEASE::host::detail::elf
