// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "tenon/aoti/tensor.hpp"
#include "tenon/core/result.hpp"

namespace tenon::aoti {

/// What the inputs of a model were when it last took them, so that the same ones are not checked
/// again. After `InputSignature(n)` nothing allocates but errors. Threads: one at a time.
class InputSignature {
 public:
  explicit InputSignature(std::size_t num_inputs) : inputs_(num_inputs) {}

  /// True when the model took inputs of these dtypes, sizes and strides the last time.
  [[nodiscard]] bool is_of(std::span<Tensor* const> inputs) const noexcept {
    return is_accepted_ &&
           std::ranges::equal(inputs, inputs_, [](const Tensor* tensor, const Input& input) {
             return tensor->scalar_type == input.scalar_type && tensor->rank == input.rank &&
                    std::ranges::equal(tensor->shape(), input.of(input.sizes)) &&
                    std::ranges::equal(tensor->step(), input.of(input.strides));
           });
  }

  /// Fails with InvalidArgument when a dtype or a rank is not that of the inputs that the model
  /// once took: those never change.
  [[nodiscard]] Status check(std::span<Tensor* const> inputs) const {
    if (!was_accepted_) return ok();
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const Tensor& found = *inputs[i];
      const Input& expected = inputs_[i];
      if (found.scalar_type == expected.scalar_type && found.rank == expected.rank) continue;
      return error(Error::InvalidArgument, "argument ", i, ": expected ",
                   name_of(expected.scalar_type), " of rank ", expected.rank, ", found ",
                   name_of(found.scalar_type), " ", shape_text(found.shape()));
    }
    return ok();
  }

  /// Notes these inputs, as many as there are, for `accept`.
  void note(std::span<Tensor* const> inputs) noexcept {
    is_accepted_ = false;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const Tensor& tensor = *inputs[i];
      inputs_[i] = {tensor.scalar_type, tensor.rank, {}, {}};
      std::ranges::copy(tensor.shape(), inputs_[i].sizes.begin());
      std::ranges::copy(tensor.step(), inputs_[i].strides.begin());
    }
  }

  /// The model took what was noted last.
  void accept() noexcept { is_accepted_ = was_accepted_ = true; }

 private:
  struct Input {
    ScalarType scalar_type;
    std::int32_t rank;
    std::array<std::int64_t, max_rank> sizes;
    std::array<std::int64_t, max_rank> strides;

    [[nodiscard]] std::span<const std::int64_t> of(
        const std::array<std::int64_t, max_rank>& values) const noexcept {
      return {values.data(), static_cast<std::size_t>(rank)};
    }
  };

  std::vector<Input> inputs_;
  bool is_accepted_ = false;
  bool was_accepted_ = false;
};

}  // namespace tenon::aoti
