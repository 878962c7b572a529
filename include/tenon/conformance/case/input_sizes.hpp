// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <vector>

#include "tenon/abi/tensor.h"
#include "tenon/core/api.hpp"
#include "tenon/core/result.hpp"
#include "tenon/core/scalar_type.hpp"
#include "tenon/host/arrays/array.hpp"
#include "tenon/host/method/method.hpp"

/// Sizes of the inputs of a method whose shapes are dynamic.
namespace tenon::conformance {

/// Inputs of dynamic shape at their bounds. All of them at once, because sizes may depend on each
/// other; only the author of the program knows which smaller sizes are valid.
class LargestInputs {
 public:
  /// Makes them from the inputs of `method`: the same elements, repeated, so that the numbers stay
  /// plausible. None if they take more than `most` bytes.
  LargestInputs(host::Method& method, std::size_t most);

  [[nodiscard]] std::size_t size() const noexcept { return inputs_.size(); }

  /// Sets them; this object must live until the method has run.
  [[nodiscard]] Status set();

 private:
  struct Input {
    std::size_t index;
    ScalarType type;
    std::vector<std::int64_t> sizes;
    host::ArrayBytes bytes;
  };

  void add(std::size_t index, const tenon_tensor& tensor, std::size_t size);

  host::Method& method_;
  std::list<Input> inputs_;
};

}  // namespace tenon::conformance

#if TENON_CONFORMANCE_DEFINITIONS

#include <algorithm>
#include <cstring>
#include <span>

#include "tenon/host/arrays/value_array.hpp"
#include "tenon/host/method/device_memory.hpp"
#include "tenon/host/plugin/tensor_storage.hpp"

namespace tenon::conformance {

TENON_API LargestInputs::LargestInputs(host::Method& method, std::size_t most) : method_(method) {
  std::size_t sum = 0;
  for (std::size_t i = 0; i < method.num_inputs() && sum <= most; ++i) {
    const tenon_value& value = method.input(i);
    if (value.kind != TENON_VALUE_TENSOR) continue;
    const tenon_tensor& tensor = *value.as.tensor;
    if (tensor.shape_dynamism == TENON_SHAPE_STATIC || tensor.nbytes == 0) continue;
    const std::span bounds(tensor.bounds, static_cast<std::size_t>(tensor.dl.ndim));
    const std::int64_t count = host::count_elements(bounds);
    const auto type = static_cast<ScalarType>(tensor.scalar_type);
    if (count < 0 || !tensor.dl.data || !host::is_cpu(tensor.dl.device)) continue;
    sum += static_cast<std::size_t>(count) * size_of(type);
    if (sum <= most) add(i, tensor, static_cast<std::size_t>(count) * size_of(type));
  }
  if (sum > most) inputs_.clear();
}

TENON_API Status LargestInputs::set() {
  for (const Input& input : inputs_) {
    TENON_RETURN_IF_ERROR(method_.set_input(
        input.index,
        host::InputTensor{input.type, input.sizes, {input.bytes.data(), input.bytes.size()}}));
  }
  return ok();
}

TENON_API void LargestInputs::add(std::size_t index, const tenon_tensor& tensor, std::size_t size) {
  Input& input = inputs_.emplace_back(Input{index,
                                            static_cast<ScalarType>(tensor.scalar_type),
                                            {tensor.bounds, tensor.bounds + tensor.dl.ndim},
                                            host::ArrayBytes(size)});
  const auto* from = static_cast<const std::byte*>(tensor.dl.data);
  const auto period = static_cast<std::size_t>(tensor.nbytes);
  for (std::size_t at = 0; at < size; at += period) {
    std::memcpy(input.bytes.data() + at, from, std::min(period, size - at));
  }
}

}  // namespace tenon::conformance

#endif  // TENON_CONFORMANCE_DEFINITIONS
