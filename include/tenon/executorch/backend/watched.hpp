// SPDX-License-Identifier: MIT
#pragma once

#include <executorch/runtime/core/evalue.h>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "tenon/abi/tensor.h"
#include "tenon/executorch/backend/executorch_tensor.hpp"
#include "tenon/executorch/error.hpp"

/// The arguments of a call as they were when they were mirrored: a call in which nothing changed
/// costs a few comparisons for each, without a branch, of memory that is next to each other.
namespace tenon::bridge::detail {

/// A value of the host and its mirror, both as they were when `settle` was called.
class WatchedValue {
 public:
  /// Not settled. `kind` is the kind that was mirrored; both values must outlive this object.
  WatchedValue(const tenon_value& source, std::uint32_t kind, const et::EValue& mirror) noexcept
      : source_(&source), mirror_(&mirror), mask_(mask_of(kind)), kind_(kind) {}

  /// Not 0 when the host's value is another one: its kind, or the first eight bytes of what it is.
  [[nodiscard]] std::uint64_t change() const noexcept {
    return ((bits_of(source_->as) ^ bits_) & mask_) | (source_->kind ^ kind_);
  }

  /// Not 0 when the mirror is another one.
  [[nodiscard]] std::uint64_t write() const noexcept {
    return ((bits_of(mirror_->payload) ^ mirror_bits_) & mask_) | (tag() ^ tag_);
  }

  /// Takes both as they are now.
  void settle() noexcept {
    bits_ = bits_of(source_->as);
    mirror_bits_ = bits_of(mirror_->payload);
    tag_ = tag();
  }

 private:
  static_assert(std::endian::native == std::endian::little);

  /// The bits that a kind uses, of the first eight bytes of either union.
  static std::uint64_t mask_of(std::uint32_t kind) noexcept {
    switch (kind) {
      case TENON_VALUE_NONE:
        return 0;
      case TENON_VALUE_BOOL:
        return 0xff;
      case TENON_VALUE_INT:
      case TENON_VALUE_DOUBLE:
        return ~std::uint64_t{0};
      default:
        return std::uint64_t{UINTPTR_MAX};
    }
  }

  template <class Union>
  static std::uint64_t bits_of(const Union& from) noexcept {
    static_assert(sizeof from >= sizeof(std::uint64_t));
    std::uint64_t bits = 0;
    std::memcpy(&bits, &from, sizeof bits);
    return bits;
  }
  [[nodiscard]] std::uint32_t tag() const noexcept {
    return static_cast<std::uint32_t>(mirror_->tag);
  }

  const tenon_value* source_;
  const et::EValue* mirror_;
  std::uint64_t mask_;
  std::uint64_t bits_ = 0;
  std::uint64_t mirror_bits_ = 0;
  std::uint32_t kind_;
  std::uint32_t tag_ = 0;
};

/// The size of a list or text of the host, which is behind the first eight bytes of its value.
struct WatchedSize {
  const tenon_value* source;
  std::uint64_t size;

  [[nodiscard]] std::uint64_t change() const noexcept { return source->as.span.size ^ size; }
};

/// A tensor of the host and its mirror: the address of the data, on both sides.
class WatchedTensor {
 public:
  /// Not settled: both sides count as changed. `mirror`, which is bound, must outlive this object.
  explicit WatchedTensor(ExecutorchTensor& mirror) noexcept
      : mirror_(&mirror), source_(mirror.source()), impl_(mirror.impl()) {
    forget();
  }

  [[nodiscard]] ExecutorchTensor& mirror() const noexcept { return *mirror_; }

  /// Not 0 when the host has given the tensor other data.
  [[nodiscard]] std::uintptr_t change() const noexcept { return bits_of(source_->dl.data) ^ seen_; }

  /// Not 0 when ExecuTorch's code has given the mirror other data.
  [[nodiscard]] std::uintptr_t write() const noexcept { return bits_of(impl_->data()) ^ given_; }

  /// Whether the sizes of the two differ.
  [[nodiscard]] bool has_other_sizes() const noexcept {
    const auto* const sizes = mirror_->sizes();
    for (std::int32_t d = 0; d < source_->dl.ndim; ++d) {
      if (sizes[d] != source_->dl.shape[d]) return true;
    }
    return false;
  }

  /// Takes the addresses as they are now.
  void settle() noexcept {
    seen_ = bits_of(source_->dl.data);
    given_ = bits_of(impl_->data());
  }

  /// Both sides count as changed until they are settled.
  void forget() noexcept { seen_ = given_ = bits_of(mirror_); }  // No tensor's data is there.

 private:
  static std::uintptr_t bits_of(const void* address) noexcept {
    return reinterpret_cast<std::uintptr_t>(address);
  }

  ExecutorchTensor* mirror_;
  const tenon_tensor* source_;
  const ExecutorchTensor::Impl* impl_;
  std::uintptr_t seen_;
  std::uintptr_t given_;
};

/// One dimension of a tensor whose shape is not static, and that of its mirror.
struct WatchedDimension {
  const std::int64_t* source;
  const ExecutorchTensor::Impl::SizesType* mirror;

  [[nodiscard]] std::int64_t change() const noexcept { return *source ^ *mirror; }
};

/// All arguments of one call.
struct WatchedArguments {
  std::vector<WatchedValue> values;
  std::vector<WatchedTensor> tensors;
  std::vector<WatchedSize> sizes;
  std::vector<WatchedDimension> dimensions;

  /// One more tensor. Its rank and the address of its shape must stay (TN-TEN-3).
  void add(ExecutorchTensor& mirror) {
    tensors.emplace_back(mirror);
    const tenon_tensor& source = *mirror.source();
    if (source.shape_dynamism == TENON_SHAPE_STATIC) return;
    for (std::int32_t d = 0; d < source.dl.ndim; ++d) {
      dimensions.push_back({source.dl.shape + d, mirror.sizes() + d});
    }
  }

  /// Whether the host has changed something that TN-TEN-3 lets change, or an instruction a value.
  [[nodiscard]] bool has_changed() const noexcept {
    std::uint64_t change = 0;
    for (const WatchedValue& value : values) change |= value.change();
    for (const WatchedTensor& tensor : tensors) change |= tensor.change();
    for (const WatchedSize& size : sizes) change |= size.change();
    return (change | dimension_change()) != 0;
  }

  /// Whether ExecuTorch's code has changed something.
  [[nodiscard]] bool was_written() const noexcept {
    std::uint64_t write = 0;
    for (const WatchedValue& value : values) write |= value.write();
    for (const WatchedTensor& tensor : tensors) write |= tensor.write();
    return (write | dimension_change()) != 0;
  }

  void clear() noexcept {
    values.clear();
    tensors.clear();
    sizes.clear();
    dimensions.clear();
  }

 private:
  [[nodiscard]] std::uint64_t dimension_change() const noexcept {
    std::int64_t change = 0;
    for (const WatchedDimension& dimension : dimensions) change |= dimension.change();
    return static_cast<std::uint64_t>(change);
  }
};

}  // namespace tenon::bridge::detail
