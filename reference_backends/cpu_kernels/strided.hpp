// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <utility>

#include "tenon/aoti/shims/call.hpp"
#include "tenon/aoti/tensors/dense_strides.hpp"
#include "tenon/aoti/tensors/model_tensor.hpp"
#include "tenon/core/result.hpp"

/// Tensors, temporary memory and strided copies for the kernels.
namespace tenon::cpu_aoti {

using aoti::dense_strides;
using aoti::dense_strides_like;
using aoti::is_dense;
using aoti::ModelTensor;
using Sizes = std::span<const std::int64_t>;
using Dims = std::array<std::int64_t, max_rank>;

/// A list of numbers as the C shim passes it.
[[nodiscard]] inline Sizes as_sizes(const std::int64_t* values, std::int64_t count) noexcept {
  return {values, static_cast<std::size_t>(count)};
}

/// A tensor of the pool, released on destruction unless `take` returned it.
class OwnedTensor {
 public:
  explicit OwnedTensor(ModelTensor* tensor) noexcept : tensor_(tensor) {}
  OwnedTensor(OwnedTensor&& other) noexcept : tensor_(std::exchange(other.tensor_, nullptr)) {}
  OwnedTensor& operator=(OwnedTensor&& other) noexcept {
    std::swap(tensor_, other.tensor_);
    return *this;
  }
  ~OwnedTensor() {
    if (tensor_) tensor_->storage->pool->release(tensor_);
  }

  [[nodiscard]] ModelTensor* take() noexcept { return std::exchange(tensor_, nullptr); }
  ModelTensor* operator->() const noexcept { return tensor_; }
  ModelTensor& operator*() const noexcept { return *tensor_; }

 private:
  ModelTensor* tensor_;
};

/// A new tensor of the running model's pool; null strides mean contiguous.
Result<OwnedTensor> new_tensor(Sizes sizes, const std::int64_t* strides, ScalarType type);

/// Temporary memory. Zero bytes allocate nothing.
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

/// Elements of a given size under any strides; broadcast dimensions have stride 0.
struct Layout {
  std::byte* data;
  const std::int64_t* strides;
};

/// Copies elements of `element` bytes. The two must not overlap.
void copy_strided(Sizes sizes, std::size_t element, Layout to, Layout from) noexcept;

/// Writes the strides that read `from` as a tensor of `sizes` (broadcasting). False when it cannot
/// be broadcast.
[[nodiscard]] bool broadcast_strides(const ModelTensor& from, Sizes sizes, Dims& strides) noexcept;

/// Two tensors read as tensors of one shape; the strides are 0 where an element repeats.
struct BroadcastPair {
  Dims sizes{}, a_strides{}, b_strides{};
  std::size_t rank = 0;

  [[nodiscard]] Sizes shape() const noexcept { return Sizes(sizes).first(rank); }
};

/// errors: InvalidArgument when the shapes do not broadcast, with both.
Result<BroadcastPair> broadcast(const ModelTensor& a, const ModelTensor& b);

/// Copies elements of Float, Half, BFloat16, Double or Bool to contiguous floats; a Bool becomes 0
/// or 1.
void to_floats(Sizes sizes, ScalarType type, Layout from, float* to) noexcept;
/// The reverse, for Float, Half, BFloat16 and Double.
void from_floats(Sizes sizes, ScalarType type, const float* from, Layout to) noexcept;

}  // namespace tenon::cpu_aoti
