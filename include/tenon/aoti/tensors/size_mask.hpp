// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/aoti/tensors/model_tensor.hpp"
#include "tenon/aoti/tensors/tensor_pool.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace aoti {

/// A dimension of an input that a model's checks refuse as too small.
struct SmallDimension {
  std::size_t input;
  std::size_t dimension;
};

/// Parses the message of the check of a dynamic size that is 0 or 1. Empty for any other message.
[[nodiscard]] inline std::optional<SmallDimension> find_small_dimension(
    std::string_view text) noexcept {
  const auto number_between = [&](std::string_view before,
                                  std::string_view behind) -> std::optional<std::size_t> {
    const std::size_t at = text.find(before);
    if (at == std::string_view::npos) return std::nullopt;
    text.remove_prefix(at + before.size());
    std::size_t value = 0;
    std::size_t digits = 0;
    for (; digits < text.size() && text[digits] >= '0' && text[digits] <= '9'; ++digits) {
      value = value * 10 + static_cast<std::size_t>(text[digits] - '0');
    }
    text.remove_prefix(digits);
    constexpr std::size_t most_digits = 9;
    if (digits == 0 || digits > most_digits || !text.starts_with(behind)) return std::nullopt;
    return value;
  };
  const auto input = number_between("input_handles[", "]: dim value is too small at ");
  if (!input) return std::nullopt;
  const auto dimension = number_between(" at ", ", expected it to be >= 2, ");
  if (!dimension) return std::nullopt;
  return SmallDimension{*input, *dimension};
}

/// Shows 2 to the checks of a model instead of a size of 0 or 1, in one run.
///
/// torch.compile assumes by default that a dynamic size is 2 or more, and the checks require it.
/// The code is right for 0 and 1 too, and programs may have such sizes (PyTorch:
/// `specialize_zero_one` in torch/fx/experimental/symbolic_shapes.py). The model checks the last
/// input's device last: the true sizes are restored there, before any other part of the model reads
/// them.
///
/// Threads: one at a time.
class SizeMask {
 public:
  /// `inputs` must not be empty and outlive the mask.
  SizeMask(TensorPool& pool, std::span<ModelTensor* const> inputs)
      : pool_(&pool), inputs_(inputs), last_(inputs.back()) {}
  SizeMask(const SizeMask&) = delete;
  SizeMask& operator=(const SizeMask&) = delete;

  /// Masks one more dimension. False when its size is not 0 or 1, or when it is masked already.
  [[nodiscard]] bool add(SmallDimension small) {
    if (small.input >= inputs_.size()) return false;
    ModelTensor* const tensor = inputs_[small.input];
    if (!tensor || small.dimension >= static_cast<std::size_t>(tensor->rank)) return false;
    std::int64_t& size = tensor->sizes[small.dimension];
    if (size != 0 && size != 1) return false;
    for (const Masked& masked : masked_) {
      if (masked.place == &size) return false;
    }
    masked_.push_back({&size, size});
    return true;
  }

  /// Calls `run` with the mask on. The true sizes are restored when it returns.
  template <class Run>
  [[nodiscard]] auto during(Run&& run) {
    for (const Masked& masked : masked_) *masked.place = 2;
    is_on_ = true;
    pool_->set_size_mask(this);
    auto result = std::forward<Run>(run)();
    pool_->set_size_mask(nullptr);
    take_off();
    return result;
  }

  /// The model asked for the device of `tensor`.
  void asked_for_device(const ModelTensor* tensor) noexcept {
    if (tensor == last_) take_off();
  }

 private:
  struct Masked {
    std::int64_t* place;
    std::int64_t size;
  };

  void take_off() noexcept {
    // Only once: after the checks the model may have released its inputs.
    if (!std::exchange(is_on_, false)) return;
    for (const Masked& masked : masked_) *masked.place = masked.size;
  }

  TensorPool* pool_;
  std::span<ModelTensor* const> inputs_;
  const ModelTensor* last_;
  std::vector<Masked> masked_;
  bool is_on_ = false;
};

}}}  // namespace tenon::TENON_RELEASE::aoti
