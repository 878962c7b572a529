// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "kernel_support.hpp"
#include "support/catch.hpp"
#include "tenon/aoti/shims/proxy_shims.hpp"

/// Calls of operators by number, as models make them.
namespace kernel_test {

/// One call of a model: why it failed, and the tensors that its handles have then.
struct Call {
  /// Adds a new handle for each result to the call's `tensors`.
  Call(std::size_t num_results, std::vector<ModelTensor*>& tensors) : results(num_results) {
    for (Handle& result : results) {
      REQUIRE(tenon::aoti::shims::aoti_torch_new_uninitialized_tensor(result.out()) == 0);
      tensors.push_back(result.get());
    }
  }

  std::string failure;
  std::vector<Handle> results;
};

inline Handle tensor(const Shape& sizes, const std::vector<double>& values,
                     ScalarType type = ScalarType::Float, const Shape& strides = {}) {
  Handle out = make(sizes, type, strides);
  for (std::size_t i = 0; i < values.size(); ++i) out.set(static_cast<std::int64_t>(i), values[i]);
  return out;
}

}  // namespace kernel_test
