// SPDX-License-Identifier: MIT
#pragma once

#include <executorch/runtime/core/evalue.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "tenon/abi/tensor.h"
#include "tenon/executorch/backend/executorch_tensor.hpp"
#include "tenon/executorch/backend/watched.hpp"
#include "tenon/executorch/error.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace bridge::detail {

using EtTensor = ::executorch::aten::Tensor;

/// A list of EValues as ExecuTorch's list of a kind: it unpacks them into memory of ours.
template <class T>
class MirroredList {
 public:
  explicit MirroredList(std::vector<et::EValue*> elements)
      : elements_(std::move(elements)),
        unpacked_(std::make_unique<Slot[]>(std::max<std::size_t>(elements_.size(), 1))),
        list_((elements_.reserve(1), elements_.data()), reinterpret_cast<T*>(unpacked_.get()),
              static_cast<int>(elements_.size())) {}

  [[nodiscard]] et::BoxedEvalueList<T>* get() noexcept { return &list_; }

 private:
  struct Slot {
    alignas(T) std::byte bytes[sizeof(T)];
  };
  std::vector<et::EValue*> elements_;
  std::unique_ptr<Slot[]> unpacked_;
  et::BoxedEvalueList<T> list_;
};

/// One tensor of the host and its mirror.
struct MirroredTensor {
  ExecutorchTensor mirror;
  std::optional<WatchedTensor> watched;  ///< From when `mirror` is bound.
};

/// One value of the host and its mirror.
struct MirroredValue {
  using Lists = std::variant<std::monostate, et::ArrayRef<char>, et::ArrayRef<bool>,
                             et::ArrayRef<double>, MirroredList<std::int64_t>,
                             MirroredList<EtTensor>, MirroredList<std::optional<EtTensor>>>;

  explicit MirroredValue(tenon_value& of) noexcept : watched(of, value), source(&of) {}
  MirroredValue(const MirroredValue&) = delete;
  MirroredValue& operator=(const MirroredValue&) = delete;
  ~MirroredValue() { value = et::EValue(); }  // It may point to `list`.

  WatchedValue watched;  // First, with `value`: the part that each call looks at.
  et::EValue value;
  tenon_value* source;
  std::uint32_t kind = TENON_VALUE_NONE;   ///< Of the mirrored value.
  bool is_filled = false;                  ///< Whether `value` is a mirror of `source`.
  std::shared_ptr<MirroredTensor> tensor;  ///< Of a TENSOR.
  std::vector<std::shared_ptr<MirroredValue>> elements;  ///< Of a list of values.
  tenon_span span{};                                     ///< Of a list or string.
  Lists list;
};

/// Whether a value of this kind is a list or string.
[[nodiscard]] inline bool is_span(std::uint32_t kind) noexcept {
  return kind == TENON_VALUE_STRING || kind >= TENON_VALUE_BOOL_LIST;
}

/// Whether a value of this kind is a number, or none.
[[nodiscard]] inline bool is_scalar(std::uint32_t kind) noexcept {
  return kind == TENON_VALUE_NONE || kind == TENON_VALUE_INT || kind == TENON_VALUE_DOUBLE ||
         kind == TENON_VALUE_BOOL;
}

/// Sets the mirror to the EValue of what was mirrored; a number to its present value.
inline void set_value(MirroredValue& node) noexcept {
  switch (node.kind) {
    case TENON_VALUE_TENSOR:
      node.value = et::EValue(EtTensor(node.tensor->mirror.impl()));
      break;
    case TENON_VALUE_STRING:
      node.value = et::EValue(&std::get<et::ArrayRef<char>>(node.list));
      break;
    case TENON_VALUE_BOOL_LIST:
      node.value = et::EValue(&std::get<et::ArrayRef<bool>>(node.list));
      break;
    case TENON_VALUE_DOUBLE_LIST:
      node.value = et::EValue(&std::get<et::ArrayRef<double>>(node.list));
      break;
    case TENON_VALUE_INT_LIST:
      node.value = et::EValue(std::get<MirroredList<std::int64_t>>(node.list).get());
      break;
    case TENON_VALUE_TENSOR_LIST:
      node.value = et::EValue(std::get<MirroredList<EtTensor>>(node.list).get());
      break;
    case TENON_VALUE_OPTIONAL_TENSOR_LIST:
      node.value = et::EValue(std::get<MirroredList<std::optional<EtTensor>>>(node.list).get());
      break;
    case TENON_VALUE_INT:
      node.value = et::EValue(std::int64_t{node.source->as.integer});
      break;
    case TENON_VALUE_DOUBLE:
      node.value = et::EValue(double{node.source->as.real});
      break;
    case TENON_VALUE_BOOL:
      node.value = et::EValue(node.source->as.boolean != 0);
      break;
    default:
      node.value = et::EValue();
      break;
  }
}

