// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <utility>

#include "tenon/aoti/call.hpp"
#include "tenon/aoti/tensor.hpp"
#include "tenon/core/result.hpp"

/// Tensors and strides for the kernels: what they make, borrow for a call, and copy.
namespace tenon::cpu_aoti {

using aoti::Tensor;
using Sizes = std::span<const std::int64_t>;
using Dims = std::array<std::int64_t, max_rank>;

/// A tensor of the pool that is given back unless `hand_over` passes it on.
class OwnedTensor {
 public:
  explicit OwnedTensor(Tensor* tensor) noexcept : tensor_(tensor) {}
  OwnedTensor(OwnedTensor&& other) noexcept : tensor_(std::exchange(other.tensor_, nullptr)) {}
  OwnedTensor& operator=(OwnedTensor&& other) noexcept {
    std::swap(tensor_, other.tensor_);
    return *this;
  }
  ~OwnedTensor() {
    if (tensor_) tensor_->storage->pool->release(tensor_);
  }

  [[nodiscard]] Tensor* hand_over() noexcept { return std::exchange(tensor_, nullptr); }
  Tensor* operator->() const noexcept { return tensor_; }
  Tensor& operator*() const noexcept { return *tensor_; }

 private:
  Tensor* tensor_;
};

/// A new tensor of the running model's pool; null strides mean contiguous.
Result<OwnedTensor> new_tensor(Sizes sizes, const std::int64_t* strides, ScalarType type);

/// Memory for the length of a call. No bytes are no allocation.
class Scratch {
 public:
  static Result<Scratch> of(std::int64_t nbytes);

  template <class T>
  [[nodiscard]] T* as() const noexcept {
    return static_cast<T*>(static_cast<void*>(memory_->data));
  }

 private:
  explicit Scratch(OwnedTensor memory) noexcept : memory_(std::move(memory)) {}
  OwnedTensor memory_;
};

/// Elements of a given size that lie anywhere; broadcast dimensions have stride 0.
struct Layout {
  std::byte* data;
  const std::int64_t* strides;
};

/// Copies elements of `element` bytes. The memory of the two does not overlap.
void copy_strided(Sizes sizes, std::size_t element, Layout to, Layout from) noexcept;

/// Strides that read `from` as a tensor of `sizes` (rules of broadcasting), or false.
[[nodiscard]] bool broadcast_strides(const Tensor& from, Sizes sizes, Dims& strides) noexcept;

/// Strides of what PyTorch's `empty_like` makes: those of `like` when its elements fill their
/// memory, else the same order of dimensions without gaps.
[[nodiscard]] Dims dense_strides_like(const Tensor& like) noexcept;

/// A tensor that holds every element once, in memory without gaps.
[[nodiscard]] bool is_dense(const Tensor& tensor) noexcept;

// Halves and floats. Conversion to the narrow types rounds to nearest even.
[[nodiscard]] float half_to_float(std::uint16_t bits) noexcept;
[[nodiscard]] std::uint16_t float_to_half(float value) noexcept;

/// Copies elements of Float, Half, BFloat16, Double or Bool to contiguous floats; a Bool becomes 0
/// or 1.
void to_floats(Sizes sizes, ScalarType type, Layout from, float* to) noexcept;
/// The way back, for Float, Half, BFloat16 and Double.
void from_floats(Sizes sizes, ScalarType type, const float* from, Layout to) noexcept;

}  // namespace tenon::cpu_aoti
