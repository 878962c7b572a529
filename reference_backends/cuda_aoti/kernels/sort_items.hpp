// SPDX-License-Identifier: MIT
#pragma once

#include "floats.hpp"

// Sorting compares only unsigned numbers: each element becomes a key of the requested order, and
// its index in the row decides between equal keys. No two items of a row are equal, so any correct
// sort of them is a stable sort of the elements.
namespace tenon::cuda_aoti::kernels {

/// Item of an element of up to 32 bits: key in the upper half, index in the lower.
struct Item32 {
  std::uint64_t bits;

  static TENON_HOST_DEVICE Item32 of(std::uint64_t key, std::uint32_t at) {
    return {key << 32 | at};
  }
  static TENON_HOST_DEVICE Item32 last() { return {~std::uint64_t{0}}; }
  TENON_HOST_DEVICE std::uint32_t place() const { return static_cast<std::uint32_t>(bits); }
  TENON_HOST_DEVICE bool operator<(const Item32& other) const { return bits < other.bits; }
};

/// Item of an element of 64 bits.
struct alignas(16) Item64 {
  std::uint64_t key;
  std::uint64_t at;

  static TENON_HOST_DEVICE Item64 of(std::uint64_t key, std::uint32_t at) { return {key, at}; }
  static TENON_HOST_DEVICE Item64 last() { return {~std::uint64_t{0}, ~std::uint64_t{0}}; }
  TENON_HOST_DEVICE std::uint32_t place() const { return static_cast<std::uint32_t>(at); }
  TENON_HOST_DEVICE bool operator<(const Item64& other) const {
    return key < other.key || (key == other.key && at < other.at);
  }
};

/// Keys of `width` bits of a float's bits: NaN last, -0 as 0, else ordered as the numbers are.
TENON_HOST_DEVICE std::uint64_t float_key(std::uint64_t bits, int width, std::uint64_t infinity) {
  const std::uint64_t sign = std::uint64_t{1} << (width - 1);
  const std::uint64_t all = sign | (sign - 1);
  if ((bits & ~sign) > infinity) return all;
  if (bits == sign) bits = 0;
  return bits & sign ? ~bits & all : bits | sign;
}

/// The key of the element at `at`; `scalar_type` is PyTorch's number. In ascending order.
TENON_HOST_DEVICE std::uint64_t sort_key(std::int32_t scalar_type, const void* data,
                                         std::int64_t at) {
  switch (scalar_type) {
    case 0:   // uint8
    case 11:  // bool
      return static_cast<const std::uint8_t*>(data)[at];
    case 1:
      return static_cast<const std::uint8_t*>(data)[at] ^ 0x80u;
    case 2:
      return static_cast<const std::uint16_t*>(data)[at] ^ 0x8000u;
    case 3:
      return static_cast<const std::uint32_t*>(data)[at] ^ 0x80000000u;
    case 4:
      return static_cast<const std::uint64_t*>(data)[at] ^ (std::uint64_t{1} << 63);
    case 5:
      return float_key(static_cast<const std::uint16_t*>(data)[at], 16, 0x7c00u);
    case 6:
      return float_key(static_cast<const std::uint32_t*>(data)[at], 32, 0x7f800000u);
    case 7:
      return float_key(static_cast<const std::uint64_t*>(data)[at], 64, std::uint64_t{0x7ff} << 52);
    default:  // bfloat16
      return float_key(static_cast<const std::uint16_t*>(data)[at], 16, 0x7f80u);
  }
}

/// Bytes of an element of one of these types.
TENON_HOST_DEVICE int sort_element_size(std::int32_t scalar_type) {
  switch (scalar_type) {
    case 0:
    case 1:
    case 11:
      return 1;
    case 3:
    case 6:
      return 4;
    case 4:
    case 7:
      return 8;
    default:
      return 2;
  }
}

template <class Item>
TENON_HOST_DEVICE Item sort_item(const SortArguments& sort, std::int64_t row_start,
                                 std::int64_t at) {
  std::uint64_t key = sort_key(sort.scalar_type, sort.self, row_start + at * sort.self_step);
  // Keys keep 32 bits: higher bits would be shifted out of an item.
  if (sort.descending) key = ~key;
  return Item::of(key, static_cast<std::uint32_t>(at));
}

/// The beginning of a row in a tensor with these outer strides.
TENON_HOST_DEVICE std::int64_t row_start(const SortArguments& sort, const std::int64_t* strides,
                                         std::int64_t row) {
  std::int64_t start = 0;
  for (int d = sort.outer_rank; d-- > 0;) {
    start += row % sort.outer_sizes[d] * strides[d];
    row /= sort.outer_sizes[d];
  }
  return start;
}

/// The beginnings of the rows of the three tensors.
struct RowStarts {
  std::int64_t self, values, indices;
};

TENON_HOST_DEVICE RowStarts row_starts(const SortArguments& sort, std::int64_t row) {
  return {row_start(sort, sort.self_outer, row), row_start(sort, sort.values_outer, row),
          row_start(sort, sort.indices_outer, row)};
}

/// Writes position `at` of the sorted row. Values are copied as bits from the row, so that NaN and
/// -0 keep theirs.
TENON_HOST_DEVICE void write_sorted(const SortArguments& sort, const RowStarts& starts,
                                    std::int64_t at, std::uint32_t from) {
  const std::int64_t source = starts.self + from * sort.self_step;
  const std::int64_t target = starts.values + at * sort.values_step;
  sort.indices[starts.indices + at * sort.indices_step] = from;
  switch (sort_element_size(sort.scalar_type)) {
    case 1:
      static_cast<std::uint8_t*>(sort.values)[target] =
          static_cast<const std::uint8_t*>(sort.self)[source];
      break;
    case 2:
      static_cast<std::uint16_t*>(sort.values)[target] =
          static_cast<const std::uint16_t*>(sort.self)[source];
      break;
    case 4:
      static_cast<std::uint32_t*>(sort.values)[target] =
          static_cast<const std::uint32_t*>(sort.self)[source];
      break;
    default:
      static_cast<std::uint64_t*>(sort.values)[target] =
          static_cast<const std::uint64_t*>(sort.self)[source];
  }
}

/// How many of the first `count` items of two merged runs come from `a`. Items differ, so there is
/// one answer.
template <class Item>
TENON_HOST_DEVICE std::int64_t merge_split(const Item* a, std::int64_t a_size, const Item* b,
                                           std::int64_t b_size, std::int64_t count) {
  std::int64_t low = count > b_size ? count - b_size : 0;
  std::int64_t high = count < a_size ? count : a_size;
  while (low < high) {
    const std::int64_t middle = (low + high) / 2;
    if (a[middle] < b[count - 1 - middle]) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

/// Merges the items [first, first + sort_items) of a row. They are in one pair of runs, because the
/// width of a run is a multiple of sort_items.
template <class Item>
TENON_HOST_DEVICE void merge_items(const SortArguments& sort, std::int64_t row,
                                   std::int64_t first) {
  const std::int64_t pair = first - first % (2 * sort.width);
  const std::int64_t end =
      sort.length - pair < 2 * sort.width ? sort.length - pair : 2 * sort.width;
  const std::int64_t a_size = end < sort.width ? end : sort.width;
  const std::int64_t b_size = end - a_size;
  const Item* a = static_cast<const Item*>(sort.runs_from) + row * sort.length + pair;
  const Item* b = a + a_size;
  std::int64_t from_a = merge_split(a, a_size, b, b_size, first - pair);
  std::int64_t from_b = first - pair - from_a;
  const RowStarts starts = sort.runs_to == nullptr ? row_starts(sort, row) : RowStarts{};
  for (std::int64_t at = first; at < first + sort_items && at < pair + end; ++at) {
    const bool take_a = from_b == b_size || (from_a < a_size && a[from_a] < b[from_b]);
    const Item item = take_a ? a[from_a++] : b[from_b++];
    if (sort.runs_to == nullptr) {
      write_sorted(sort, starts, at, item.place());
    } else {
      static_cast<Item*>(sort.runs_to)[row * sort.length + at] = item;
    }
  }
}

}  // namespace tenon::cuda_aoti::kernels
