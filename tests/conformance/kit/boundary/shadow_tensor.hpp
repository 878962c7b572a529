// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <list>
#include <span>
#include <utility>
#include <vector>

#include "kit/boundary/argument_roles.hpp"
#include "kit/process/guarded_memory.hpp"
#include "tenon/abi/tensor.h"
#include "tenon/core/scalar_type.hpp"
#include "tenon/host/layers/arrays/impl/strided.hpp"
#include "tenon/host/loader/plugin/tensor_storage.hpp"
#include "tenon/host/loader/program/device_buffers.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace conformance {

/// Where the elements of tensors are placed.
enum class Placement : std::uint8_t {
  aligned,     ///< At a multiple of 64, as in hosts; up to 63 bytes follow them.
  at_end,      ///< Directly before the forbidden page: aligned to the size of an element only.
  misaligned,  ///< One element after a multiple of 64.
};

/// Another description of the same tensors, which a host may give them. Fixed from the first call
/// (TN-TEN-3).
struct OtherDescription {
  std::size_t byte_offset = 0;  ///< Of the first element.
  bool reversed = false;        ///< Whether `dim_order` is from the last dimension to the first.
  bool inputs = true;           ///< Whether inputs have it.
  bool outputs = true;          ///< Whether outputs have it.
};

/// How the arguments of calls are guarded.
struct GuardSettings {
  Placement place = Placement::aligned;
  std::byte fill{0xA5};         ///< The content of outputs before a call.
  bool protect_inputs = false;  ///< Whether a write to an input faults (TN-EXE-2).
  bool protect_sizes = false;   ///< Whether a write to sizes or strides faults (TN-TEN-2).
  OtherDescription other = {};
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
  /// Whether the last `lend` described it in another way than the host does.
  [[nodiscard]] bool is_described_otherwise() const noexcept { return before_ != 0 || reversed_; }
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
    tensor.dl.byte_offset = original_->dl.byte_offset;
    std::copy_n(original_->dim_order, rank(), const_cast<std::uint8_t*>(tensor.dim_order));
    before_ = 0;
    reversed_ = false;
    if (has_elements()) {
      earlier_.push_back(std::move(elements_));
      if (earlier_.size() > max_earlier) earlier_.pop_front();
    }
    elements_ = {};
    if (!in_place && original_->dl.data && host::is_cpu(original_->dl.device)) {
      const OtherDescription& other = settings.other;
      const bool differs =
          (role_ == Role::input || other.outputs) && (role_ == Role::output || other.inputs);
      if (differs && other.reversed) reverse();
      lend_elements(settings, differs ? other.byte_offset : 0);
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
  [[nodiscard]] std::span<const std::byte> elements() const noexcept {
    return has_elements() ? elements_.bytes().subspan(before_) : std::span<const std::byte>();
  }

  /// Whether the elements still equal the original's.
  [[nodiscard]] bool is_unchanged() const {
    if (!has_elements()) return true;
    const auto now = elements();
    std::vector<std::byte> same(now.size());
    copy_elements(same.data(), tensor().dl.strides, host_elements(), original_->dl.strides);
    return std::ranges::equal(now, same);
  }

  /// Copies sizes and elements to the original. False when it cannot have those sizes.
  [[nodiscard]] bool copy_back() const {
    const tenon_tensor& tensor = this->tensor();
    if (host::resize_tensor(*original_, {tensor.dl.shape, rank()}) != Error::Ok) return false;
    if (has_elements() && tensor.dl.data == elements_.data() + before_ - tensor.dl.byte_offset &&
        original_->nbytes <= elements().size()) {
      copy_elements(host_elements(), original_->dl.strides, elements().data(), tensor.dl.strides);
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

  [[nodiscard]] std::byte* host_elements() const noexcept {
    return static_cast<std::byte*>(original_->dl.data) + original_->dl.byte_offset;
  }

  /// Copies the elements from one dense order in memory to another one.
  void copy_elements(std::byte* to, const std::int64_t* to_strides, const std::byte* from,
                     const std::int64_t* from_strides) const {
    const auto nbytes = static_cast<std::size_t>(original_->nbytes);
    if (nbytes == 0) return;  // `std::memcpy` takes no null pointer, even for no bytes.
    if (!reversed_) {
      std::memcpy(to, from, nbytes);
      return;
    }
    const std::span<const std::int64_t> sizes(original_->dl.shape, rank());
    const std::size_t element = size_of(static_cast<ScalarType>(original_->scalar_type));
    std::vector<std::byte> ordered(nbytes);
    host::gather(ordered.data(), from, sizes, {from_strides, rank()}, element);
    host::scatter(to, ordered.data(), sizes, {to_strides, rank()}, element);
  }

  /// Describes the sizes in the opposite order of dimensions.
  void reverse() noexcept {
    tenon_tensor& tensor = this->tensor();
    const auto is_longer = [](std::int64_t size) { return size > 1; };
    reversed_ = std::count_if(tensor.dl.shape, tensor.dl.shape + rank(), is_longer) > 1;
    if (!reversed_) return;
    auto* const order = const_cast<std::uint8_t*>(tensor.dim_order);
    std::reverse(order, order + rank());
    host::fill_strides({tensor.dl.shape, rank()}, order, tensor.dl.strides);
  }

  void lend_elements(const GuardSettings& settings, std::size_t byte_offset) {
    // An input has the bytes of its current sizes, whatever its capacity.
    const auto needed = static_cast<std::size_t>(original_->nbytes);
    const std::size_t size = role_ == Role::input
                                 ? needed
                                 : std::max(needed, static_cast<std::size_t>(original_->capacity));
    const std::size_t element = size_of(static_cast<ScalarType>(original_->scalar_type));
    const std::size_t alignment = settings.place == Placement::at_end ? element : 64;
    before_ = byte_offset;
    elements_ =
        GuardedMemory(before_ + size, alignment,
                      role_ == Role::input ? settings.outside_input : settings.outside_output,
                      settings.place == Placement::misaligned ? element : 0);
    std::byte* const first = elements_.data() + before_;
    std::memset(elements_.data(), 0x5C, before_);
    if (role_ == Role::output) {
      std::memset(first, std::to_integer<int>(settings.fill), size);
    } else if (reversed_) {
      copy_elements(first, tensor().dl.strides, host_elements(), original_->dl.strides);
    } else {
      std::memcpy(first, host_elements(), size);
    }
    if (is_constant()) {
      elements_.forbid_writes({"TN-TEN-1", "of a constant"});
    } else if (role_ == Role::input && settings.protect_inputs) {
      elements_.forbid_writes({"TN-EXE-2", "of an input"});
    }
    tensor().dl.data = elements_.data();
    tensor().dl.byte_offset = before_;
  }

  tenon_tensor* original_;
  GuardedMemory description_;
  GuardedMemory elements_;
  std::size_t before_ = 0;  // Bytes of `elements_` in front of the first element.
  bool reversed_ = false;   // Whether the order in memory differs from the original's.
  std::list<GuardedMemory> earlier_;
  Role role_ = Role::either;
};

}}}  // namespace tenon::TENON_RELEASE::conformance
