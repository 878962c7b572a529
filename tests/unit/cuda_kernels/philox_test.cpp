// SPDX-License-Identifier: MIT
#include "philox.hpp"

#include <array>
#include <limits>
#include <set>
#include <vector>

#include "support/catch.hpp"
#include "tenon/core/scalar_type.hpp"

namespace kernels = tenon::cuda_aoti::kernels;
using tenon::ScalarType;

namespace {

using Words = std::array<std::uint32_t, 4>;

Words cipher(Words counter, std::uint32_t key0, std::uint32_t key1) {
  const kernels::RandomWords out =
      kernels::philox({{counter[0], counter[1], counter[2], counter[3]}}, key0, key1);
  return {out.word[0], out.word[1], out.word[2], out.word[3]};
}

constexpr std::uint32_t ones = 0xffffffffu;

}  // namespace

TEST_CASE("Philox gives the known answers of its authors", "[cuda_kernels]") {
  // Random123 1.14.0, tests/kat_vectors: philox4x32 10.
  CHECK(cipher({0, 0, 0, 0}, 0, 0) == Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  CHECK(cipher({ones, ones, ones, ones}, ones, ones) ==
        Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
  CHECK(cipher({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, 0xa4093822, 0x299f31d0) ==
        Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

TEST_CASE("seed and block make the key and the counter", "[cuda_kernels]") {
  const kernels::RandomWords block =
      kernels::random_block(0x299f31d0a4093822u, 0x85a308d3243f6a88u);
  CHECK(Words{block.word[0], block.word[1], block.word[2], block.word[3]} ==
        cipher({0x243f6a88, 0x85a308d3, 0, 0}, 0xa4093822, 0x299f31d0));
  CHECK(kernels::random_long(block, 0) == (std::uint64_t{block.word[0]} << 32 | block.word[1]));
  CHECK(kernels::random_long(block, 1) == (std::uint64_t{block.word[2]} << 32 | block.word[3]));
}

TEST_CASE("fractions are exact, begin at 0 and stay below 1", "[cuda_kernels]") {
  CHECK(kernels::uniform_float(0) == 0.0f);
  CHECK(kernels::uniform_float(ones) == 1 - 0x1p-24f);
  CHECK(kernels::uniform_double(~std::uint64_t{0}) == 1 - 0x1p-53);
  CHECK(kernels::uniform_bfloat16(0) == 0);
  CHECK(kernels::bfloat16_to_float(kernels::uniform_bfloat16(ones)) == 255.0f / 256);
  for (std::uint32_t n = 0; n < 2048; ++n) {
    const float value = kernels::half_to_float(kernels::uniform_half(n << 21 | 0x1fffffu));
    if (value != static_cast<float>(n) / 2048) CHECK(value == static_cast<float>(n) / 2048);
  }
}

TEST_CASE("integers fill their range, also one of 2^64 - 1", "[cuda_kernels]") {
  constexpr std::int64_t least = std::numeric_limits<std::int64_t>::min();
  CHECK(kernels::uniform_integer(0, -5, 10) == -5);
  CHECK(kernels::uniform_integer(19, -5, 10) == 4);
  CHECK(kernels::uniform_integer(~std::uint64_t{1}, least, ~std::uint64_t{0}) ==
        std::numeric_limits<std::int64_t>::max() - 1);
  std::set<std::int64_t> seen;
  for (std::uint64_t i = 0; i < 100; ++i) {
    const kernels::RandomWords words = kernels::random_block(1, i);
    for (const int half : {0, 1}) {
      seen.insert(kernels::uniform_integer(kernels::random_long(words, half), 3, 7));
    }
  }
  CHECK(seen == std::set<std::int64_t>{3, 4, 5, 6, 7, 8, 9});
}

TEST_CASE("the last elements of a tensor end where it ends", "[cuda_kernels]") {
  const kernels::RandomWords words = kernels::random_block(7, 0);
  const auto number = [](ScalarType type) { return static_cast<std::int32_t>(type); };
  std::vector<float> floats(4, -1.0f);
  kernels::write_uniform(words, number(ScalarType::Float), floats.data(), 1, 2);
  CHECK(floats == std::vector<float>{-1.0f, kernels::uniform_float(words.word[0]),
                                     kernels::uniform_float(words.word[1]), -1.0f});
  std::vector<double> doubles(2, -1.0);
  CHECK(kernels::rand_per_block(number(ScalarType::Double)) == 2);
  kernels::write_uniform(words, number(ScalarType::Double), doubles.data(), 0, 1);
  CHECK(doubles ==
        std::vector<double>{kernels::uniform_double(kernels::random_long(words, 0)), -1.0});
  std::vector<std::uint16_t> narrow(3, 1);
  kernels::write_uniform(words, number(ScalarType::Half), narrow.data(), 0, 1);
  kernels::write_uniform(words, number(ScalarType::BFloat16), narrow.data(), 1, 1);
  CHECK(narrow == std::vector<std::uint16_t>{kernels::uniform_half(words.word[0]),
                                             kernels::uniform_bfloat16(words.word[0]), 1});

  const auto integers = [&]<class T>(T) {
    std::vector<T> out(3, T{1});
    kernels::write_integers(words, number(tenon::scalar_type_of<T>.value()), -3, 50, out.data(), 0,
                            2);
    CHECK(out == std::vector<T>{T(kernels::uniform_integer(kernels::random_long(words, 0), -3, 50)),
                                T(kernels::uniform_integer(kernels::random_long(words, 1), -3, 50)),
                                T{1}});
  };
  integers(std::int8_t{});
  integers(std::int16_t{});
  integers(std::int32_t{});
  integers(std::int64_t{});
}
