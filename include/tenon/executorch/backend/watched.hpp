// SPDX-License-Identifier: MIT
#pragma once

#include <executorch/runtime/core/evalue.h>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "tenon/abi/private/changes.h"
#include "tenon/abi/tensor.h"
#include "tenon/executorch/backend/executorch_tensor.hpp"
#include "tenon/executorch/error.hpp"

/// Values and tensors as they were when they were mirrored: a call in which nothing changed costs a
/// few comparisons for each argument, without a branch.
namespace tenon { inline namespace TENON_RELEASE { namespace bridge::detail {

/// A value of the host and its mirror, both as they were when `settle` was called.
class WatchedValue {
 public:
  /// Not settled. Both values must outlive this object.
  WatchedValue(const tenon_value& source, const et::EValue& mirror) noexcept
      : source_(&source), mirror_(&mirror) {}

  /// Not 0 when the host's value is another one: its kind, or the first eight bytes of what it is.
  [[nodiscard]] std::uint64_t change() const noexcept {
    return ((bits_of(source_->as) ^ bits_) & mask_) | (source_->kind ^ kind_);
  }

  /// The mirror as it was when `settle` was called.
  struct Mirror {
    const et::EValue* value;
    std::uint64_t mask;
    std::uint64_t bits;
    std::uint32_t tag;

    /// Not 0 when it is another one now.
    [[nodiscard]] std::uint64_t write() const noexcept {
      return ((bits_of(value->payload) ^ bits) & mask) |
             (static_cast<std::uint32_t>(value->tag) ^ tag);
    }
  };
  [[nodiscard]] Mirror mirror() const noexcept { return {mirror_, mask_, mirror_bits_, tag_}; }

  /// Not 0 when the mirror is another one.
  [[nodiscard]] std::uint64_t write() const noexcept { return mirror().write(); }

  /// Takes both as they are now. `kind` is the kind that was mirrored.
  void settle(std::uint32_t kind) noexcept {
    kind_ = kind;
    mask_ = mask_of(kind);
    bits_ = bits_of(source_->as);
    mirror_bits_ = bits_of(mirror_->payload);
    tag_ = tag();
  }

  /// The mirror is of another tensor, list or kind from now on, so that argument lists with it are
  /// to be built again.
  void replace() noexcept { ++replacements_; }
  [[nodiscard]] std::uint32_t replacements() const noexcept { return replacements_; }

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
  std::uint64_t mask_ = 0;
  std::uint64_t bits_ = 0;
  std::uint64_t mirror_bits_ = 0;
  std::uint32_t kind_ = TENON_VALUE_NONE;
  std::uint32_t tag_ = 0;
  std::uint32_t replacements_ = 0;
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
  [[nodiscard]] bool is_settled() const noexcept { return seen_ != bits_of(mirror_); }
  [[nodiscard]] const ExecutorchTensor::Impl& impl() const noexcept { return *impl_; }

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

/// One dimension of a tensor whose shape is not static, and the same dimension of its mirror.
struct WatchedDimension {
  const std::int64_t* source;
  const ExecutorchTensor::Impl::SizesType* mirror;

  [[nodiscard]] std::int64_t change() const noexcept { return *source ^ *mirror; }
};

/// All arguments of one call. Values and tensors may be arguments of other calls, too.
struct WatchedArguments {
  std::vector<WatchedValue*> values;
  std::vector<WatchedTensor*> tensors;
  std::vector<WatchedSize> sizes;
  std::vector<WatchedDimension> dimensions;
  std::uint32_t replacements = 0;  ///< The sum over `values`.

  void add(WatchedValue& value) {
    values.push_back(&value);
    replacements += value.replacements();
  }

  /// One more tensor. Its rank and the address of its shape must stay (TN-TEN-3).
  void add(WatchedTensor& tensor) {
    tensors.push_back(&tensor);
    const ExecutorchTensor& mirror = tensor.mirror();
    const tenon_tensor& source = *mirror.source();
    if (source.shape_dynamism == TENON_SHAPE_STATIC) return;
    for (std::int32_t d = 0; d < source.dl.ndim; ++d) {
      dimensions.push_back({source.dl.shape + d, mirror.sizes() + d});
    }
  }

  /// Whether the list is to be built again. Replacements are only added, so that a sum that is the
  /// same is of the same ones.
  [[nodiscard]] bool was_replaced() const noexcept {
    std::uint32_t sum = 0;
    for (const WatchedValue* value : values) sum += value->replacements();
    return sum != replacements;
  }

  /// Whether the host has changed something that TN-TEN-3 lets change, or an instruction a value.
  [[nodiscard]] bool has_changed() const noexcept {
    std::uint64_t change = 0;
    std::uint32_t sum = 0;
    for (const WatchedValue* value : values) {
      change |= value->change();
      sum += value->replacements();
    }
    for (const WatchedTensor* tensor : tensors) change |= tensor->change();
    for (const WatchedSize& size : sizes) change |= size.change();
    return (change | dimension_change() | (sum ^ replacements)) != 0;
  }

  /// Whether ExecuTorch's code has changed something.
  [[nodiscard]] bool was_written() const noexcept {
    std::uint64_t write = 0;
    for (const WatchedValue* value : values) write |= value->write();
    for (const WatchedTensor* tensor : tensors) write |= tensor->write();
    return (write | dimension_change()) != 0;
  }

