// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/core/result.hpp"
#include "tenon/host/elf.hpp"
#include "tenon/host/file_bytes.hpp"

namespace tenon::host::detail::elf {

/// What a library says of the libraries it needs.
struct Dependencies {
  std::vector<std::string> needed;      ///< DT_NEEDED, in order.
  std::string soname;                   ///< DT_SONAME; empty when there is none.
  std::optional<std::string> rpath;     ///< DT_RPATH; of no effect when there is a DT_RUNPATH.
  std::optional<std::string> run_path;  ///< DT_RUNPATH.
};

/// Reads them, for a shared library for `machine`. Bounds and trust are those of `find_object`: any
/// bytes may be given. A text that is not in the file reads as empty.
inline Result<Dependencies> read_dependencies(FileBytes file, std::uint32_t machine) {
  TENON_TRY(const Image image, Image::open(file, machine));
  TENON_TRY(const SymbolTables tables, read_dynamic_section(image));
  enum : std::uint64_t {
    dt_null = 0,
    dt_needed = 1,
    dt_soname = 14,
    dt_rpath = 15,
    dt_runpath = 29
  };
  const auto text = [&](std::uint64_t offset) {
    return std::string(tables.strings.c_string(offset, tables.strings.size()).value_or(""));
  };
  Dependencies out;
  const FileBytes entries = image.dynamic_section();
  for (std::uint64_t at = 0; at + 16 <= entries.size(); at += 16) {
    const std::uint64_t tag = entries.u64(at);
    const std::uint64_t value = entries.u64(at + 8);
    if (tag == dt_null) break;
    if (tag == dt_needed) out.needed.push_back(text(value));
    if (tag == dt_soname) out.soname = text(value);
    if (tag == dt_rpath) out.rpath = text(value);
    if (tag == dt_runpath) out.run_path = text(value);
  }
  return out;
}

}  // namespace tenon::host::detail::elf
