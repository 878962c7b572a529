// SPDX-License-Identifier: MIT
#include "sort_items.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "reference.hpp"
#include "support/catch.hpp"

using namespace kernel_reference;
namespace kernels = tenon::cuda_aoti::kernels;

namespace {

using Places = std::vector<std::int64_t>;

template <class T>
constexpr auto number_of = static_cast<std::int32_t>(tenon::scalar_type_of<T>.value());

/// One row, as the kernels get it.
template <class T>
kernels::SortArguments one_row(const std::vector<T>& row, bool descending) {
  kernels::SortArguments sort{};
  sort.self = row.data();
  sort.rows = 1;
  sort.length = static_cast<std::int64_t>(row.size());
  sort.scalar_type = number_of<T>;
  sort.descending = descending;
  sort.self_step = sort.values_step = sort.indices_step = 1;
  return sort;
}

/// Indices in the order of the kernels' items.
template <class Item, class T>
Places order(const std::vector<T>& row, bool descending) {
  const kernels::SortArguments sort = one_row(row, descending);
  std::vector<Item> items;
  for (std::int64_t i = 0; i < sort.length; ++i) {
    items.push_back(kernels::sort_item<Item>(sort, 0, i));
    REQUIRE(items.back() < Item::last());
  }
  std::sort(items.begin(), items.end());
  Places places;
  for (const Item& item : items) places.push_back(item.place());
  return places;
}

constexpr float nan = std::numeric_limits<float>::quiet_NaN();
constexpr float infinity = std::numeric_limits<float>::infinity();
const std::vector<float> awkward = {2.0f, nan,   -0.0f, 0.0f,  -infinity, 2.0f,   infinity,
                                    nan,  -3.5f, 0.0f,  -0.0f, 1e-40f,    -1e-40f};

/// The bits of float16 for the numbers above, in which the last two are 0 and -0.
const std::vector<tenon::Half> awkward_halves = {{0x4000}, {0x7e00}, {0x8000}, {0x0000}, {0xfc00},
                                                 {0x4000}, {0x7c00}, {0xfe00}, {0xc300}, {0x0000},
                                                 {0x8000}, {0x0000}, {0x8000}};

}  // namespace

TEST_CASE("keys order numbers as PyTorch's stable sort does", "[cuda_kernels]") {
  // torch 2.15.0: torch.sort(row, stable=True, descending=...).indices
  const Places up = {4, 8, 12, 2, 3, 9, 10, 11, 0, 5, 6, 1, 7};
  const Places down = {1, 7, 6, 0, 5, 11, 2, 3, 9, 10, 12, 8, 4};
  const std::vector<double> doubles(awkward.begin(), awkward.end());
  std::vector<BFloat16> bfloats;
  for (const float value : awkward) bfloats.push_back(BFloat16::from_float(value));
  CHECK(order<kernels::Item32>(awkward, false) == up);
  CHECK(order<kernels::Item32>(awkward, true) == down);
  CHECK(order<kernels::Item64>(doubles, false) == up);
  CHECK(order<kernels::Item64>(doubles, true) == down);
  CHECK(order<kernels::Item32>(bfloats, false) == up);
  CHECK(order<kernels::Item32>(bfloats, true) == down);
  CHECK(order<kernels::Item32>(awkward_halves, false) ==
        Places{4, 8, 2, 3, 9, 10, 11, 12, 0, 5, 6, 1, 7});
  CHECK(order<kernels::Item32>(awkward_halves, true) ==
        Places{1, 7, 6, 0, 5, 2, 3, 9, 10, 11, 12, 8, 4});

  const std::vector<std::int8_t> chars = {-128, 127, 0, -1, 5, 5, -128};
  CHECK(order<kernels::Item32>(chars, false) == Places{0, 6, 3, 2, 4, 5, 1});
  CHECK(order<kernels::Item32>(chars, true) == Places{1, 4, 5, 2, 3, 0, 6});
  const std::vector<std::uint8_t> bytes = {200, 3, 255, 0, 3};
  CHECK(order<kernels::Item32>(bytes, false) == Places{3, 1, 4, 0, 2});
  CHECK(order<kernels::Item32>(bytes, true) == Places{2, 0, 1, 4, 3});

  kernels::SortArguments sort{};
  const std::uint8_t bools[] = {1, 0, 1, 0};
  sort.self = bools;
  sort.scalar_type = static_cast<std::int32_t>(ScalarType::Bool);
  sort.self_step = 1;
  const auto key = [&](int at) { return kernels::sort_item<kernels::Item32>(sort, 0, at); };
  CHECK(key(1) < key(3));
  CHECK(key(3) < key(0));
  CHECK(key(0) < key(2));
}

