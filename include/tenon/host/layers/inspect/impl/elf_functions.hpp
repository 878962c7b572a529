// SPDX-License-Identifier: MIT
#pragma once

#include "tenon/host/layers/inspect/elf_functions.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/core/elf/elf_class.hpp"
#include "tenon/core/elf/elf_image.hpp"
#include "tenon/core/elf/elf_symbols.hpp"
#include "tenon/core/file_bytes.hpp"
#include "tenon/core/object/elf.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

namespace detail {

/// The best function found so far for one address.
struct FunctionCandidate {
  std::uint64_t address = 0;
  std::uint64_t start = 0;
  FileBytes strings{};
  std::uint32_t name = 0;
  bool found = false;
};

/// The address at which the loaded segments have the byte at `offset` of the file.
inline std::optional<std::uint64_t> address_of_offset(const ElfImage& image, std::uint64_t offset) {
  for (const ElfClass::Segment& segment : image.segments()) {
    if (segment.type != ElfClass::pt_load || offset < segment.offset) continue;
    if (offset - segment.offset < segment.file_size) {
      return segment.address + (offset - segment.offset);
    }
  }
  return std::nullopt;
}

/// Offers each function of one symbol table to each address: one pass over the table.
inline void match_functions(const ElfClass& elf_class, FileBytes symbols, FileBytes strings,
                            std::span<FunctionCandidate> candidates) {
  const std::uint64_t count =
      std::min(symbols.size() / elf_class.symbol_size(), ElfSymbols::max_symbols);
  for (std::uint64_t i = 1; i < count; ++i) {
    const ElfClass::Symbol symbol = elf_class.symbol(symbols, i);
    const bool is_function =
        symbol.type() == ElfClass::stt_func || symbol.type() == ElfClass::stt_gnu_ifunc;
    if (!is_function || symbol.section == 0) continue;
    const std::uint64_t start = symbol.address;
    for (FunctionCandidate& one : candidates) {
      if (one.address < start || one.address - start >= symbol.size) continue;
      if (one.found && one.start >= start) continue;
      one.found = true;
      one.start = start;
      one.strings = strings;
      one.name = symbol.name;
    }
  }
}

/// The symbol tables that the section headers name, the complete one first. A file may have
/// neither: section headers are not needed to load it.
inline void match_functions_of_sections(const ElfImage& image,
                                        std::span<FunctionCandidate> candidates) {
  const ElfHeaders& headers = image.headers();
  for (const std::uint32_t wanted : {ElfClass::sht_symtab, ElfClass::sht_dynsym}) {
    for (std::uint64_t i = 0; i < headers.num_sections(); ++i) {
      const ElfClass::Section symbols = headers.section(i);
      if (symbols.type != wanted) continue;
      match_functions(headers.elf_class(), headers.bytes_of(symbols),
                      headers.bytes_of(headers.section(symbols.link)), candidates);
      break;  // There is one of each; a hostile file may have thousands.
    }
  }
}

}  // namespace detail

Result<std::vector<std::optional<std::uint64_t>>> addresses_at(
    std::span<const std::byte> file, std::span<const std::uint64_t> offsets,
    std::uint32_t machine) {
  TENON_TRY(const auto image, tenon::detail::elf::open_image(FileBytes(file), machine));
  std::vector<std::optional<std::uint64_t>> out;
  for (const std::uint64_t offset : offsets) {
    out.push_back(detail::address_of_offset(image, offset));
  }
  return out;
}

Result<std::vector<std::optional<FunctionPlace>>> functions_at(
    std::span<const std::byte> file, std::span<const std::uint64_t> offsets,
    std::uint32_t machine) {
  TENON_TRY(const auto image, tenon::detail::elf::open_image(FileBytes(file), machine));
  std::vector<detail::FunctionCandidate> candidates;
  std::vector<std::optional<std::uint64_t>> addresses;
  for (const std::uint64_t offset : offsets) {
    addresses.push_back(detail::address_of_offset(image, offset));
    // No symbol has an address at the very end.
    candidates.push_back({.address = addresses.back().value_or(UINT64_MAX)});
  }
  detail::match_functions_of_sections(image, candidates);
  std::vector<std::optional<FunctionPlace>> out;
  for (const detail::FunctionCandidate& one : candidates) {
    std::optional<FunctionPlace>& place = out.emplace_back();
    if (!one.found) continue;
    const auto name = one.strings.part(one.name, max_function_name).text();
    const std::string_view until_end = name.substr(0, name.find('\0'));
    if (!until_end.empty()) place = {std::string(until_end), one.address - one.start};
  }
  return out;
}

}}}  // namespace tenon::TENON_RELEASE::host
