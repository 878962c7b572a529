// SPDX-License-Identifier: MIT
#pragma once

#include "tenon/host/binary/elf_functions.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/core/file_bytes.hpp"
#include "tenon/host/impl/binary/elf.hpp"

namespace tenon::inline TENON_RELEASE::host {

namespace detail::elf {

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
  for (std::uint64_t i = 0; i < image.num_segments(); ++i) {
    const ElfClass::Segment segment = image.segment(i);
    if (segment.type != ElfImage::load || offset < segment.offset) continue;
    if (offset - segment.offset < segment.file_size) {
      return segment.address + (offset - segment.offset);
    }
  }
  return std::nullopt;
}

/// Offers each function of one symbol table to each address: one pass over the table.
inline void match_functions(const ElfClass& elf_class, FileBytes symbols, FileBytes strings,
                            std::span<FunctionCandidate> candidates) {
  constexpr std::uint64_t most = 4'000'000;
  constexpr unsigned function = 2, ifunc = 10;  // STT_FUNC, STT_GNU_IFUNC
  const std::uint64_t count = std::min(symbols.size() / elf_class.symbol_size(), most);
  for (std::uint64_t i = 1; i < count; ++i) {
    const ElfClass::Symbol symbol = elf_class.symbol(symbols, i);
    const unsigned kind = symbol.info & 15U;
    if ((kind != function && kind != ifunc) || symbol.section == 0) continue;
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
  constexpr std::uint32_t symbol_table = 2, dynamic_symbols = 11;  // SHT_SYMTAB, SHT_DYNSYM
  const FileBytes file = image.file();
  const ElfClass elf_class = image.elf_class();
  const FileBytes headers = elf_class.section_table(file);
  const std::uint64_t count = headers.size() / elf_class.section_size();
  for (const std::uint32_t wanted : {symbol_table, dynamic_symbols}) {
    for (std::uint64_t i = 0; i < count; ++i) {
      const ElfClass::Section symbols = elf_class.section(headers, i);
      if (symbols.type != wanted) continue;
      const ElfClass::Section text = elf_class.section(headers, symbols.link);
      match_functions(elf_class, file.part(symbols.offset, symbols.size),
                      file.part(text.offset, text.size), candidates);
      break;  // There is one of each; a hostile file may have thousands.
    }
  }
}

}  // namespace detail::elf

Result<std::vector<std::optional<std::uint64_t>>> addresses_at(
    std::span<const std::byte> file, std::span<const std::uint64_t> offsets,
    std::uint32_t machine) {
  TENON_TRY(const auto image, detail::elf::ElfImage::open(FileBytes(file), machine));
  std::vector<std::optional<std::uint64_t>> out;
  for (const std::uint64_t offset : offsets) {
    out.push_back(detail::elf::address_of_offset(image, offset));
  }
  return out;
}

Result<std::vector<std::optional<FunctionPlace>>> functions_at(
    std::span<const std::byte> file, std::span<const std::uint64_t> offsets,
    std::uint32_t machine) {
  const FileBytes bytes(file);
  TENON_TRY(const auto image, detail::elf::ElfImage::open(bytes, machine));
  std::vector<detail::elf::FunctionCandidate> candidates;
  std::vector<std::optional<std::uint64_t>> addresses;
  for (const std::uint64_t offset : offsets) {
    addresses.push_back(detail::elf::address_of_offset(image, offset));
    // No symbol has an address at the very end.
    candidates.push_back({.address = addresses.back().value_or(UINT64_MAX)});
  }
  detail::elf::match_functions_of_sections(image, candidates);
  std::vector<std::optional<FunctionPlace>> out;
  for (const detail::elf::FunctionCandidate& one : candidates) {
    std::optional<FunctionPlace>& place = out.emplace_back();
    if (!one.found) continue;
    const auto name = one.strings.part(one.name, max_function_name).text();
    const std::string_view until_end = name.substr(0, name.find('\0'));
    if (!until_end.empty()) place = {std::string(until_end), one.address - one.start};
  }
  return out;
}

}  // namespace tenon::inline TENON_RELEASE::host