TEST_CASE("the reference sort is PyTorch's", "[cuda_kernels]") {
  CHECK(sorted_places(awkward, false) == Places{4, 8, 12, 2, 3, 9, 10, 11, 0, 5, 6, 1, 7});
  CHECK(sorted_places(awkward, true) == Places{1, 7, 6, 0, 5, 11, 2, 3, 9, 10, 12, 8, 4});
}

TEST_CASE("integers of every width are ordered to their ends", "[cuda_kernels]") {
  const auto check = []<class Item, class T>(Item, T) {
    using Limits = std::numeric_limits<T>;
    const std::vector<T> row = {0,
                                Limits::max(),
                                Limits::min(),
                                -1,
                                1,
                                Limits::max(),
                                Limits::min(),
                                T(Limits::max() - 1),
                                T(Limits::min() + 1),
                                0};
    CHECK(order<Item>(row, false) == sorted_places(row, false));
    CHECK(order<Item>(row, true) == sorted_places(row, true));
  };
  check(kernels::Item32{}, std::int8_t{});
  check(kernels::Item32{}, std::int16_t{});
  check(kernels::Item32{}, std::int32_t{});
  check(kernels::Item64{}, std::int64_t{});
}

TEST_CASE("runs are merged to the whole order, whatever their number and the last one's length",
          "[cuda_kernels]") {
  const auto check = []<class Item, class T>(Item, T, std::int64_t length, bool descending) {
    CAPTURE(length, descending);
    Numbers numbers{static_cast<std::uint64_t>(length) + 1};
    // Two rows, so that a row's place matters; few values, so that many are equal.
    constexpr std::int64_t rows = 2;
    std::vector<T> self;
    for (std::int64_t i = 0; i < rows * length; ++i) self.push_back(T(numbers.below(length / 3)));
    const auto count = static_cast<std::size_t>(rows * length);
    std::vector<T> values(count);
    std::vector<std::int64_t> indices(count);
    kernels::SortArguments sort = one_row(self, descending);
    sort.values = values.data();
    sort.indices = indices.data();
    sort.rows = rows;
    sort.length = length;
    sort.outer_rank = 1;
    sort.outer_sizes[0] = rows;
    sort.self_outer[0] = sort.values_outer[0] = sort.indices_outer[0] = length;

    std::vector<Item> from(count), to(count);
    for (std::int64_t row = 0; row < rows; ++row) {
      const auto start = from.begin() + row * length;
      for (std::int64_t i = 0; i < length; ++i) {
        start[i] = kernels::sort_item<Item>(sort, row * length, i);
      }
      for (std::int64_t i = 0; i < length; i += 16) {
        std::sort(start + i, start + std::min(i + 16, length));
      }
    }
    for (sort.width = 16; sort.width < length; sort.width *= 2) {
      sort.runs_from = from.data();
      sort.runs_to = sort.width * 2 < length ? to.data() : nullptr;
      for (std::int64_t row = 0; row < rows; ++row) {
        for (std::int64_t i = 0; i < length; i += kernels::sort_items) {
          kernels::merge_items<Item>(sort, row, i);
        }
      }
      from.swap(to);
    }
    for (std::int64_t row = 0; row < rows; ++row) {
      const std::vector<T> line(self.begin() + row * length, self.begin() + (row + 1) * length);
      const Places expected = sorted_places(line, descending);
      const Places found(indices.begin() + row * length, indices.begin() + (row + 1) * length);
      CHECK(found == expected);
      bool same = true;
      for (std::int64_t i = 0; i < length; ++i) {
        same = same && values[static_cast<std::size_t>(row * length + i)] ==
                           line[static_cast<std::size_t>(expected[static_cast<std::size_t>(i)])];
      }
      CHECK(same);
    }
  };
  for (const bool descending : {false, true}) {
    for (const std::int64_t length : {17, 31, 32, 33, 48, 49, 64, 100, 127, 129, 500}) {
      check(kernels::Item32{}, float{}, length, descending);
      check(kernels::Item32{}, std::int16_t{}, length, descending);
      check(kernels::Item64{}, double{}, length, descending);
      check(kernels::Item64{}, std::int64_t{}, length, descending);
    }
  }
}

TEST_CASE("values keep their bits when they move", "[cuda_kernels]") {
  const std::vector<std::uint32_t> self = {0xffc12345u, 0x80000000u};
  std::vector<std::uint32_t> values(2);
  std::vector<std::int64_t> indices(2);
  kernels::SortArguments sort{};
  sort.self = self.data();
  sort.values = values.data();
  sort.indices = indices.data();
  sort.scalar_type = static_cast<std::int32_t>(ScalarType::Float);
  sort.self_step = sort.values_step = sort.indices_step = 1;
  kernels::write_sorted(sort, {}, 0, 1);
  kernels::write_sorted(sort, {}, 1, 0);
  CHECK(values == std::vector<std::uint32_t>{0x80000000u, 0xffc12345u});
  CHECK(indices == Places{1, 0});
}
