// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <vector>

#include "tenon/abi/tensor.h"
#include "tenon/core/result.hpp"
#include "tenon/core/scalar_type.hpp"
#include "tenon/host/layers/arrays/array.hpp"
#include "tenon/host/loader/method/method.hpp"

/// Sizes of the inputs of a method whose shapes are dynamic.
namespace tenon { inline namespace TENON_RELEASE { namespace conformance {

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

}}}  // namespace tenon::TENON_RELEASE::conformance
