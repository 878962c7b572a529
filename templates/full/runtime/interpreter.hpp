// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <tenon/backend/cancel_flag.hpp>
#include <utility>
#include <vector>

#include "common/blob.hpp"

namespace my_npu {

/// Computes the results of one blob, a block of elements at a time, so that intermediate results
/// stay in the cache. Allocates all its memory when it is constructed. One thread at a time.
class Interpreter {
 public:
  /// `code` must have passed `check_code`. `block` is the number of elements of a block, at
  /// least 1.
  Interpreter(Code code, std::size_t block)
      : code_(std::move(code)),
        block_(block),
        scratch_(code_.instructions.size() * block),
        inputs_(code_.num_inputs),
        outputs_(code_.outputs.size()) {}

  [[nodiscard]] const Code& code() const noexcept { return code_; }
  [[nodiscard]] std::size_t scratch_bytes() const noexcept {
    return scratch_.size() * sizeof(float);
  }

  /// Sets the address of input or output `index` for the next `run`.
  void set_input(std::size_t index, const float* elements) noexcept { inputs_[index] = elements; }
  void set_output(std::size_t index, float* elements) noexcept { outputs_[index] = elements; }

  /// Computes `size` elements of each output, or fails with Cancelled.
  [[nodiscard]] tenon::Status run(std::size_t size, tenon::CancelFlag cancelled) {
    for (std::size_t first = 0; first < size; first += block_) {
      TENON_RETURN_IF_ERROR(cancelled.check());
      const std::size_t count = std::min(block_, size - first);
      for (std::size_t i = 0; i < code_.instructions.size(); ++i) {
        const Instruction& step = code_.instructions[i];
        compute(step.op, value(step.a, first), value(step.b, first), &scratch_[i * block_], count);
      }
      for (std::size_t i = 0; i < outputs_.size(); ++i) {
        std::copy_n(value(code_.outputs[i], first), count, outputs_[i] + first);
      }
    }
    return tenon::ok();
  }

 private:
  /// The elements of a register, from element `first` of the tensors onwards.
  [[nodiscard]] const float* value(std::size_t index, std::size_t first) const noexcept {
    const std::size_t num_inputs = code_.num_inputs;
    return index < num_inputs ? inputs_[index] + first : &scratch_[(index - num_inputs) * block_];
  }

  static void compute(Op op, const float* a, const float* b, float* out,
                      std::size_t count) noexcept {
    switch (op) {
      case Op::add:
        std::transform(a, a + count, b, out, std::plus{});
        break;
      case Op::sub:
        std::transform(a, a + count, b, out, std::minus{});
        break;
      case Op::mul:
        std::transform(a, a + count, b, out, std::multiplies{});
        break;
      case Op::relu:
        // Not std::max: as in PyTorch, NaN stays NaN.
        std::transform(a, a + count, out, [](float x) { return x < 0.0F ? 0.0F : x; });
        break;
    }
  }

  Code code_;
  std::size_t block_;
  std::vector<float> scratch_;
  std::vector<const float*> inputs_;
  std::vector<float*> outputs_;
};

}  // namespace my_npu
