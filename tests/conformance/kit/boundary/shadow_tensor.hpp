// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <list>
#include <span>
#include <utility>

#include "kit/boundary/argument_roles.hpp"
#include "kit/process/guarded_memory.hpp"
#include "tenon/abi/tensor.h"
#include "tenon/core/scalar_type.hpp"
#include "tenon/host/method/device_memory.hpp"
#include "tenon/host/plugin/tensor_storage.hpp"

namespace tenon::inline TENON_RELEASE::conformance {

/// Where the elements of tensors are placed.
enum class Placement : std::uint8_t {
  aligned,     ///< At a multiple of 64, as in hosts; up to 63 bytes follow them.
  at_end,      ///< Directly before the forbidden page: aligned to the size of an element only.
  misaligned,  ///< One element after a multiple of 64.
};

/// How the arguments of calls are guarded.
struct GuardSettings {
  Placement place = Placement::aligned;
  std::byte fill{0xA5};         ///< The content of outputs before a call.
  bool protect_inputs = false;  ///< Whether a write to an input faults (TN-EXE-2).
  bool protect_sizes = false;   ///< Whether a write to sizes or strides faults (TN-TEN-2).
  Forbidden outside_input{"TN-EXE-5", "outside of the elements of an input"};
  Forbidden outside_output{"TN-EXE-6", "outside of the elements of an output"};
};

/// Replaces a tensor of the host in calls of the plugin: the same tensor, with its description and
/// its elements in guarded pages. Its address does not change (TN-TEN-3). The host's tensor must
/// outlive it. One thread.
class ShadowTensor {
 public:
  explicit ShadowTensor(tenon_tensor& original)
      : original_(&original),
        description_(description_size(original), alignof(tenon_tensor),
                     {"TN-EXE-5", "outside of the description of a tensor"}) {
    auto* const tensor = new (description_.data()) tenon_tensor(original);
    const std::size_t rank = this->rank();
    auto* const sizes = reinterpret_cast<std::int64_t*>(tensor + 1);
    auto* const dim_order = reinterpret_cast<std::uint8_t*>(sizes + 3 * rank);
    std::copy_n(original.bounds, rank, sizes + 2 * rank);
    std::copy_n(original.dim_order, rank, dim_order);
    tensor->dl.shape = sizes;
    tensor->dl.strides = sizes + rank;
    tensor->bounds = sizes + 2 * rank;
    tensor->dim_order = dim_order;
  }

  [[nodiscard]] tenon_tensor& tensor() const noexcept {
    return *reinterpret_cast<tenon_tensor*>(description_.data());
  }
  [[nodiscard]] const tenon_tensor& original() const noexcept { return *original_; }
  [[nodiscard]] std::size_t rank() const noexcept {
    return static_cast<std::size_t>(original_->dl.ndim);
  }
  [[nodiscard]] Role role() const noexcept { return role_; }
  /// Whether the elements are in guarded pages.
  [[nodiscard]] bool has_elements() const noexcept { return elements_.data() != nullptr; }
  [[nodiscard]] bool is_constant() const noexcept {
    return (original_->flags & TENON_TENSOR_CONSTANT) != 0;
  }

  /// Copies the original for one call. `in_place`: the elements stay in the host's memory, because
  /// another argument shares them or they are on a device.
  void lend(Role role, bool in_place, const GuardSettings& settings) {
    role_ = is_constant() ? Role::input : role;
    tenon_tensor& tensor = this->tensor();
    std::copy_n(original_->dl.shape, rank(), tensor.dl.shape);
    std::copy_n(original_->dl.strides, rank(), tensor.dl.strides);
    tensor.nbytes = original_->nbytes;
    tensor.capacity = original_->capacity;
    tensor.dl.data = original_->dl.data;
    if (has_elements()) {
      earlier_.push_back(std::move(elements_));
      if (earlier_.size() > max_earlier) earlier_.pop_front();
    }
    elements_ = {};
    if (!in_place && original_->dl.data && host::is_cpu(original_->dl.device)) {
      lend_elements(settings);
    }
    if (settings.protect_sizes) protect_sizes();
  }

  /// Ends a call: everything can be written to again.
  void take_back() noexcept {
    description_.allow();
    if (has_elements()) elements_.allow();
  }

  /// Forbids access to the elements for the next calls, as the plugin has returned (TN-EXE-4).
  void close() noexcept {
    if (has_elements()) {
      elements_.forbid({"TN-EXE-4", "of an argument after execute had returned"});
    }
  }

  /// Whether the bytes around the elements are unchanged.
  [[nodiscard]] bool is_intact() const noexcept { return !has_elements() || elements_.is_intact(); }

  /// The elements, up to the capacity of an output. Empty without guarded pages.
  [[nodiscard]] std::span<const std::byte> elements() const noexcept { return elements_.bytes(); }

  /// Whether the elements are still those of the original.
  [[nodiscard]] bool is_unchanged() const noexcept {
    return !has_elements() ||
           std::memcmp(elements_.data(), original_->dl.data, elements_.size()) == 0;
  }

  /// Copies sizes and elements to the original. False when it cannot have those sizes.
  [[nodiscard]] bool copy_back() const noexcept {
    const tenon_tensor& tensor = this->tensor();
    if (host::resize_tensor(*original_, {tensor.dl.shape, rank()}) != Error::Ok) return false;
    if (has_elements() && tensor.dl.data == elements_.data()) {
      const auto size = static_cast<std::size_t>(original_->nbytes);
      std::memcpy(original_->dl.data, elements_.data(), std::min(size, elements_.size()));
    }
    return true;
  }

  void protect_sizes() noexcept {
    description_.forbid_writes({"TN-TEN-2", "of a tensor's sizes and strides"});
  }
  void allow_sizes() noexcept { description_.allow(); }

 private:
  static constexpr std::size_t max_earlier = 8;

  static std::size_t description_size(const tenon_tensor& of) noexcept {
    const auto rank = static_cast<std::size_t>(of.dl.ndim);
    return sizeof(tenon_tensor) + rank * (3 * sizeof(std::int64_t) + 1);
  }

  void lend_elements(const GuardSettings& settings) {
    // An input has the bytes of its current sizes, whatever its capacity.
    const auto needed = static_cast<std::size_t>(original_->nbytes);
    const std::size_t size = role_ == Role::input
                                 ? needed
                                 : std::max(needed, static_cast<std::size_t>(original_->capacity));
    const std::size_t element = size_of(static_cast<ScalarType>(original_->scalar_type));
    const std::size_t alignment = settings.place == Placement::at_end ? element : 64;
    elements_ = GuardedMemory(
        size, alignment, role_ == Role::input ? settings.outside_input : settings.outside_output,
        settings.place == Placement::misaligned ? element : 0);
    if (role_ == Role::output) {
      std::memset(elements_.data(), std::to_integer<int>(settings.fill), size);
    } else {
      std::memcpy(elements_.data(), original_->dl.data, size);
    }
    if (is_constant()) {
      elements_.forbid_writes({"TN-TEN-1", "of a constant"});
    } else if (role_ == Role::input && settings.protect_inputs) {
      elements_.forbid_writes({"TN-EXE-2", "of an input"});
    }
    tensor().dl.data = elements_.data();
  }

  tenon_tensor* original_;
  GuardedMemory description_;
  GuardedMemory elements_;
  std::list<GuardedMemory> earlier_;
  Role role_ = Role::either;
};

}  // namespace tenon::inline TENON_RELEASE::conformance
