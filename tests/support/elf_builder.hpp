// SPDX-License-Identifier: MIT
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

namespace tenon::test {

/// Writes `value` little endian at `offset`.
template <std::unsigned_integral Number>
void put_number(std::vector<std::byte>& bytes, std::size_t offset, Number value) {
  for (std::size_t i = 0; i < sizeof value; ++i) {
    bytes.at(offset + i) = static_cast<std::byte>(static_cast<std::uint64_t>(value) >> (8 * i));
  }
}

/// The smallest ELF shared library that exports one data object, x86_64, with both kinds of hash
/// table and without section headers. A test builds it and breaks bytes at the places named here.
namespace elf {

// Offsets in the file. Addresses are `base` more, so that mixing them up does not go unseen.
inline constexpr std::size_t type = 16, machine = 18, program_headers_offset = 32,
                             program_header_size = 54, program_header_count = 56;
inline constexpr std::size_t load = 64, dynamic_header = 120, dynamic = 176;
inline constexpr std::size_t gnu_hash = 304, sysv_hash = 336, symbol = 384, strings = 408,
                             object = 448;
inline constexpr std::uint64_t base = 0x10000;

/// Offset of entry `index` of the dynamic section. Their order: GNU hash, System V hash, symbols,
/// strings, size of the strings, size of a symbol, flags, end.
inline constexpr std::size_t entry(std::size_t index) { return dynamic + 16 * index; }

inline std::uint32_t gnu_hash_of(std::string_view name) {
  std::uint32_t hash = 5381;
  for (const char c : name) hash = hash * 33 + static_cast<unsigned char>(c);
  return hash;
}

inline std::vector<std::byte> build(std::span<const std::byte> contents,
                                    std::string_view name = "tenon_plugin_v1") {
  std::vector<std::byte> out(object + contents.size());
  const auto u16 = [&](std::size_t at, unsigned value) {
    put_number(out, at, static_cast<std::uint16_t>(value));
  };
  const auto u32 = [&](std::size_t at, std::uint32_t value) { put_number(out, at, value); };
  const auto u64 = [&](std::size_t at, std::uint64_t value) { put_number(out, at, value); };

  constexpr unsigned char identity[] = {0x7f, 'E', 'L', 'F', 2, 1, 1};
  std::memcpy(out.data(), identity, sizeof identity);
  u16(type, 3);
  u16(machine, 62);
  u32(20, 1);
  u64(program_headers_offset, load);
  u16(52, 64);
  u16(program_header_size, 56);
  u16(program_header_count, 2);

  u32(load, 1);
  u64(load + 8, 0);
  u64(load + 16, base);
  u64(load + 32, out.size());
  u64(load + 40, out.size());
  u32(dynamic_header, 2);
  u64(dynamic_header + 8, dynamic);
  u64(dynamic_header + 16, base + dynamic);
  u64(dynamic_header + 32, 8 * 16);
  u64(dynamic_header + 40, 8 * 16);

  const std::uint64_t entries[][2] = {{0x6ffffef5, base + gnu_hash},
                                      {4, base + sysv_hash},
                                      {6, base + symbol - 24},
                                      {5, base + strings},
                                      {10, name.size() + 2},
                                      {11, 24},
                                      {0x6ffffffb, 1},
                                      {0, 0}};
  for (std::size_t i = 0; i < std::size(entries); ++i) {
    u64(entry(i), entries[i][0]);
    u64(entry(i) + 8, entries[i][1]);
  }

  u32(gnu_hash, 1);
  u32(gnu_hash + 4, 1);
  u32(gnu_hash + 8, 1);
  u32(gnu_hash + 12, 6);
  u64(gnu_hash + 16, ~std::uint64_t{0});
  u32(gnu_hash + 24, 1);
  u32(gnu_hash + 28, gnu_hash_of(name) | 1);
  u32(sysv_hash, 1);
  u32(sysv_hash + 4, 2);
  u32(sysv_hash + 8, 1);

  u32(symbol, 1);
  out[symbol + 4] = std::byte{0x11};
  u16(symbol + 6, 1);
  u64(symbol + 8, base + object);
  u64(symbol + 16, contents.size());
  std::memcpy(out.data() + strings + 1, name.data(), name.size());
  if (!contents.empty()) std::memcpy(out.data() + object, contents.data(), contents.size());
  return out;
}

}  // namespace elf
}  // namespace tenon::test
