// SPDX-License-Identifier: MIT
//
// Mutations of binary formats: numbers at aligned places become other numbers of their kind.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "fuzz/mutate/random.hpp"

namespace tenon::fuzz {

/// A little-endian number inside an input; `width` is 1, 2, 4 or 8.
struct Field {
  std::size_t offset = 0;
  std::size_t width = 4;
};

[[nodiscard]] inline std::uint64_t read_field(std::span<const std::uint8_t> bytes,
                                              const Field& field) {
  std::uint64_t out = 0;
  if (field.offset <= bytes.size() && field.width <= bytes.size() - field.offset) {
    std::memcpy(&out, bytes.data() + field.offset, field.width);
  }
  return out;
}

/// A number that a reader may get wrong, or one near the number that is there.
[[nodiscard]] inline std::uint64_t other_number(std::uint64_t found, std::size_t size_of_input,
                                                Random& random) {
  static constexpr std::uint64_t numbers[] = {
      0,          1,           2,         3,         4,          7,          8,
      12,         16,          64,        0x7f,      0x80,       0xff,       0x100,
      0x7fff,     0x8000,      0xffff,    0x10000,   0x7fffffff, 0x80000000, 0xfffffffe,
      0xffffffff, 0x100000000, ~0ull - 7, ~0ull - 1, ~0ull,      1ull << 63, (1ull << 63) - 1};
  switch (random.below(6)) {
    case 0:
      return random.pick(numbers);
    case 1:
    case 2:
      return found + random.below(33) - 16;
    case 3:
      return found ^ (std::uint64_t{1} << random.below(64));
    case 4:
      return size_of_input + random.below(33) - 16;
    default:
      return random.next() >> random.below(64);
  }
}

/// Gives a field another number: from `other_number`, or from another field of `fields`.
inline void mutate_field(std::span<std::uint8_t> bytes, const Field& field,
                         std::span<const Field> fields, Random& random) {
  if (field.offset > bytes.size() || field.width > bytes.size() - field.offset) return;
  const std::uint64_t number = !fields.empty() && random.one_in(4)
                                   ? read_field(bytes, random.pick(fields))
                                   : other_number(read_field(bytes, field), bytes.size(), random);
  std::memcpy(bytes.data() + field.offset, &number, field.width);
}

/// Changes one to four numbers of four or eight bytes at multiples of four, or does what libFuzzer
/// does. The front of a file, where its headers are, comes first.
[[nodiscard]] inline std::size_t mutate_words(std::span<std::uint8_t> input, std::size_t size,
                                              Random& random) {
  if (size < 8 || random.one_in(3)) return mutate_bytes(input, size);
  const auto bytes = input.first(size);
  for (std::size_t i = 0, count = 1 + random.below(4); i < count; ++i) {
    const std::size_t end = random.one_in(2) ? size : std::min<std::size_t>(size, 512);
    const std::size_t width = random.one_in(3) ? 8 : 4;
    const Field field{random.below((end - std::min(end, width)) / 4 + 1) * 4, width};
    const Field other{random.below((size - width) / 4 + 1) * 4, width};
    mutate_field(bytes, field, std::span(&other, 1), random);
  }
  return size;
}

}  // namespace tenon::fuzz
