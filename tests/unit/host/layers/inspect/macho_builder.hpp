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

/// The smallest Mach-O library that exports one data object, with an export trie and a symbol
/// table. A test builds it and breaks bytes at the places named here.
namespace macho {

inline constexpr std::uint32_t x86_64 = 0x01000007, arm64 = 0x0100000c;

// Offsets in the file.
inline constexpr std::size_t cpu = 4, type = 12, num_commands = 16, commands_size = 20;
inline constexpr std::size_t text_segment = 32, data_segment = 104, link_segment = 176,
                             trie_command = 248, symbol_command = 264;
inline constexpr std::size_t trie = 288, symbols = 352, strings = 400, object = 448;
// Places inside the trie.
inline constexpr std::size_t trie_label = trie + 2, trie_leaf = trie + 36;

// Addresses of the two segments; the object's differs from its offset.
inline constexpr std::uint64_t base = 0x100000000, data_base = base + 0x4000;

inline std::vector<std::byte> build(std::span<const std::byte> contents,
                                    std::uint32_t cpu_type = x86_64) {
  std::vector<std::byte> out(object + contents.size());
  const auto u32 = [&](std::size_t at, std::uint32_t value) { put_number(out, at, value); };
  const auto u64 = [&](std::size_t at, std::uint64_t value) { put_number(out, at, value); };
  const auto text = [&](std::size_t at, std::string_view value) {
    std::memcpy(out.data() + at, value.data(), value.size());
  };
  const auto segment = [&](std::size_t at, std::string_view name, std::uint64_t address,
                           std::uint64_t offset, std::uint64_t size) {
    u32(at, 0x19);
    u32(at + 4, 72);
    text(at + 8, name);
    u64(at + 24, address);
    u64(at + 32, 0x4000);
    u64(at + 40, offset);
    u64(at + 48, size);
  };

  u32(0, 0xfeedfacf);
  u32(cpu, cpu_type);
  u32(type, 6);
  u32(num_commands, 5);
  u32(commands_size, 256);
  segment(text_segment, "__TEXT", base, 0, trie);
  segment(data_segment, "__DATA_CONST", data_base, object, contents.size());
  segment(link_segment, "__LINKEDIT", base + 0x8000, trie, object - trie);
  u32(trie_command, 0x80000033);
  u32(trie_command + 4, 16);
  u32(trie_command + 8, trie);
  u32(trie_command + 12, symbols - trie);
  u32(symbol_command, 0x2);
  u32(symbol_command + 4, 24);
  u32(symbol_command + 8, symbols);
  u32(symbol_command + 12, 3);
  u32(symbol_command + 16, strings);
  u32(symbol_command + 20, object - strings);

  // Root, then "_tenon_" to a node with the edges "other" and "plugin_v1", then the leaf.
  using namespace std::string_view_literals;
  text(trie, "\x00\x01_tenon_\x00\x0b\x00\x02other\x00\x24plugin_v1\x00\x24"sv);
  text(trie_leaf, "\x04\x00\x80\x80\x01\x00"sv);

  // A debugging entry and an undefined reference of the same name come before the definition.
  text(strings + 1, "_tenon_plugin_v1");
  const auto symbol = [&](std::size_t index, unsigned kind, std::uint64_t value) {
    u32(symbols + 16 * index, 1);
    out[symbols + 16 * index + 4] = static_cast<std::byte>(kind);
    u64(symbols + 16 * index + 8, value);
  };
  symbol(0, 0x2f, 77);
  symbol(1, 0x01, 0);
  symbol(2, 0x0f, data_base);
  if (!contents.empty()) std::memcpy(out.data() + object, contents.data(), contents.size());
  return out;
}

struct Slice {
  std::uint32_t cpu_type;
  std::uint32_t subtype;
  std::vector<std::byte> bytes;
};

/// A universal file. With `wide` its offsets have 64 bits.
inline std::vector<std::byte> build_universal(const std::vector<Slice>& slices, bool wide = false) {
  std::vector<std::byte> out(4096);
  const auto big = [&](std::size_t at, std::uint64_t value, std::size_t size) {
    for (std::size_t i = 0; i < size; ++i) {
      out.at(at + i) = static_cast<std::byte>(value >> (8 * (size - 1 - i)));
    }
  };
  big(0, wide ? 0xcafebabf : 0xcafebabe, 4);
  big(4, slices.size(), 4);
  for (std::size_t i = 0; i < slices.size(); ++i) {
    const std::size_t entry = 8 + i * (wide ? 32 : 20);
    const std::size_t width = wide ? 8 : 4;
    big(entry, slices[i].cpu_type, 4);
    big(entry + 4, slices[i].subtype, 4);
    big(entry + 8, out.size(), width);
    big(entry + 8 + width, slices[i].bytes.size(), width);
    out.insert(out.end(), slices[i].bytes.begin(), slices[i].bytes.end());
    out.resize((out.size() + 63) / 64 * 64);
  }
  return out;
}

}  // namespace macho
}  // namespace tenon::test
