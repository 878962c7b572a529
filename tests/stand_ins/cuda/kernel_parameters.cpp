// SPDX-License-Identifier: MIT
#include "kernel_parameters.hpp"

#include <elf.h>

#include <cstddef>
#include <cstdio>
#include <cstring>
#include <string_view>

namespace tenon::stand_in_cuda {

namespace {

constexpr std::uint32_t fat_binary_magic = 0xba55ed50;
constexpr int no_binary = 209;
constexpr int unsupported_ptx = 222;

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
  constexpr std::string_view shared = ".nv.shared.";
  for (std::size_t i = 0; i < header.e_shnum; ++i) {
    const Elf64_Shdr each = section(i);
    const std::string_view name = names + each.sh_name;
    if (!name.starts_with(prefix)) continue;
    const std::byte* const begin = file + each.sh_offset;
    out.emplace(name.substr(prefix.size()),
                KernelLayout{read_attributes(begin, begin + each.sh_size)});
  }
  for (std::size_t i = 0; i < header.e_shnum; ++i) {
    const Elf64_Shdr each = section(i);
    const std::string_view name = names + each.sh_name;
    if (!name.starts_with(shared)) continue;
    const auto found = out.find(std::string(name.substr(shared.size())));
    if (found != out.end()) found->second.shared_bytes = each.sh_size;
  }
}

/// Whether a driver takes the file of an architecture: its ABI is another one from CUDA 13 on.
bool is_accepted(const std::byte* elf, unsigned architecture, int driver_version, int capability) {
  const auto device = static_cast<unsigned>(capability);
  const bool is_of_cuda_13 = read<std::uint8_t>(elf + EI_OSABI) == 0x41;
  return architecture / 10 == device / 10 && architecture <= device &&
         (!is_of_cuda_13 || driver_version >= 13000);
}

/// The CUDA that PTX of a version came with: 7.8 with 11.8, 8.x with 12.x at the earliest, 9.0 with
/// 13.0.
int check_ptx(int major, int minor, unsigned architecture, int driver_version, int capability) {
  const int needed = (major + 4) * 1000 + minor * 10;
  if (needed > driver_version) return unsupported_ptx;
  return architecture <= static_cast<unsigned>(capability) ? 0 : no_binary;
}

int check_text(const char* text, int driver_version, int capability) {
  int major = 0;
  int minor = 0;
  unsigned architecture = 0;
  const char* const version = std::strstr(text, ".version");
  if (!version ||
      std::sscanf(version, ".version %d.%d .target sm_%u", &major, &minor, &architecture) != 3) {
    return 1;
  }
  return check_ptx(major, minor, architecture, driver_version, capability);
}

}  // namespace

int check_image(const void* image, int driver_version, int capability) {
  const auto* const file = static_cast<const std::byte*>(image);
  if (std::memcmp(file, ELFMAG, SELFMAG) == 0) {
    const bool is_of_cuda_13 = read<std::uint8_t>(file + EI_OSABI) == 0x41;
    const auto flags = read<Elf64_Ehdr>(file).e_flags;
    const unsigned architecture = (is_of_cuda_13 ? flags >> 8 : flags) & 0xffu;
    return is_accepted(file, architecture, driver_version, capability) ? 0 : no_binary;
  }
  if (read<std::uint32_t>(file) != fat_binary_magic) {
    const char first = static_cast<char>(*file);
    const bool is_text = first == '/' || first == '.' || first == '\n';
    return is_text ? check_text(static_cast<const char*>(image), driver_version, capability) : 1;
  }
  int out = no_binary;
  const std::byte* at = file + read<std::uint16_t>(file + 6);
  const std::byte* const end = at + read<std::uint64_t>(file + 8);
  for (; at < end; at += read<std::uint32_t>(at + 4) + read<std::uint64_t>(at + 8)) {
    const auto architecture = read<std::uint32_t>(at + 28);
    const std::byte* const content = at + read<std::uint32_t>(at + 4);
    if (read<std::uint16_t>(at) == 2) {
      if (is_accepted(content, architecture, driver_version, capability)) return 0;
    } else if (out != 0) {
      out = check_ptx(read<std::uint16_t>(at + 26), read<std::uint16_t>(at + 24), architecture,
                      driver_version, capability);
    }
  }
  return out;
}

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
