// SPDX-License-Identifier: MIT
//
// Mutations of the entries of a ZIP archive, which is then written again with right checksums and
// offsets: a byte that changes anywhere else is only ever found by the checksum.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "fuzz/mutate/json.hpp"
#include "fuzz/mutate/random.hpp"
#include "fuzz/mutate/words.hpp"

namespace tenon::fuzz {

/// An archive of stored entries (PKWARE APPNOTE 6.3.9), as PyTorch writes it.
struct StoredZip {
  struct Entry {
    std::string name;
    std::string content;
  };
  std::vector<Entry> entries;

  /// Nothing when the bytes are no such archive, or an archive that this does not write: with
  /// compressed entries, or numbers of 64 bits.
  [[nodiscard]] static std::optional<StoredZip> read(std::span<const std::uint8_t> bytes) {
    if (bytes.size() < end_size) return std::nullopt;
    std::size_t end = bytes.size() - end_size;
    while (number(bytes, end, 4) != end_mark) {
      if (end-- == 0) return std::nullopt;
    }
    StoredZip out;
    std::size_t at = number(bytes, end + 16, 4);
    for (std::size_t i = 0, count = number(bytes, end + 10, 2); i < count; ++i) {
      const std::size_t size = number(bytes, at + 20, 4);
      const std::size_t name_size = number(bytes, at + 28, 2);
      const std::size_t local = number(bytes, at + 42, 4);
      const std::size_t data =
          local + local_size + number(bytes, local + 26, 2) + number(bytes, local + 28, 2);
      const bool good = number(bytes, at, 4) == central_mark && number(bytes, at + 10, 2) == 0 &&
                        holds(bytes, at + central_size, name_size) && holds(bytes, data, size);
      if (!good) return std::nullopt;
      out.entries.push_back({text(bytes, at + central_size, name_size), text(bytes, data, size)});
      at += central_size + name_size + number(bytes, at + 30, 2) + number(bytes, at + 32, 2);
    }
    return out;
  }

  [[nodiscard]] std::string write() const {
    std::string out;
    std::string central;
    for (const Entry& entry : entries) {
      const std::size_t local = out.size();
      // Data begins at a multiple of 64, as PyTorch has it, so that it is used in place. The field
      // of an unknown kind that fills the space has at least its own four bytes.
      const std::size_t front = local + local_size + entry.name.size() + 4;
      const std::size_t padding = (front + 63) / 64 * 64 - front;
      std::string common;
      put(common, 20, 2);
      put(common, 0, 2 + 2 + 4);  // Flags, stored, time and date.
      put(common, checksum(entry.content), 4);
      put(common, entry.content.size(), 4);
      put(common, entry.content.size(), 4);
      put(common, entry.name.size(), 2);
      put(out, 0x04034b50, 4);
      out += common;
      put(out, 4 + padding, 2);
      out += entry.name;
      put(out, 0x4246, 2);
      put(out, padding, 2);
      out.append(padding, 'Z');
      out += entry.content;
      put(central, central_mark, 4);
      put(central, 20, 2);
      central += common;
      put(central, 0, 2 + 2 + 2 + 2 + 4);  // Extra, comment, disk, attributes.
      put(central, local, 4);
      central += entry.name;
    }
    const std::size_t directory = out.size();
    out += central;
    put(out, end_mark, 4);
    put(out, 0, 4);
    put(out, entries.size(), 2);
    put(out, entries.size(), 2);
    put(out, central.size(), 4);
    put(out, directory, 4);
    put(out, 0, 2);
    return out;
  }

 private:
  static constexpr std::size_t end_size = 22, central_size = 46, local_size = 30;
  static constexpr std::uint64_t end_mark = 0x06054b50, central_mark = 0x02014b50;

  static bool holds(std::span<const std::uint8_t> bytes, std::size_t offset, std::size_t size) {
    return offset <= bytes.size() && size <= bytes.size() - offset;
  }
  static std::size_t number(std::span<const std::uint8_t> bytes, std::size_t at,
                            std::size_t width) {
    std::size_t out = 0;
    if (holds(bytes, at, width)) std::memcpy(&out, bytes.data() + at, width);
    return out;
  }
  static std::string text(std::span<const std::uint8_t> bytes, std::size_t at, std::size_t size) {
    return {reinterpret_cast<const char*>(bytes.data()) + at, size};
  }
  /// `value` in `width` bytes, little-endian; zeros from the ninth on.
  static void put(std::string& out, std::uint64_t value, std::size_t width) {
    for (std::size_t i = 0; i < width; ++i) {
      out.push_back(i < 8 ? static_cast<char>(value >> (8 * i)) : '\0');
    }
  }

  /// CRC-32 of ISO 3309, bits reversed.
  static std::uint32_t checksum(std::string_view content) {
    static const std::array<std::uint32_t, 256> table = [] {
      std::array<std::uint32_t, 256> made{};
      for (std::uint32_t i = 0; i < 256; ++i) {
        std::uint32_t value = i;
        for (int bit = 0; bit < 8; ++bit) value = value >> 1 ^ (value & 1 ? 0xedb88320u : 0u);
        made[i] = value;
      }
      return made;
    }();
    std::uint32_t out = ~0u;
    for (const char c : content) {
      out = out >> 8 ^ table[(out ^ static_cast<unsigned char>(c)) & 0xff];
    }
    return ~out;
  }
};

/// Changes one entry, mostly one of JSON, or the list of them.
inline void mutate_entries(StoredZip& zip, Random& random) {
  if (zip.entries.empty()) return;
  std::vector<StoredZip::Entry*> texts;
  for (StoredZip::Entry& entry : zip.entries) {
    if (entry.name.ends_with(".json")) texts.push_back(&entry);
  }
  StoredZip::Entry& any = random.pick(zip.entries);
  switch (texts.empty() ? random.below(5) : random.below(16)) {
    case 0:
      return mutate_text(any.name, any.name.size() + 8);
    case 1:
      return mutate_text(any.content, any.content.size() + 64);
    case 2:
      zip.entries.push_back(StoredZip::Entry(any));
      return;
    case 3:
      any.content = random.pick(zip.entries).content;
      return;
    case 4:
      zip.entries.erase(zip.entries.begin() +
                        static_cast<std::ptrdiff_t>(random.below(zip.entries.size())));
      return;
    default: {
      StoredZip::Entry& text = *random.pick(texts);
      std::string changed = JsonMutator(random).mutate(text.content);
      if (!changed.empty()) text.content = std::move(changed);
    }
  }
}

[[nodiscard]] inline std::size_t mutate_zip(std::span<std::uint8_t> input, std::size_t size,
                                            Random& random) {
  if (random.one_in(8)) return mutate_words(input, size, random);
  auto zip = StoredZip::read(input.first(size));
  if (!zip) return mutate_words(input, size, random);
  mutate_entries(*zip, random);
  const std::string out = zip->write();
  return replace(input, size, std::as_bytes(std::span(out))) ? size
                                                             : mutate_words(input, size, random);
}

}  // namespace tenon::fuzz
