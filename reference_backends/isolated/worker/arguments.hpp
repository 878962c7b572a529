// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "boundary/messages.hpp"
#include "boundary/protocol.hpp"
#include "tenon/abi/tensor.h"
#include "tenon/core/result.hpp"

namespace tenon::isolated {

/// The arguments of a delegate's calls as the plugin sees them: values that stay at their addresses
/// while calls have the same kinds and ranks (TN-TEN-3), and point into the arena of the lane.
class Arguments {
 public:
  /// Reads the arguments of one call, whose tensors are in `arena`.
  [[nodiscard]] Status read(Reader& from, std::span<std::byte> arena) {
    const std::size_t count = from.get_count(sizeof(std::uint32_t));
    slots_.resize(count);
    pointers_.resize(count);
    tensors_.clear();
    for (std::size_t i = 0; i < count; ++i) {
      TENON_RETURN_IF_ERROR(read_value(from, arena, slots_[i]));
      pointers_[i] = slots_[i] ? &slots_[i]->value : nullptr;
    }
    return ok();
  }

  /// Adds what the call changed: the sizes of each tensor, in order.
  void write_changes(Writer& to) const {
    to.put<std::uint64_t>(tensors_.size());
    for (const Slot* slot : tensors_) {
      const tenon_tensor& tensor = slot->tensor;
      const auto rank = static_cast<std::size_t>(tensor.dl.ndim);
      const bool is_resized = slot->shape != slot->shape_before;
      to.put<std::uint8_t>(is_resized);
      if (is_resized) to.put_array(slot->shape.data(), rank);
    }
  }

  [[nodiscard]] tenon_value* const* data() const noexcept { return pointers_.data(); }
  [[nodiscard]] std::uint32_t size() const noexcept {
    return static_cast<std::uint32_t>(pointers_.size());
  }

 private:
  struct Slot {
    tenon_value value{sizeof(tenon_value), TENON_VALUE_NONE, {}};
    tenon_tensor tensor{};
    std::vector<std::int64_t> shape;
    std::vector<std::int64_t> shape_before;
    std::vector<std::int64_t> strides;
    std::vector<std::int64_t> bounds;
    std::vector<std::uint8_t> dim_order;
    std::vector<std::byte> bytes;
    std::vector<double> reals;
    std::vector<std::unique_ptr<Slot>> elements;
    std::vector<tenon_value*> pointers;
  };

  static Status broken() { return error(Error::Internal, "a call's arguments cannot be read"); }

  Status read_value(Reader& from, std::span<std::byte> arena, std::unique_ptr<Slot>& slot) {
    const auto kind = from.get<std::uint32_t>();
    if (!from.ok()) return broken();
    if (kind == no_value) {
      slot.reset();
      return ok();
    }
    if (!slot) slot = std::make_unique<Slot>();
    tenon_value& value = slot->value;
    value.kind = kind;
    switch (kind) {
      case TENON_VALUE_TENSOR:
        return read_tensor(from, arena, *slot);
      case TENON_VALUE_STRING:
      case TENON_VALUE_BOOL_LIST: {
        const auto bytes = from.get_bytes();
        slot->bytes.assign(bytes.begin(), bytes.end());
        value.as.span = {slot->bytes.data(), slot->bytes.size()};
        break;
      }
      case TENON_VALUE_DOUBLE_LIST: {
        slot->reals.resize(from.get_count(sizeof(double)));
        from.get_array(slot->reals.data(), slot->reals.size());
        value.as.span = {slot->reals.data(), slot->reals.size()};
        break;
      }
      case TENON_VALUE_INT_LIST:
      case TENON_VALUE_TENSOR_LIST:
      case TENON_VALUE_SCALAR_LIST:
      case TENON_VALUE_OPTIONAL_TENSOR_LIST: {
        const std::size_t count = from.get_count(sizeof(std::uint32_t));
        slot->elements.resize(count);
        slot->pointers.resize(count);
        for (std::size_t i = 0; i < count; ++i) {
          TENON_RETURN_IF_ERROR(read_value(from, arena, slot->elements[i]));
          slot->pointers[i] = slot->elements[i] ? &slot->elements[i]->value : nullptr;
        }
        value.as.span = {slot->pointers.data(), count};
        break;
      }
      default:
        value.as.integer = from.get<std::int64_t>();
    }
    return from.ok() ? ok() : broken();
  }

  Status read_tensor(Reader& from, std::span<std::byte> arena, Slot& slot) {
    if (from.get<std::uint8_t>() == 0) {
      slot.value.as.tensor = nullptr;
      return from.ok() ? ok() : broken();
    }
    const auto wire = from.get<WireTensor>();
    if (!from.ok() || wire.ndim < 0 || wire.ndim > max_rank || wire.place > arena.size()) {
      return broken();
    }
    const auto rank = static_cast<std::size_t>(wire.ndim);
    slot.shape.resize(rank);
    slot.strides.resize(rank);
    slot.bounds.resize(rank);
    slot.dim_order.resize(rank);
    from.get_array(slot.shape.data(), rank);
    from.get_array(slot.strides.data(), rank);
    from.get_array(slot.bounds.data(), rank);
    from.get_array(slot.dim_order.data(), rank);
    if (!from.ok()) return broken();
    slot.shape_before = slot.shape;
    slot.tensor = {sizeof(tenon_tensor),
                   wire.scalar_type,
                   {wire.has_data != 0 ? arena.data() + wire.place : nullptr,
                    {TENON_DL_CPU, 0},
                    wire.ndim,
                    wire.dtype,
                    slot.shape.data(),
                    slot.strides.data(),
                    wire.byte_offset},
                   slot.dim_order.data(),
                   slot.bounds.data(),
                   wire.nbytes,
                   wire.capacity,
                   wire.shape_dynamism,
                   wire.flags};
    slot.value.as.tensor = &slot.tensor;
    tensors_.push_back(&slot);
    return ok();
  }

  std::vector<std::unique_ptr<Slot>> slots_;
  std::vector<tenon_value*> pointers_;
  std::vector<const Slot*> tensors_;  // Of this call, in the order of the message.
};

}  // namespace tenon::isolated
