// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "tenon/abi/tensor.h"
#include "tenon/core/result.hpp"
#include "tenon/core/scalar_type.hpp"
#include "tenon/host/layers/arrays/array.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

class Method;

/// A value as an array in C order. Refers to the value's own bytes when they are in C order, else
/// to a copy.
struct ValueArray {
  ScalarType type = ScalarType::Float;
  std::vector<std::int64_t> shape;
  std::span<const std::byte> data;
  ArrayBytes storage;

  [[nodiscard]] ArrayView view() const noexcept { return {type, shape, data}; }
};

/// The elements of a list of values. `list` must be of such a kind.
[[nodiscard]] inline std::span<const tenon_value* const> elements_of(const tenon_value& list) {
  return {static_cast<const tenon_value* const*>(list.as.span.data),
          static_cast<std::size_t>(list.as.span.size)};
}

/// Whether `to_array` supports this kind: tensors, numbers, booleans, and lists of numbers
/// and booleans.
[[nodiscard]] bool is_array_kind(std::uint32_t kind) noexcept;

/// The value as an array: a number is a scalar (int64, float64, bool), a list of them has rank 1.
/// InvalidType for other kinds and for a list of integers with an element that a MoveCall replaced,
/// NotSupported for a tensor on a device, InvalidState for a tensor without data.
[[nodiscard]] Result<ValueArray> to_array(const tenon_value& value);

/// The value as an array, as `to_array` makes it, but `data` holds only the first `count` elements
/// of C order, or all when there are fewer; `shape` describes the whole value. Costs what is
/// copied, however large the value is.
[[nodiscard]] Result<ValueArray> first_elements(const tenon_value& value, std::size_t count);

/// The elements of `array`, which is in C order, with its dimensions in memory in `dim_order`,
/// outermost first. Nothing is copied when that is C order as well, or when the ranks differ.
[[nodiscard]] ArrayBytes to_layout(Array array, std::span<const std::uint8_t> dim_order);

/// Sets input `index`, which is a tensor, to elements in C order. Where the program has them in
/// another order, or they are not aligned, `copy` holds them: like `array` it must not change until
/// `execute` has returned.
///
/// errors: as `Method::set_input`.
[[nodiscard]] Status set_array(Method& method, std::size_t index, const ArrayView& array,
                               ArrayBytes& copy);

/// A copy of output `index`, below `num_outputs()`, from any device.
///
/// errors: as `to_array` and `Method::read_output`; NotSupported for an output on a device that is
/// not in C order.
[[nodiscard]] Result<Array> copy_output(const Method& method, std::size_t index);

}}}  // namespace tenon::TENON_RELEASE::host
