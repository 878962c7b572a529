// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tenon/abi/draft/intermediates.h"
#include "tenon/core/bytes.hpp"
#include "tenon/core/scalar_type.hpp"
#include "tenon/core/status.hpp"
#include "tenon/core/tensor.hpp"

namespace tenon { inline namespace TENON_RELEASE {

/// A tensor that a delegate can give besides its outputs (`WithIntermediates`).
struct Intermediate {
  std::int64_t handle = 0;  ///< Of the step that computes it: the number of its event.
  std::string name;         ///< Of the operator or layer, for people.
};

/// Where a delegate gives the results of its steps that it was asked for. A member of the delegate,
/// empty at first. One call at a time, inside `execute`, on any thread.
class IntermediateRecorder {
 public:
  IntermediateRecorder() noexcept = default;
  IntermediateRecorder(std::vector<std::int64_t> handles,
                       const tenon_intermediate_sink* sink) noexcept
      : handles_(std::move(handles)), sink_(sink) {}

  /// Whether anything was asked for at all: one load, for the loop over the steps.
  [[nodiscard]] bool is_recording() const noexcept { return sink_ != nullptr; }

  /// Whether the result of step `handle` was asked for.
  [[nodiscard]] bool wants(std::int64_t handle) const noexcept {
    for (const std::int64_t asked : handles_) {
      if (asked == handle) return sink_ != nullptr;
    }
    return false;
  }

  /// Gives the result of step `handle`, when it was asked for; `execute` fails with a failure of
  /// it. The host has its copy when this returns.
  [[nodiscard]] Status give(std::int64_t handle, const TensorView& tensor) const {
    return wants(handle) ? take(handle, tensor.raw()) : ok();
  }

  /// Gives the result of step `handle`, when it was asked for: elements in the order of the
  /// dimensions, in memory of the CPU.
  [[nodiscard]] Status give(std::int64_t handle, ScalarType type,
                            std::span<const std::int64_t> sizes, Bytes elements) const {
    if (!wants(handle)) return ok();
    if (sizes.size() > max_rank)
      return error(Error::Internal, "intermediate ", handle, ": expected at most ", max_rank,
                   " dimensions, found ", sizes.size());
    std::int64_t shape[max_rank];
    std::int64_t strides[max_rank];
    std::uint8_t order[max_rank];
    std::int64_t stride = 1;
    for (std::size_t i = sizes.size(); i-- > 0;) {
      shape[i] = sizes[i];
      strides[i] = stride;
      order[i] = static_cast<std::uint8_t>(i);
      stride *= sizes[i] > 0 ? sizes[i] : 1;
    }
    tenon_tensor tensor{};
    tensor.struct_size = sizeof tensor;
    tensor.scalar_type = static_cast<std::int32_t>(type);
    tensor.dl.data = const_cast<std::byte*>(elements.data());  // The host reads alone.
    tensor.dl.device = {TENON_DL_CPU, 0};
    tensor.dl.ndim = static_cast<std::int32_t>(sizes.size());
    const ScalarTypeInfo* const info = find_scalar_type(static_cast<std::int64_t>(type));
    if (info != nullptr) tensor.dl.dtype = info->dl;
    tensor.dl.shape = shape;
    tensor.dl.strides = strides;
    tensor.dim_order = order;
    tensor.bounds = shape;
    tensor.nbytes = elements.size();
    tensor.capacity = elements.size();
    return take(handle, tensor);
  }

 private:
  [[nodiscard]] Status take(std::int64_t handle, const tenon_tensor& tensor) const {
    const tenon_status status = sink_->take(sink_, handle, &tensor);
    if (status == TENON_STATUS_OK) return ok();
    return error(error_from_status(status), "the host did not take the intermediate ", handle);
  }

  std::vector<std::int64_t> handles_;
  const tenon_intermediate_sink* sink_ = nullptr;
};

}}  // namespace tenon::TENON_RELEASE
