// SPDX-License-Identifier: MIT
#pragma once

#include <elf.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "tenon/core/bytes.hpp"

namespace tenon::aoti {

namespace detail {

/// Bytes [begin, end) of a file.
struct FilePart {
  std::uint64_t begin;
  std::uint64_t end;
};

/// Sorted, without those that are empty, and without a byte twice: no more than the file has, also
/// when thousands of headers name the same bytes.
[[nodiscard]] inline std::vector<FilePart> merged(std::vector<FilePart> parts) {
  std::sort(parts.begin(), parts.end(),
            [](const FilePart& a, const FilePart& b) { return a.begin < b.begin; });
  std::vector<FilePart> out;
  for (const FilePart& part : parts) {
    if (part.begin >= part.end) continue;
    if (!out.empty() && part.begin <= out.back().end) {
      out.back().end = std::max(out.back().end, part.end);
    } else {
      out.push_back(part);
    }
  }
  return out;
}

/// `parts` without `holes`; both as `merged` returns them.
[[nodiscard]] inline std::vector<FilePart> without(const std::vector<FilePart>& parts,
                                                   const std::vector<FilePart>& holes) {
  std::vector<FilePart> out;
  auto hole = holes.begin();
  for (FilePart part : parts) {
    while (hole != holes.end() && hole->end <= part.begin) ++hole;
    for (auto next = hole; next != holes.end() && next->begin < part.end; ++next) {
      if (part.begin < next->begin) out.push_back({part.begin, next->begin});
      part.begin = std::min(next->end, part.end);
    }
    if (part.begin < part.end) out.push_back(part);
  }
  return out;
}

/// The table of `count` structs of type `T` at `offset`; empty when it is not inside of the file.
template <class T>
[[nodiscard]] std::vector<T> table_at(Bytes file, std::uint64_t offset, std::uint64_t count) {
  std::vector<T> out;
  if (offset > file.size() || count > (file.size() - offset) / sizeof(T)) return out;
  out.resize(count);
  if (count != 0) std::memcpy(out.data(), file.data() + offset, count * sizeof(T));
  return out;
}

}  // namespace detail

/// The number EM_... of the machine that an ELF file of 64 bits is for; EM_NONE for anything else.
[[nodiscard]] inline std::uint16_t machine_of(Bytes file) noexcept {
  Elf64_Ehdr header;
  if (file.size() < sizeof header) return EM_NONE;
  std::memcpy(&header, file.data(), sizeof header);
  const bool is_known = std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 &&
                        header.e_ident[EI_CLASS] == ELFCLASS64 &&
                        header.e_ident[EI_DATA] == ELFDATA2LSB;
  return is_known ? header.e_machine : static_cast<std::uint16_t>(EM_NONE);
}

/// The parts of an ELF file of 64 bits that the dynamic loader makes executable, without those that
/// its section headers call data: some linkers put constants into the segment of the code. Sorted,
/// and no byte is in two of them, so that reading them all costs no more than reading the file.
///
/// Parts outside of the file are left out; without a section table that is inside of it, whole
/// segments are code. The loader does not look at sections, so a table may be wrong. That is of no
/// use to a hostile program: its code runs.
[[nodiscard]] inline std::vector<Bytes> code_places(Bytes file) {
  std::vector<Bytes> out;
  if (machine_of(file) == EM_NONE) return out;
  Elf64_Ehdr header;
  std::memcpy(&header, file.data(), sizeof header);
  const auto part = [&](std::uint64_t offset, std::uint64_t size) -> detail::FilePart {
    const std::uint64_t begin = std::min<std::uint64_t>(offset, file.size());
    return {begin, begin + std::min<std::uint64_t>(size, file.size() - begin)};
  };
  std::vector<detail::FilePart> code, data;
  for (const auto& segment : detail::table_at<Elf64_Phdr>(file, header.e_phoff, header.e_phnum)) {
    if (segment.p_type == PT_LOAD && (segment.p_flags & PF_X) != 0) {
      code.push_back(part(segment.p_offset, segment.p_filesz));
    }
  }
  for (const auto& section : detail::table_at<Elf64_Shdr>(file, header.e_shoff, header.e_shnum)) {
    const std::uint64_t kind = section.sh_flags & (SHF_ALLOC | SHF_EXECINSTR);
    if (kind == SHF_ALLOC && section.sh_type != SHT_NOBITS) {
      data.push_back(part(section.sh_offset, section.sh_size));
    }
  }
  for (const auto& [begin, end] :
       detail::without(detail::merged(std::move(code)), detail::merged(std::move(data)))) {
    out.push_back(file.subspan(begin, end - begin));
  }
  return out;
}

}  // namespace tenon::aoti
