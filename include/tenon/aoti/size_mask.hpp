// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "tenon/aoti/tensor.hpp"
#include "tenon/aoti/tensor_pool.hpp"

namespace tenon::aoti {

/// A dimension of an input that a model finds too small.
struct SmallDimension {
  std::size_t input;
  std::size_t dimension;
};

/// Reads what the check of a dynamic size says when it is 0 or 1 and nothing else is wrong with it.
[[nodiscard]] inline std::optional<SmallDimension> find_small_dimension(
    std::string_view text) noexcept {
  const auto number_behind = [&](std::string_view before,
                                 std::string_view behind) -> std::optional<std::size_t> {
    const std::size_t at = text.find(before);
    if (at == std::string_view::npos) return std::nullopt;
    text.remove_prefix(at + before.size());
    std::size_t value = 0;
    const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    if (failed != std::errc() || !text.starts_with(behind)) return std::nullopt;
    return value;
  };
  const auto input = number_behind("input_handles[", "]: dim value is too small at ");
  if (!input) return std::nullopt;
  const auto dimension = number_behind(" at ", ", expected it to be >= 2, ");
  if (!dimension) return std::nullopt;
  return SmallDimension{*input, *dimension};
}

/// Shows 2 to the checks of a model in place of a size of 0 or 1, in one run.
///
/// torch.compile takes a dynamic size to be 2 or more unless it is told otherwise, and the checks
/// say so, while the code is right for 0 and 1 too, and programs may have them (PyTorch:
/// `specialize_zero_one` in torch/fx/experimental/symbolic_shapes.py). The last thing that the
/// checks look at is the device of the last input: there the sizes become what they are, before
/// anything else of the model sees them.
///
/// Threads: one at a time.
class SizeMask {
 public:
  /// `inputs` must not be empty and outlive the mask.
  SizeMask(TensorPool& pool, std::span<Tensor* const> inputs)
      : pool_(&pool), inputs_(inputs), last_(inputs.back()) {}
  SizeMask(const SizeMask&) = delete;
  SizeMask& operator=(const SizeMask&) = delete;

  /// Has one more dimension masked. False when there is none that is 0 or 1.
  [[nodiscard]] bool add(SmallDimension small) {
    if (small.input >= inputs_.size()) return false;
    Tensor* const tensor = inputs_[small.input];
    if (!tensor || small.dimension >= static_cast<std::size_t>(tensor->rank)) return false;
    std::int64_t& size = tensor->sizes[small.dimension];
    const bool is_masked = std::ranges::find(masked_, &size, &Masked::place) != masked_.end();
    if (is_masked || (size != 0 && size != 1)) return false;
    masked_.push_back({&size, size});
    return true;
  }

  /// Calls `run` with the mask on. Sizes are what they are when it returns.
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
  void asked_for_device(const Tensor* tensor) noexcept {
    if (tensor == last_) take_off();
  }

 private:
  struct Masked {
    std::int64_t* place;
    std::int64_t size;
  };

  void take_off() noexcept {
    // Once: after the checks the model may have given its inputs back.
    if (!std::exchange(is_on_, false)) return;
    for (const Masked& masked : masked_) *masked.place = masked.size;
  }

  TensorPool* pool_;
  std::span<Tensor* const> inputs_;
  const Tensor* last_;
  std::vector<Masked> masked_;
  bool is_on_ = false;
};

}  // namespace tenon::aoti
