// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "support/catch.hpp"
#include "tenon/host.hpp"
#include "tenon/host/async.hpp"

/// What tests do with methods.
namespace tenon::test {

inline Status set_floats(host::Method& method, std::size_t index, std::span<const float> values,
                         const std::vector<std::int64_t>& sizes) {
  return method.set_input(index,
                          host::InputTensor{ScalarType::Float, sizes, std::as_bytes(values)});
}

inline std::vector<float> floats(const tenon_value& value) {
  REQUIRE(value.kind == TENON_VALUE_TENSOR);
  const Tensor<const float> tensor(*value.as.tensor);
  return {tensor.begin(), tensor.end()};
}

/// The runs that a test starts, and the tasks that they give their executor.
class StartedRuns {
 public:
  [[nodiscard]] host::Executor executor() {
    return [this](std::function<void()> task) {
      tasks_.push_back(std::move(task));
      return ok();
    };
  }
  [[nodiscard]] Status start(host::Method& method) {
    return method.execute_async(
        [this](Status outcome) { outcomes_.push_back(std::move(outcome)); });
  }
  /// Runs the tasks. The outcome of the one run that was started since the last call.
  [[nodiscard]] Status finish() {
    while (!tasks_.empty()) {
      const auto task = std::move(tasks_.front());
      tasks_.pop_front();
      task();
    }
    REQUIRE(outcomes_.size() == 1);
    Status out = std::move(outcomes_.front());
    outcomes_.clear();
    return out;
  }

 private:
  std::deque<std::function<void()>> tasks_;
  std::vector<Status> outcomes_;
};

}  // namespace tenon::test
