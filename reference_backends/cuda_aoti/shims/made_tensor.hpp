// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <span>
#include <utility>

#include "tenon/aoti/tensors/tensor_pool.hpp"

namespace tenon::cuda_aoti {

/// A tensor that is released on destruction, unless it was taken. Its memory may be used again by
/// later work of the pool's stream.
class MadeTensor {
 public:
  MadeTensor(aoti::TensorPool& pool, std::span<const std::int64_t> sizes,
             const std::int64_t* strides, ScalarType type)
      : pool_(pool),
        tensor_(pool.empty_strided(sizes, strides, type, aoti::TorchDeviceType::cuda,
                                   pool.memory().device_index)) {}
  MadeTensor(const MadeTensor&) = delete;
  MadeTensor& operator=(const MadeTensor&) = delete;
  ~MadeTensor() {
    if (tensor_) pool_.release(tensor_);
  }
  [[nodiscard]] Status status() const {
    if (tensor_) return ok();
    return error(Error::MemoryAllocationFailed, "no memory for the result");
  }
  [[nodiscard]] const aoti::ModelTensor& operator*() const noexcept { return *tensor_; }
  [[nodiscard]] void* data() const noexcept { return tensor_->data; }
  aoti::ModelTensor* take() noexcept { return std::exchange(tensor_, nullptr); }

 private:
  aoti::TensorPool& pool_;
  aoti::ModelTensor* tensor_;
};

}  // namespace tenon::cuda_aoti
