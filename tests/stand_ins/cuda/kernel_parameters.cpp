// SPDX-License-Identifier: MIT
#include "kernel_parameters.hpp"

#include <elf.h>

#include <cstddef>
#include <cstring>
#include <string_view>

namespace tenon::stand_in_cuda {

namespace {

constexpr std::uint32_t fat_binary_magic = 0xba55ed50;

template <class T>
T read(const std::byte* from) {
  T out;
  std::memcpy(&out, from, sizeof out);
  return out;
}

/// Sections .nv.info.NAME are lists of attributes: a byte for the layout, one for the number of the
/// attribute, and two for a value or the size of the value that follows. Attribute 0x17 is a
/// parameter: u32, u16 number, u16 offset, and a word whose upper 14 bits are the size (what
/// `cuobjdump -elf` prints as EIATTR_KPARAM_INFO).
std::vector<std::uint32_t> read_attributes(const std::byte* at, const std::byte* end) {
  constexpr std::uint8_t with_size = 4;
  constexpr std::uint8_t parameter = 0x17;
  constexpr std::ptrdiff_t head = 4;
  std::vector<std::uint32_t> out;
  while (end - at >= head) {
    const bool has_value = read<std::uint8_t>(at) == with_size;
    const auto nbytes = has_value ? read<std::uint16_t>(at + 2) : std::uint16_t{0};
    if (has_value && read<std::uint8_t>(at + 1) == parameter) {
      const auto number = read<std::uint16_t>(at + head + 4);
      if (out.size() <= number) out.resize(number + std::size_t{1});
      out[number] = read<std::uint32_t>(at + head + 8) >> 18;
    }
    at += head + nbytes;
  }
  return out;
}

/// Adds the kernels of one ELF file.
void read_elf(const std::byte* file, KernelParameters& out) {
  if (std::memcmp(file, ELFMAG, SELFMAG) != 0) return;
  const auto header = read<Elf64_Ehdr>(file);
  const auto section = [&](std::size_t index) {
    return read<Elf64_Shdr>(file + header.e_shoff + index * header.e_shentsize);
  };
  const char* const names =
      reinterpret_cast<const char*>(file) + section(header.e_shstrndx).sh_offset;
  constexpr std::string_view prefix = ".nv.info.";
  for (std::size_t i = 0; i < header.e_shnum; ++i) {
    const Elf64_Shdr each = section(i);
    const std::string_view name = names + each.sh_name;
    if (!name.starts_with(prefix)) continue;
    const std::byte* const begin = file + each.sh_offset;
    out.emplace(name.substr(prefix.size()), read_attributes(begin, begin + each.sh_size));
  }
}

}  // namespace

KernelParameters kernel_parameters(const void* image) {
  KernelParameters out;
  const auto* const file = static_cast<const std::byte*>(image);
  if (read<std::uint32_t>(file) != fat_binary_magic) {
    read_elf(file, out);
    return out;
  }
  // Magic, u16 version, u16 size of this head, u64 size of the entries. Each entry: u16 kind, of
  // which 2 is ELF, u16 version, u32 size of its head, u64 size of what follows.
  const std::byte* at = file + read<std::uint16_t>(file + 6);
  const std::byte* const end = at + read<std::uint64_t>(file + 8);
  while (at < end) {
    const std::byte* const content = at + read<std::uint32_t>(at + 4);
    if (read<std::uint16_t>(at) == 2) read_elf(content, out);
    at = content + read<std::uint64_t>(at + 8);
  }
  return out;
}

}  // namespace tenon::stand_in_cuda
