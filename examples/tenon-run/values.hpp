// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "compare.hpp"
#include "npy.hpp"
#include "tenon/abi/tensor.h"
#include "tenon/core/result.hpp"

namespace tenon::run {

/// A value as an array in C order. Refers to the value's own bytes where they lie that way already,
/// else to a copy.
struct ValueArray {
  ScalarType type = ScalarType::Float;
  std::vector<std::int64_t> shape;
  std::span<const std::byte> data;
  Bytes storage;

  [[nodiscard]] ArrayView view() const noexcept { return {type, shape, data}; }
};

/// Whether `to_array` has an answer for this kind: tensors, numbers, booleans, and lists of numbers
/// and booleans.
[[nodiscard]] bool is_array_kind(std::uint32_t kind) noexcept;

/// The value as an array: a number is a scalar (int64, float64, bool), a list of them has rank 1.
/// InvalidType for other kinds, NotSupported for a tensor that does not lie in this machine's
/// memory.
[[nodiscard]] Result<ValueArray> to_array(const tenon_value& value);

/// The elements of `array`, which is in C order, with its dimensions in memory in `dim_order`,
/// outermost first. Nothing is copied when that is C order too, or when the ranks differ.
[[nodiscard]] Bytes to_layout(Array array, std::span<const std::uint8_t> dim_order);

/// dtype and shape of a tensor ("Float [1, 3]"), else the kind and the length ("ListInt [4]").
[[nodiscard]] std::string type_text(const tenon_value& value);

/// The value for a person, in one line: the first elements of a tensor or list, text in quotes.
[[nodiscard]] std::string value_text(const tenon_value& value);

}  // namespace tenon::run
