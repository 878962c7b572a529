// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <span>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "support/elf_builder.hpp"

namespace tenon::test {

/// The 32-bit sister of `elf`: for arm, with both kinds of hash table and without section headers.
namespace elf32 {

// Offsets in the file. Addresses are `base` more.
inline constexpr std::size_t flags = 36, program_headers_offset = 28, program_header_size = 42,
                             program_header_count = 44;
inline constexpr std::size_t load = 52, dynamic_header = 84, dynamic = 116;
inline constexpr std::size_t gnu_hash = 192, sysv_hash = 224, symbol = 264, strings = 280,
                             object = 320;
inline constexpr std::uint32_t base = 0x10000;

/// Offset of entry `index` of the dynamic section, in the order of `elf::entry`.
inline constexpr std::size_t entry(std::size_t index) { return dynamic + 8 * index; }

inline std::vector<std::byte> build(std::span<const std::byte> contents,
                                    std::string_view name = "tenon_plugin_v1") {
  std::vector<std::byte> out(object + contents.size());
  const auto u16 = [&](std::size_t at, unsigned value) {
    put_number(out, at, static_cast<std::uint16_t>(value));
  };
  const auto u32 = [&](std::size_t at, std::size_t value) {
    put_number(out, at, static_cast<std::uint32_t>(value));
  };
  constexpr unsigned char identity[] = {0x7f, 'E', 'L', 'F', 1, 1, 1};
  std::memcpy(out.data(), identity, sizeof identity);
  u16(elf::type, 3);
  u16(elf::machine, 40);
  u32(20, 1);
  u32(program_headers_offset, load);
  u32(flags, 0x05000400);  // EABI 5, hard float.
  u16(40, 52);
  u16(program_header_size, 32);
  u16(program_header_count, 2);

  u32(load, 1);
  u32(load + 8, base);
  u32(load + 16, out.size());
  u32(load + 20, out.size());
  u32(load + 24, 5);
  u32(dynamic_header, 2);
  u32(dynamic_header + 4, dynamic);
  u32(dynamic_header + 8, base + dynamic);
  u32(dynamic_header + 16, 8 * 8);
  u32(dynamic_header + 20, 8 * 8);

  const std::size_t entries[][2] = {{0x6ffffef5, base + gnu_hash},
                                    {4, base + sysv_hash},
                                    {6, base + symbol - 16},
                                    {5, base + strings},
                                    {10, name.size() + 2},
                                    {11, 16},
                                    {0x6ffffffb, 1},
                                    {0, 0}};
  for (std::size_t i = 0; i < std::size(entries); ++i) {
    u32(entry(i), entries[i][0]);
    u32(entry(i) + 4, entries[i][1]);
  }

  u32(gnu_hash, 1);
  u32(gnu_hash + 4, 1);
  u32(gnu_hash + 8, 1);
  u32(gnu_hash + 12, 5);
  u32(gnu_hash + 16, 0xffffffff);
  u32(gnu_hash + 20, 1);
  u32(gnu_hash + 24, elf::gnu_hash_of(name) | 1);
  u32(sysv_hash, 1);
  u32(sysv_hash + 4, 2);
  u32(sysv_hash + 8, 1);

  u32(symbol, 1);
  u32(symbol + 4, base + object);
  u32(symbol + 8, contents.size());
  out[symbol + 12] = std::byte{0x11};
  u16(symbol + 14, 1);
  std::memcpy(out.data() + strings + 1, name.data(), name.size());
  if (!contents.empty()) std::memcpy(out.data() + object, contents.data(), contents.size());
  return out;
}

}  // namespace elf32

/// Replaces the System V hash table's entry of a file of either builder by an entry that needs
/// `library`.
inline void need_library(std::vector<std::byte>& file, std::string_view library) {
  constexpr std::size_t offset = 17;  // Behind the name of the plugin's object.
  const bool wide = file.at(4) == std::byte{2};
  const std::size_t strings = wide ? elf::strings : elf32::strings;
  const std::size_t size = offset + library.size() + 1;
  if (strings + size > (wide ? elf::object : elf32::object)) {
    throw std::length_error("need_library: the name is longer than the space for it");
  }
  std::memcpy(file.data() + strings + offset, library.data(), library.size());
  if (wide) {
    put_number(file, elf::entry(1), std::uint64_t{1});
    put_number(file, elf::entry(1) + 8, std::uint64_t{offset});
    put_number(file, elf::entry(4) + 8, std::uint64_t{size});
  } else {
    put_number(file, elf32::entry(1), 1u);
    put_number(file, elf32::entry(1) + 4, static_cast<std::uint32_t>(offset));
    put_number(file, elf32::entry(4) + 4, static_cast<std::uint32_t>(size));
  }
}

}  // namespace tenon::test
