// SPDX-License-Identifier: MIT
#include "driver/shared_memory.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "driver/kernel_images.hpp"
#include "tenon/core/elf/elf_image.hpp"

namespace tenon::cuda_aoti {

namespace {

/// The segments that are loaded from a library, with no more bytes in sum than it has: thousands of
/// them may be the whole of a hostile one.
std::vector<ElfClass::Segment> segments_of(Bytes library) {
  const FileBytes file(library);
  const ElfHeaders headers(file);
  std::uint64_t bytes_left = file.size();
  std::vector<ElfClass::Segment> out;
  for (std::uint64_t i = 0; i < headers.num_segments(); ++i) {
    const ElfClass::Segment segment = headers.segment(i);
    if (segment.type != ElfClass::pt_load || segment.file_size > bytes_left ||
        !file.holds(segment.offset, segment.file_size)) {
      continue;
    }
    bytes_left -= segment.file_size;
    out.push_back(segment);
  }
  return out;
}

/// The kernel of a file for a GPU and the memory that it declares: sections .nv.info.NAME and
/// .nv.shared.NAME. Empty for other files, for one of several kernels, and for one with more than
/// `sections_left`, which it lowers: thousands of hostile files may name the same sections.
std::optional<SharedMemoryNeed> read_file(Bytes file, std::uint64_t& sections_left) {
  constexpr std::string_view info = ".nv.info.";
  constexpr std::string_view shared = ".nv.shared.";
  constexpr std::uint64_t longest_name = 4096;
  if (elf64_machine(file) != machine_cuda) return std::nullopt;
  const ElfHeaders headers{FileBytes(file)};
  if (headers.num_sections() > sections_left) return std::nullopt;
  sections_left -= headers.num_sections();
  std::optional<SharedMemoryNeed> out;
  std::map<std::string_view, std::uint64_t> sizes;
  for (std::uint64_t i = 0; i < headers.num_sections(); ++i) {
    const ElfClass::Section section = headers.section(i);
    const std::string_view name = headers.section_name(section, longest_name);
    if (name.starts_with(shared)) sizes[name.substr(shared.size())] = section.size;
    if (!name.starts_with(info)) continue;
    if (out) return std::nullopt;
    out = SharedMemoryNeed{std::string(name.substr(info.size())), 0};
  }
  if (!out) return out;
  const auto found = sizes.find(out->kernel);
  if (found != sizes.end()) out->nbytes = found->second;
  return out;
}

/// Reads the need from the first file of a fat binary.
std::optional<SharedMemoryNeed> read_fat_binary(Bytes bytes, std::uint64_t& sections_left) {
  constexpr std::uint16_t kind_elf = 2;
  const auto head = read_le<std::uint16_t>(bytes, 6);
  const auto nbytes = read_le<std::uint64_t>(bytes, 8);
  if (!head || !nbytes || *head > bytes.size() || *nbytes > bytes.size() - *head) {
    return std::nullopt;
  }
  for (Bytes rest = bytes.subspan(*head, static_cast<std::size_t>(*nbytes)); !rest.empty();) {
    const auto kind = read_le<std::uint16_t>(rest, 0);
    const auto entry_head = read_le<std::uint32_t>(rest, 4);
    const auto size = read_le<std::uint64_t>(rest, 8);
    if (!size || *entry_head < 16 || *entry_head > rest.size() ||
        *size > rest.size() - *entry_head) {
      return std::nullopt;
    }
    const Bytes image = rest.subspan(*entry_head, static_cast<std::size_t>(*size));
    if (*kind == kind_elf && read_le<std::uint32_t>(image, 0) == elf_mark) {
      return read_file(image, sections_left);
    }
    rest = rest.subspan(*entry_head + static_cast<std::size_t>(*size));
  }
  return std::nullopt;
}

/// The number that is the third argument of the call which follows `at`, the place of an
/// instruction `lea rdi, [rip + x]`: of `mov edx, x`, if there is exactly one between the call
/// before and this one.
std::optional<std::uint32_t> third_argument(Bytes code, std::size_t at) {
  constexpr std::size_t reach = 48;
  constexpr std::size_t lea_size = 7;
  constexpr std::size_t call_size = 5;
  constexpr std::size_t move_size = 5;
  constexpr std::uint8_t call = 0xe8;
  constexpr std::uint8_t move_to_edx = 0xba;
  constexpr std::uint32_t largest = 1u << 20;
  const auto byte = [&](std::size_t place) { return std::to_integer<std::uint8_t>(code[place]); };
  std::size_t end = at + lea_size;
  while (end < code.size() && end < at + reach && byte(end) != call) ++end;
  if (end >= code.size() || byte(end) != call) return std::nullopt;
  std::size_t begin = at;
  while (begin > 0 && at - begin < reach && byte(begin - 1) != call) --begin;
  // The bytes after a call are its target.
  if (begin > 0 && byte(begin - 1) == call) begin = std::min(begin + call_size - 1, at);
  std::optional<std::uint32_t> out;
  for (std::size_t i = begin; i + move_size <= end; ++i) {
    const bool is_in_lea = i + move_size > at && i < at + lea_size;
    if (is_in_lea || byte(i) != move_to_edx) continue;
    const auto value = read_le<std::uint32_t>(code, i + 1);
    if (!value || *value == 0 || *value > largest) continue;
    if (out) return std::nullopt;
    out = value;
  }
  return out;
}

}  // namespace

std::vector<SharedMemoryNeed> shared_memory_needs(Bytes library) {
  constexpr std::size_t step = 4;
  const auto segments = segments_of(library);
  std::uint64_t sections_left = library.size() / ElfClass().section_size();
  std::map<std::uint64_t, SharedMemoryNeed> by_address;
  for (const ElfClass::Segment& segment : segments) {
    const std::uint64_t begin = (segment.offset + step - 1) / step * step;
    for (std::uint64_t at = begin; at + step <= segment.offset + segment.file_size; at += step) {
      const auto place = static_cast<std::size_t>(at);
      const auto mark = read_le<std::uint32_t>(library, place);
      if (mark != elf_mark && mark != fat_binary_mark) continue;
      const Bytes image = library.subspan(place);
      auto need = mark == elf_mark ? read_file(image, sections_left)
                                   : read_fat_binary(image, sections_left);
      if (!need) continue;
      by_address.emplace(at - segment.offset + segment.address, *std::move(need));
      // The files in a fat binary have no address of their own in the code.
      if (mark != fat_binary_mark) continue;
      const std::uint64_t size =
          *read_le<std::uint16_t>(image, 6) + *read_le<std::uint64_t>(image, 8);
      at += (size + step - 1) / step * step - step;
    }
  }
  constexpr std::uint32_t lea_rdi = 0x3d8d48;
  constexpr std::size_t lea_size = 7;
  for (const ElfClass::Segment& segment : segments) {
    if ((segment.flags & ElfClass::pf_execute) == 0 || by_address.empty()) continue;
    const Bytes code = library.subspan(static_cast<std::size_t>(segment.offset),
                                       static_cast<std::size_t>(segment.file_size));
    for (std::size_t i = 0; i + lea_size <= code.size(); ++i) {
      if ((*read_le<std::uint32_t>(code, i) & 0xffffffu) != lea_rdi) continue;
      const auto distance = static_cast<std::int32_t>(*read_le<std::uint32_t>(code, i + 3));
      const std::uint64_t target =
          segment.address + i + lea_size + static_cast<std::uint64_t>(std::int64_t{distance});
      const auto found = by_address.find(target);
      if (found == by_address.end()) continue;
      if (const auto dynamic = third_argument(code, i)) found->second.nbytes += *dynamic;
    }
  }
  std::vector<SharedMemoryNeed> out;
  for (auto& [address, need] : by_address) out.push_back(std::move(need));
  return out;
}

}  // namespace tenon::cuda_aoti