/// Whether the mirror reflects the current value.
[[nodiscard]] inline bool is_unchanged(const MirroredValue& node) noexcept {
  const et::EValue& value = node.value;
  switch (node.kind) {
    case TENON_VALUE_NONE:
      return value.isNone();
    case TENON_VALUE_INT:
      return value.isInt() && value.payload.copyable_union.as_int == node.source->as.integer;
    case TENON_VALUE_DOUBLE:
      // Compared as bits, so that a NaN equals itself.
      return value.isDouble() &&
             std::bit_cast<std::uint64_t>(value.payload.copyable_union.as_double) ==
                 std::bit_cast<std::uint64_t>(node.source->as.real);
    case TENON_VALUE_BOOL:
      return value.isBool() &&
             value.payload.copyable_union.as_bool == (node.source->as.boolean != 0);
    case TENON_VALUE_TENSOR:
      return value.isTensor() &&
             value.payload.as_tensor.unsafeGetTensorImpl() == node.tensor->mirror.impl();
    default:
      return true;
  }
}

/// The mirrors of values and tensors that several calls have in common, so that a tensor of a
/// method is mirrored once and stays in the cache from one call to the next. An entry exists as
/// long as an argument list holds it.
///
/// Any thread may look up; argument lists with an entry in common are used one at a time.
class SharedMirrors {
 public:
  /// The mirror of `value`, perhaps a new mirror that is to be filled.
  [[nodiscard]] std::shared_ptr<MirroredValue> find(tenon_value& value) {
    return find_in(values_, &value, [&] { return std::make_shared<MirroredValue>(value); });
  }

  /// The mirror of `tensor`, which may not be bound yet.
  [[nodiscard]] std::shared_ptr<MirroredTensor> find(tenon_tensor& tensor) {
    return find_in(tensors_, &tensor, [] { return std::make_shared<MirroredTensor>(); });
  }

  /// Removes the entries of `values` that are held no more, and the entries of their tensors. The
  /// addresses are compared and not followed.
  void forget(const std::vector<const void*>& addresses) {
    const std::lock_guard lock(mutex_);
    for (const void* address : addresses) {
      forget_in(values_, address);
      forget_in(tensors_, address);
    }
  }

  /// Entries that exist.
  [[nodiscard]] std::size_t size() {
    const std::lock_guard lock(mutex_);
    return values_.size() + tensors_.size();
  }

 private:
  template <class T>
  using Entries = std::unordered_map<const void*, std::weak_ptr<T>>;

  template <class T, class Make>
  std::shared_ptr<T> find_in(Entries<T>& entries, const void* address, const Make& make) {
    const std::lock_guard lock(mutex_);
    std::weak_ptr<T>& entry = entries[address];
    std::shared_ptr<T> found = entry.lock();
    if (!found) entry = found = make();
    return found;
  }

  template <class T>
  static void forget_in(Entries<T>& entries, const void* address) {
    const auto found = entries.find(address);
    if (found != entries.end() && found->second.expired()) entries.erase(found);
  }

  std::mutex mutex_;
  Entries<MirroredValue> values_;
  Entries<MirroredTensor> tensors_;
};

}}}  // namespace tenon::TENON_RELEASE::bridge::detail
