// SPDX-License-Identifier: MIT
#include "weight_formats.hpp"

#include <vector>

#include "reference.hpp"
#include "support/catch.hpp"

using namespace kernel_reference;
namespace kernels = tenon::cuda_aoti::kernels;

namespace {

void unpack(Format format, const kernels::Weights& weights, int column, int chunk,
            float (&out)[kernels::weights_per_chunk]) {
  switch (format) {
    case Format::int4_packed:
      return kernels::Int4Packed::chunk(weights, column, chunk, out);
    case Format::int4:
      return kernels::Int4Plain::chunk(weights, column, chunk, out);
    case Format::int5:
      return kernels::Int5Plain::chunk(weights, column, chunk, out);
    case Format::int6:
      return kernels::Int6Plain::chunk(weights, column, chunk, out);
    case Format::int8:
      return kernels::Int8Plain::chunk(weights, column, chunk, out);
  }
}

/// All weights, unpacked by the function that the kernels use.
void check(const Weight& weight) {
  // Memory from the heap is aligned to 16, as the loads want it.
  const kernels::Weights weights = arguments(weight);
  for (int column = 0; column < weight.columns; ++column) {
    for (int chunk = 0; chunk < weight.depth / kernels::weights_per_chunk; ++chunk) {
      float out[kernels::weights_per_chunk];
      unpack(weight.format, weights, column, chunk, out);
      for (int i = 0; i < kernels::weights_per_chunk; ++i) {
        const double expected = weight.value(column, chunk * kernels::weights_per_chunk + i);
        if (std::abs(double{out[i]} - expected) <= 1e-6 * (std::abs(expected) + 0.01)) continue;
        CAPTURE(name_of(weight.format), weight.group, column, chunk, i);
        REQUIRE(double{out[i]} == expected);
      }
    }
  }
}

/// Checks all weights with the codes of 256 weights at once, as tiles have them.
template <class Format>
void check_in_tiles(const Weight& weight) {
  const kernels::Weights weights = arguments(weight);
  for (int column = 0; column < weight.columns; ++column) {
    kernels::RawChunk raw{};
    for (int chunk = 0; chunk < weight.depth / kernels::weights_per_chunk; ++chunk) {
      const int in_block = chunk % kernels::super_block_chunks;
      if (in_block == 0) {
        Format::load_code_words(weights, column, chunk / kernels::super_block_chunks, raw);
      }
      Format::load_numbers(weights, column, chunk, raw);
      float out[kernels::weights_per_chunk];
      Format::unpack_group(Format::with_codes(weights, raw, in_block), out);
      const auto expected = Format::load(weights, column, chunk);
      const auto scaling = Format::scaling(expected, 0);
      for (int i = 0; i < kernels::weights_per_chunk; ++i) {
        const double value = weight.value(column, chunk * kernels::weights_per_chunk + i);
        CAPTURE(name_of(weight.format), weight.group, column, chunk, i);
        REQUIRE(std::abs(double{out[i]} - value) <= std::abs(double{scaling.scale}) / 65536);
      }
    }
  }
}

}  // namespace

TEST_CASE("the codes of 256 weights at once give the same weights", "[cuda_kernels]") {
  for (const int group : {32, 64, 128, 256}) {
    const auto seed = static_cast<unsigned>(group);
    check_in_tiles<kernels::Int4Plain>(make_weight(Format::int4, 3, 768, group, 0, seed));
    check_in_tiles<kernels::Int5Plain>(make_weight(Format::int5, 3, 768, group, 0, seed));
    check_in_tiles<kernels::Int6Plain>(make_weight(Format::int6, 3, 768, group, 0, seed));
  }
}

TEST_CASE("weights of every format and group size are unpacked to their values", "[cuda_kernels]") {
  for (const Format format : formats) {
    const int least = format == Format::int4_packed ? 32 : 8;
    for (int group = least; group <= 256; group *= 2) {
      for (const int inner : {2, 4, 8}) {
        if (inner != 2 && format != Format::int4_packed) continue;
        check(make_weight(format, 16, 512, group, inner, static_cast<unsigned>(group + inner)));
      }
    }
  }
  SUCCEED();
}

TEST_CASE("int8 weights take groups beyond 256 and a depth of one chunk", "[cuda_kernels]") {
  check(make_weight(Format::int8, 3, 2048, 1024, 0, 5));
  check(make_weight(Format::int8, 3, 32, 32, 0, 6));
  check(make_weight(Format::int4_packed, 8, 32, 32, 2, 7));
  SUCCEED();
}

