// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "tenon/aoti/tensors/model_tensor.hpp"
#include "tenon/core/result.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace aoti {

/// Dtypes, sizes and strides of the inputs that a model accepted last, so that the same ones are
/// not checked again. After `InputSignature(n)` only errors allocate. Threads: one at a time.
class InputSignature {
 public:
  explicit InputSignature(std::size_t num_inputs) : inputs_(num_inputs) {}

  /// True when the model accepted inputs of these dtypes, sizes and strides last time.
  [[nodiscard]] bool is_of(std::span<ModelTensor* const> inputs) const noexcept {
    if (!is_accepted_ || inputs.size() != inputs_.size()) return false;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (!inputs_[i].is_of(*inputs[i])) return false;
    }
    return true;
  }

  /// Fails with InvalidArgument when a dtype or a rank differs from inputs that the model once
  /// accepted: those never change.
  [[nodiscard]] Status check(std::span<ModelTensor* const> inputs) const {
    if (!was_accepted_) return ok();
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const ModelTensor& found = *inputs[i];
      const Input& expected = inputs_[i];
      if (found.scalar_type == expected.scalar_type && found.rank == expected.rank) continue;
      return error(Error::InvalidArgument, "argument ", i, ": expected ",
                   name_of(expected.scalar_type), " of rank ", expected.rank, ", found ",
                   name_of(found.scalar_type), " ", shape_text(found.shape()));
    }
    return ok();
  }

  /// Records these inputs for `accept`.
  void note(std::span<ModelTensor* const> inputs) noexcept {
    is_accepted_ = false;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const ModelTensor& tensor = *inputs[i];
      inputs_[i].scalar_type = tensor.scalar_type;
      inputs_[i].rank = tensor.rank;
      for (std::size_t d = 0; d < tensor.shape().size(); ++d) {
        inputs_[i].sizes[d] = tensor.sizes[d];
        inputs_[i].strides[d] = tensor.strides[d];
      }
    }
  }

  /// The model accepted the inputs recorded last.
  void accept() noexcept { is_accepted_ = was_accepted_ = true; }

 private:
  struct Input {
    ScalarType scalar_type;
    std::int32_t rank;
    std::array<std::int64_t, max_rank> sizes;
    std::array<std::int64_t, max_rank> strides;

    [[nodiscard]] bool is_of(const ModelTensor& tensor) const noexcept {
      if (tensor.scalar_type != scalar_type || tensor.rank != rank) return false;
      const std::size_t nbytes = static_cast<std::size_t>(rank) * sizeof(std::int64_t);
      return std::memcmp(tensor.sizes.data(), sizes.data(), nbytes) == 0 &&
             std::memcmp(tensor.strides.data(), strides.data(), nbytes) == 0;
    }
  };

  std::vector<Input> inputs_;
  bool is_accepted_ = false;
  bool was_accepted_ = false;
};

}}}  // namespace tenon::TENON_RELEASE::aoti