  /// Whether `has_changed` and `was_written` see each change.
  [[nodiscard]] bool is_settled() const noexcept {
    for (const WatchedTensor* tensor : tensors) {
      if (!tensor->is_settled()) return false;
    }
    return true;
  }

  void clear() noexcept {
    values.clear();
    tensors.clear();
    sizes.clear();
    dimensions.clear();
    replacements = 0;
  }

 private:
  [[nodiscard]] std::uint64_t dimension_change() const noexcept {
    std::int64_t change = 0;
    for (const WatchedDimension& dimension : dimensions) change |= dimension.change();
    return static_cast<std::uint64_t>(change);
  }
};

/// A tensor that a call may move, and the value that it is in: most operators write to one.
struct RememberedTensor {
  const et::EValue* value;
  const ExecutorchTensor::Impl* impl;
  const void* data;

  /// Whether the kind or the tensor of the value, or the address of its data, is another one.
  [[nodiscard]] bool was_written() const noexcept {
    return value->tag != et::Tag::Tensor ||
           value->payload.as_tensor.unsafeGetTensorImpl() != impl || impl->data() != data;
  }
};

/// Two sizes of a mirror, which are compared at once. Behind the sizes of an odd rank there is one
/// more, which does not change.
struct RememberedSizes {
  using Size = ExecutorchTensor::Impl::SizesType;
  static constexpr std::size_t step = sizeof(std::uint64_t) / sizeof(Size);
  static_assert(max_rank % step == 0);

  const Size* mirror;
  std::uint64_t sizes;

  [[nodiscard]] static std::uint64_t at(const Size* sizes) noexcept {
    std::uint64_t bits = 0;
    std::memcpy(&bits, sizes, sizeof bits);
    return bits;
  }
  [[nodiscard]] bool was_written() const noexcept { return at(mirror) != sizes; }
};

/// The mirrors of one call's arguments as they were at a count of changes (tenon_changes): as long
/// as the count is the same, neither the host nor another call has touched them.
class Remembered {
 public:
  /// Not a count.
  static constexpr std::uint64_t nothing = ~std::uint64_t{0};
  std::uint64_t count = nothing;

  void clear() noexcept {
    count = nothing;
    is_one_tensor_ = false;
    values_.clear();
    tensors_.clear();
    sizes_.clear();
  }

  /// One more value that the call may write to. It was settled.
  void add(const WatchedValue& value) {
    values_.push_back(value.mirror());
    find_one_tensor();
  }
  /// One more tensor that the call may move.
  void add(const WatchedTensor& tensor) {
    tensors_.push_back({&tensor.impl(), tensor.impl().data()});
    find_one_tensor();
  }
  /// One more tensor that the call may resize, unless its shape is static.
  void add_sizes(const ExecutorchTensor& tensor) {
    if (tensor.source()->shape_dynamism == TENON_SHAPE_STATIC) return;
    const auto rank = static_cast<std::size_t>(tensor.source()->dl.ndim);
    for (std::size_t d = 0; d < rank; d += RememberedSizes::step) {
      sizes_.push_back({tensor.sizes() + d, RememberedSizes::at(tensor.sizes() + d)});
    }
  }

  /// Whether the kind or the content of a value, the address of a tensor's data, or a size is
  /// another one.
  [[nodiscard]] bool was_written() const noexcept {
    if (is_one_tensor_) [[likely]] {
      if (one_.was_written()) [[unlikely]]
        return true;
    } else if (others_were_written()) {
      return true;
    }
    for (const RememberedSizes& each : sizes_) {
      if (each.was_written()) [[unlikely]]
        return true;
    }
    return false;
  }

  /// The only tensor that the call may move, when it may write to no other value; otherwise null.
  [[nodiscard]] const RememberedTensor* one_tensor() const noexcept {
    return is_one_tensor_ ? &one_ : nullptr;
  }
  /// Until the next `clear` or `add_sizes`.
  [[nodiscard]] std::span<const RememberedSizes> sizes() const noexcept { return sizes_; }

 private:
  struct Tensor {
    const ExecutorchTensor::Impl* impl;
    const void* data;
  };

  /// Most operators write to one tensor, whose mirror is looked at without the two lists.
  void find_one_tensor() noexcept {
    is_one_tensor_ = values_.size() == 1 && tensors_.size() == 1;
    if (!is_one_tensor_) return;
    one_ = {values_[0].value, tensors_[0].impl, tensors_[0].data};
    is_one_tensor_ = !one_.was_written();
  }

  [[nodiscard]] bool others_were_written() const noexcept {
    std::uint64_t write = 0;
    for (const WatchedValue::Mirror& value : values_) write |= value.write();
    for (const Tensor& tensor : tensors_) {
      write |= static_cast<std::uint64_t>(tensor.impl->data() != tensor.data);
    }
    return write != 0;
  }

  // After `count`, in the order in which a call reads them.
  bool is_one_tensor_ = false;
  RememberedTensor one_{};
  std::vector<RememberedSizes> sizes_;
  std::vector<WatchedValue::Mirror> values_;
  std::vector<Tensor> tensors_;
};

}}}  // namespace tenon::TENON_RELEASE::bridge::detail