TEST_CASE("five and six bits are packed as ExecuTorch packs them", "[cuda_kernels]") {
  // executorch 1.5.1, backends/cuda: pack_int5 of (7 k^2 + 3 k + 5) % 32 and pack_int6 of
  // (11 k^2 + 5 k + 3) % 64 - 32 for k below 32.
  alignas(16) const unsigned char low5[] = {0xf5, 0xd7, 0x31, 0x13, 0x7d, 0x5f, 0xb9, 0x9b,
                                            0xf5, 0xd7, 0x31, 0x13, 0x7d, 0x5f, 0xb9, 0x9b};
  alignas(16) const unsigned char high5[] = {0x88, 0xb7, 0x77, 0x48};
  alignas(16) const unsigned char low6[] = {0x33, 0x59, 0xf7, 0x1d, 0xbb, 0xd1, 0x7f, 0x95,
                                            0x33, 0x59, 0xf7, 0x1d, 0xbb, 0xd1, 0x7f, 0x95};
  alignas(16) const unsigned char high6[] = {0x8c, 0xe2, 0xd1, 0x37, 0x2d, 0xca, 0xd8, 0xb5};
  const std::uint8_t one = 1;
  const std::uint8_t none = 0;
  const std::uint16_t step = half_power(0);
  float out[kernels::weights_per_chunk];

  unpack(Format::int5, {low5, high5, &one, &step, &none, &step, 1, 32, 5, 0}, 0, 0, out);
  for (int k = 0; k < 32; ++k) CHECK(double{out[k]} == (7 * k * k + 3 * k + 5) % 32);

  unpack(Format::int6, {low6, high6, &one, &step, nullptr, nullptr, 1, 32, 5, 0}, 0, 0, out);
  for (int k = 0; k < 32; ++k) CHECK(double{out[k]} == (11 * k * k + 5 * k + 3) % 64 - 32);
}

TEST_CASE("the packed product means what PyTorch's on the CPU means", "[cuda_kernels]") {
  // torch 2.15.0: torch.ops.aten._weight_int4pack_mm_for_cpu of these numbers with groups of 32,
  // rounded to bfloat16 as it returns them.
  const double expected[2][16] = {
      {1.484375, 0.578125, -0.095703125, -0.1640625, -1.3359375, 0.53125, -1.0625, 1.3515625,
       -0.009765625, 0.169921875, -0.041015625, -3.25, 6.59375, 0.03515625, 1.5859375,
       -0.349609375},
      {-1.2734375, -0.37890625, 0.48828125, 0.205078125, 1.328125, -0.72265625, 0.94921875,
       -1.5390625, -0.21875, 0.052734375, -0.333984375, 3.046875, -3.8125, 0.322265625, -1.1796875,
       0.109375}};
  Weight weight{Format::int4_packed, 16, 64, 32};
  weight.inner_k_tiles = 2;
  for (int n = 0; n < 16; ++n) {
    for (int k = 0; k < 64; ++k) weight.number.push_back((7 * n * n + 3 * k + n * k / 5) % 16);
    for (int g = 0; g < 2; ++g) {
      weight.scale.push_back((1 + (n + 2 * g) % 5) / 64.0);
      weight.zero.push_back(((3 * n + g) % 7 - 3) / 16.0);
    }
  }
  std::vector<double> self;
  for (int m = 0; m < 2; ++m) {
    for (int k = 0; k < 64; ++k) self.push_back(((5 * m + 3 * k) % 9 - 4) / 8.0);
  }
  for (int m = 0; m < 2; ++m) {
    for (int n = 0; n < 16; ++n) {
      const double found = product(self, weight, m, n).value;
      CAPTURE(m, n, found, expected[m][n]);
      CHECK(std::abs(found - expected[m][n]) <= 0.006 * std::abs(found) + 0.0001);
    }
  }
}

TEST_CASE("narrow floats become float32 exactly and back by rounding to even", "[cuda_kernels]") {
  CHECK(kernels::half_to_float(0x3c00) == 1.0f);
  CHECK(kernels::half_to_float(0xc000) == -2.0f);
  CHECK(kernels::half_to_float(0x7bff) == 65504.0f);
  CHECK(kernels::half_to_float(0x0001) == 0x1p-24f);
  CHECK(kernels::half_to_float(0x83ff) == -1023 * 0x1p-24f);
  CHECK(kernels::half_to_float(0xfc00) == -INFINITY);
  CHECK(std::isnan(kernels::half_to_float(0x7e00)));
  CHECK(std::signbit(kernels::half_to_float(0x8000)));
  for (const float value : {0.0f, 1.0f, 1.00390625f, 1.01171875f, -3.14159f, 1e-40f, INFINITY}) {
    CHECK(kernels::float_to_bfloat16(value) == BFloat16::from_float(value).bits);
  }
  CHECK(kernels::float_to_bfloat16(NAN) == 0x7fc0);
}
