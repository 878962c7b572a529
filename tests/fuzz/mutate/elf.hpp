// SPDX-License-Identifier: MIT
//
// Mutations of the fields of an ELF file: in its header, in the tables that it names, and in its
// dynamic section.
#pragma once

#include <elf.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "fuzz/mutate/random.hpp"
#include "fuzz/mutate/words.hpp"

namespace tenon::fuzz {

class ElfFields {
 public:
  explicit ElfFields(std::span<const std::uint8_t> bytes) : bytes_(bytes) {
    Elf64_Ehdr header{};
    if (bytes.size() < sizeof header) return;
    std::memcpy(&header, bytes.data(), sizeof header);
    // Type, machine, version; entry, offsets of the tables; flags; sizes and counts.
    add(16, {2, 2, 4, 8, 8, 8, 4, 2, 2, 2, 2, 2, 2});
    for (std::size_t i = 0; i < std::min<std::size_t>(header.e_phnum, most); ++i) {
      program_header(header.e_phoff + i * sizeof(Elf64_Phdr));
    }
    for (std::size_t i = 0; i < std::min<std::size_t>(header.e_shnum, most); ++i) {
      add(header.e_shoff + i * sizeof(Elf64_Shdr), {4, 4, 8, 8, 8, 8, 4, 4, 8, 8});
    }
  }

  [[nodiscard]] std::span<const Field> all() const noexcept { return fields_; }

 private:
  static constexpr std::size_t most = 64;

  void add(std::uint64_t offset, std::initializer_list<std::size_t> widths) {
    for (const std::size_t width : widths) {
      if (offset > bytes_.size() || width > bytes_.size() - offset) return;
      fields_.push_back({static_cast<std::size_t>(offset), width});
      offset += width;
    }
  }

  void program_header(std::uint64_t offset) {
    Elf64_Phdr header{};
    if (offset > bytes_.size() || sizeof header > bytes_.size() - offset) return;
    std::memcpy(&header, bytes_.data() + offset, sizeof header);
    add(offset, {4, 4, 8, 8, 8, 8, 8, 8});
    if (header.p_type == PT_NOTE || header.p_type == PT_GNU_PROPERTY) {
      add(header.p_offset, {4, 4, 4, 4, 4, 4, 4, 4});
    }
    if (header.p_type != PT_DYNAMIC) return;
    for (std::size_t i = 0; i < most; ++i) {
      Elf64_Dyn entry{};
      const std::uint64_t at = header.p_offset + i * sizeof entry;
      if (at > bytes_.size() || sizeof entry > bytes_.size() - at) return;
      std::memcpy(&entry, bytes_.data() + at, sizeof entry);
      add(at, {8, 8});
      if (entry.d_tag == DT_NULL) return;
      table(entry);
    }
  }

  /// The first fields of a table that the dynamic section names. Addresses of small libraries are
  /// offsets, or those and a base that is a multiple of 64 KiB.
  void table(const Elf64_Dyn& entry) {
    const std::uint64_t at = entry.d_un.d_ptr % 0x10000;
    switch (entry.d_tag) {
      case DT_SYMTAB:
        for (std::uint64_t i = 0; i < 8; ++i) add(at + i * 24, {4, 1, 1, 2, 8, 8});
        return;
      case DT_GNU_HASH:
      case DT_HASH:
      case DT_VERNEED:
      case DT_VERSYM:
      case DT_RELA:
        return add(at, {4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4});
      default:
        return;
    }
  }

  std::span<const std::uint8_t> bytes_;
  std::vector<Field> fields_;
};

[[nodiscard]] inline std::size_t mutate_elf(std::span<std::uint8_t> input, std::size_t size,
                                            Random& random) {
  if (random.one_in(3)) return mutate_words(input, size, random);
  const ElfFields fields(input.first(size));
  if (fields.all().empty()) return mutate_bytes(input, size);
  for (std::size_t i = 0, count = 1 + random.below(3); i < count; ++i) {
    mutate_field(input.first(size), random.pick(fields.all()), fields.all(), random);
  }
  return size;
}

}  // namespace tenon::fuzz
