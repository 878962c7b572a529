// SPDX-License-Identifier: MIT
#include "recorder.hpp"

using namespace kernel_test;

namespace {

using Lengths = std::vector<std::int64_t>;

Result<kernels::CopyArguments> plan(std::uintptr_t to, const Lengths& to_strides,
                                    std::uintptr_t from, const Lengths& from_strides,
                                    const Lengths& sizes, std::size_t element_size) {
  return kernels::plan_copy_strided({reinterpret_cast<std::byte*>(to), to_strides,
                                     reinterpret_cast<const std::byte*>(from), from_strides, sizes,
                                     element_size});
}

}  // namespace

TEST_CASE("divisors divide all numbers below 2^31", "[cuda_kernels]") {
  constexpr std::uint32_t most = 0x7fffffff;
  for (const std::uint32_t by : {1u, 2u, 3u, 5u, 7u, 64u, 100u, 641u, 4096u, 65535u, 65536u, 65537u,
                                 1000003u, 0x3fffffffu, 0x40000000u, 0x40000001u, most - 1, most}) {
    CAPTURE(by);
    const auto divisor = kernels::Divisor::of(by);
    for (const std::uint32_t number : {0u, 1u, by - 1, by, most - 1, most, most / by * by,
                                       most / by * by - 1, 123456789u, 0x40000000u}) {
      CAPTURE(number);
      CHECK(divisor.quotient(number) == number / by);
    }
  }
}

TEST_CASE("a copy joins what is adjacent on both sides and takes 16 bytes at once",
          "[cuda_kernels]") {
  // Heads before positions: rows of 128 numbers of two bytes.
  const auto heads =
      plan(0x1000, {32 * 128, 128, 1}, 0x2000, {128, 4096 * 128, 1}, {4096, 32, 128}, 2);
  REQUIRE(heads.ok());
  CHECK(heads->rank == 3);
  CHECK(heads->element_size == 16);
  CHECK(heads->sizes[2] == 16);
  CHECK(heads->numel == 4096 * 32 * 16);
  CHECK(heads->from_strides[1] == 4096 * 16);
  // An address that is aligned to 4 alone.
  const auto off =
      plan(0x1004, {32 * 128, 128, 1}, 0x2000, {128, 4096 * 128, 1}, {4096, 32, 128}, 2);
  REQUIRE(off.ok());
  CHECK(off->element_size == 4);
  // Dimensions that are adjacent in the order of the target alone.
  const auto joined = plan(0x1000, {1, 2, 6}, 0x2000, {2, 4, 12}, {2, 3, 4}, 4);
  REQUIRE(joined.ok());
  CHECK(joined->rank == 1);
  CHECK(joined->sizes[0] == 24);
  CHECK(joined->from_strides[0] == 2);
  CHECK(joined->to_strides[0] == 1);
  // A row of 16 bytes is one element.
  const auto rows = plan(0x1000, {4, 1}, 0x2000, {8, 1}, {5, 4}, 4);
  REQUIRE(rows.ok());
  CHECK(rows->rank == 1);
  CHECK(rows->element_size == 16);
  CHECK(rows->from_strides[0] == 2);
}

TEST_CASE("a transpose has tiles where both dimensions are long enough", "[cuda_kernels]") {
  const auto whole = plan(0x1000, {300 * 100, 100, 1}, 0x2000, {30000, 1, 300}, {2, 300, 100}, 2);
  REQUIRE(whole.ok());
  CHECK(whole->transposed == 1);
  Recorder recorder;
  REQUIRE(run(*whole, recorder.launcher()).ok());
  REQUIRE(recorder.calls.size() == 1);
  CHECK(recorder.calls[0].function == "tenon_copy_transposed");
  CHECK(listed(recorder.calls[0].function));
  CHECK(recorder.calls[0].grid == std::array{2u * 5 * 2, 1u, 1u});
  CHECK(recorder.calls[0].copy.transposed == 1);
  const auto wide = plan(0x1000, {100, 1}, 0x2000, {1, 300}, {300, 100}, 16);
  REQUIRE(run(*wide, recorder.launcher()).ok());
  CHECK(recorder.calls[1].grid == std::array{10u * 4, 1u, 1u});
  CHECK(whole->has_pairs == 1);
  CHECK(wide->has_pairs == 0);
  const auto in_pairs = [](std::uintptr_t to, const Lengths& to_strides,
                           const Lengths& from_strides, const Lengths& sizes) {
    const auto made = plan(to, to_strides, 0x2000, from_strides, sizes, 2);
    return made.ok() && made->transposed >= 0 && made->has_pairs != 0;
  };
  CHECK(in_pairs(0x1000, {100, 1}, {1, 300}, {300, 100}));
  // An address, a stride on either side, a size, and a target with gaps.
  CHECK_FALSE(in_pairs(0x1002, {100, 1}, {1, 300}, {300, 100}));
  CHECK_FALSE(in_pairs(0x1000, {101, 1}, {1, 300}, {300, 100}));
  CHECK_FALSE(in_pairs(0x1000, {100, 1}, {1, 301}, {300, 100}));
  CHECK_FALSE(in_pairs(0x1000, {100, 1}, {1, 300}, {299, 100}));
  CHECK_FALSE(in_pairs(0x1000, {200, 2}, {1, 300}, {300, 100}));
  // Too short on either side, or nothing is adjacent in the source.
  for (const auto& [sizes, from] : {std::pair{Lengths{300, 15}, Lengths{1, 300}},
                                    {{15, 300}, {1, 15}},
                                    {{300, 300}, {2, 600}}}) {
    const auto other = plan(0x1000, {sizes[1], 1}, 0x2000, from, sizes, 2);
    REQUIRE(other.ok());
    CHECK(other->transposed == -1);
  }
}

TEST_CASE("a copy of 2^31 elements has indices of 64 bits, and a launch for all of them",
          "[cuda_kernels]") {
  const std::int64_t half = std::int64_t{1} << 30;
  const auto small = plan(0x1000, {half - 1, 1}, 0x2000, {1, 2}, {2, half - 1}, 1);
  REQUIRE(small.ok());
  CHECK(small->is_large == 0);
  const auto large = plan(0x1000, {half, 1}, 0x2000, {1, 2}, {2, half}, 1);
  REQUIRE(large.ok());
  CHECK(large->is_large == 1);
  Recorder recorder;
  REQUIRE(run(*large, recorder.launcher()).ok());
  REQUIRE(recorder.calls.size() == 1);
  CHECK(recorder.calls[0].function == "tenon_copy_strided");
  CHECK(listed(recorder.calls[0].function));
  CHECK(recorder.calls[0].grid == std::array{1u << 23, 1u, 1u});
}

TEST_CASE("a copy says why it is refused", "[cuda_kernels]") {
  fails(plan(0x1000, {0, 1}, 0x2000, {3, 1}, {2, 3}, 4), Error::InvalidArgument,
        "a copy that writes an element more than once: the target's strides are [0, 1] for sizes "
        "[2, 3]");
  fails(plan(0x1000, {3, 1}, 0x2000, {3, 1}, {2, 3}, 3), Error::NotSupported,
        "a copy of elements of 3 bytes");
  fails(plan(0x1002, {3, 1}, 0x2000, {1, 2}, {2, 3}, 4), Error::NotSupported,
        "a copy of elements of 4 bytes that are not aligned to it");
}
