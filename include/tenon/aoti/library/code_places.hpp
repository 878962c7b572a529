// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "tenon/core/bytes.hpp"
#include "tenon/core/elf/elf_class.hpp"
#include "tenon/core/elf/elf_image.hpp"
#include "tenon/core/file_bytes.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace aoti {

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

}  // namespace detail

/// The parts of an ELF file of 64 bits that the dynamic loader makes executable, without those that
/// its section headers call data: some linkers put constants into the segment of the code. Sorted,
/// and no byte is in two of them, so that reading them all costs no more than reading the file.
///
/// Parts outside of the file are left out; without a section table that is inside of it, whole
/// segments are code. The loader does not look at sections, so a table may be wrong. A wrong table
/// is of no use to a hostile program: its code runs.
[[nodiscard]] inline std::vector<Bytes> code_places(Bytes file) {
  std::vector<Bytes> out;
  if (!elf64_machine(file)) return out;
  const ElfHeaders headers{FileBytes(file)};
  const auto part = [&](std::uint64_t offset, std::uint64_t size) -> detail::FilePart {
    const std::uint64_t begin = std::min<std::uint64_t>(offset, file.size());
    return {begin, begin + std::min<std::uint64_t>(size, file.size() - begin)};
  };
  std::vector<detail::FilePart> code, data;
  for (std::uint64_t i = 0; i < headers.num_segments(); ++i) {
    const ElfClass::Segment segment = headers.segment(i);
    if (segment.type == ElfClass::pt_load && (segment.flags & ElfClass::pf_execute) != 0) {
      code.push_back(part(segment.offset, segment.file_size));
    }
  }
  for (std::uint64_t i = 0; i < headers.num_sections(); ++i) {
    const ElfClass::Section section = headers.section(i);
    const bool is_data =
        (section.flags & ElfClass::shf_alloc) != 0 && (section.flags & ElfClass::shf_execute) == 0;
    if (is_data && section.type != ElfClass::sht_nobits) {
      data.push_back(part(section.offset, section.size));
    }
  }
  for (const auto& [begin, end] :
       detail::without(detail::merged(std::move(code)), detail::merged(std::move(data)))) {
    out.push_back(file.subspan(begin, end - begin));
  }
  return out;
}

}}}  // namespace tenon::TENON_RELEASE::aoti
