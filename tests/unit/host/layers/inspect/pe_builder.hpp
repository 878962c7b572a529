// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

#include "support/elf_builder.hpp"

namespace tenon::test {

/// The smallest DLL of Windows that exports one data object among other names. A test builds it and
/// breaks bytes at the places named here.
namespace pe {

inline constexpr std::uint16_t x86_64 = 0x8664, arm64 = 0xaa64, i386 = 0x14c;

// Offsets in the file.
inline constexpr std::size_t pe_offset = 60, signature = 64, machine = 68, num_sections = 70,
                             optional_size = 84, characteristics = 86, optional = 88,
                             first_section = 328, second_section = 368;
inline constexpr std::size_t exports = 512, addresses = 560, names = 576, ordinals = 592,
                             strings = 608, object = 1024;
// Places inside the export directory and in a section header.
inline constexpr std::size_t num_addresses = exports + 20, num_names = exports + 24,
                             addresses_at = exports + 28, names_at = exports + 32,
                             ordinals_at = exports + 36;
inline constexpr std::size_t memory_size = 8, address = 12, file_size = 16, file_offset = 20;

// Addresses of the two sections; they differ from the offsets.
inline constexpr std::uint32_t export_address = 0x1000, object_address = 0x3000;

/// Where the export directory's address is in the optional header, by the form of the file.
constexpr std::size_t directory(bool wide) { return optional + (wide ? 112 : 96); }

inline std::vector<std::byte> build(std::span<const std::byte> contents,
                                    std::uint16_t machine_number = x86_64) {
  const bool wide = machine_number != i386;
  std::vector<std::byte> out(object + contents.size());
  const auto u16 = [&](std::size_t at, unsigned value) {
    put_number(out, at, static_cast<std::uint16_t>(value));
  };
  const auto u32 = [&](std::size_t at, std::size_t value) {
    put_number(out, at, static_cast<std::uint32_t>(value));
  };
  const auto text = [&](std::size_t at, std::string_view value) {
    std::memcpy(out.data() + at, value.data(), value.size());
  };
  const auto section = [&](std::size_t at, std::string_view name, std::uint32_t where,
                           std::size_t offset, std::size_t size) {
    text(at, name);
    u32(at + memory_size, size);
    u32(at + address, where);
    u32(at + file_size, size);
    u32(at + file_offset, offset);
  };
  text(0, "MZ");
  u32(pe_offset, signature);
  text(signature, "PE");
  u16(machine, machine_number);
  u16(num_sections, 2);
  u16(optional_size, 240);
  u16(characteristics, 0x2022);
  u16(optional, wide ? 0x20b : 0x10b);
  u32(directory(wide) - 4, 16);
  u32(directory(wide), export_address);
  u32(directory(wide) + 4, object - exports);
  section(first_section, ".edata", export_address, exports, object - exports);
  section(second_section, ".rdata", object_address, object, contents.size());

  const auto in_exports = [](std::size_t at) { return export_address + (at - exports); };
  u32(num_addresses, 3);
  u32(num_names, 3);
  u32(addresses_at, in_exports(addresses));
  u32(names_at, in_exports(names));
  u32(ordinals_at, in_exports(ordinals));
  // The names are sorted; the addresses are in another order.
  const std::string_view sorted[] = {"abc", "tenon_plugin_v1", "tenon_plugin_v10"};
  std::size_t string = strings;
  for (std::size_t i = 0; i < 3; ++i) {
    u32(names + 4 * i, in_exports(string));
    u16(ordinals + 2 * i, static_cast<unsigned>(2 - i));
    u32(addresses + 4 * i, i == 1 ? object_address : object_address + 8);
    text(string, sorted[i]);
    string += sorted[i].size() + 1;
  }
  if (!contents.empty()) std::memcpy(out.data() + object, contents.data(), contents.size());
  return out;
}

}  // namespace pe
}  // namespace tenon::test
