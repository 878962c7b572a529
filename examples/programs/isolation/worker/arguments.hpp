// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "boundary/messages.hpp"
#include "boundary/protocol.hpp"
#include "tenon/abi/tensor.h"
#include "tenon/core/result.hpp"

namespace tenon::isolated {

/// Memory of tensors that is not in an arena.
class MemoryOfTensors {
 public:
  /// The address of a range, or null when there is none.
  [[nodiscard]] virtual void* find(std::uint64_t number, std::uint64_t offset,
                                   std::uint64_t nbytes) const = 0;

 protected:
  ~MemoryOfTensors() = default;
};

/// The arguments of a delegate's calls as the plugin sees them: values that stay at their addresses
/// while calls have the same kinds and ranks (TN-TEN-3), and point into the arena of the lane.
class Arguments {
 public:
  /// Reads the arguments of one call, whose tensors are in `arena` or in `memory`.
  [[nodiscard]] Status read(Reader& from, std::span<std::byte> arena,
                            const MemoryOfTensors* memory) {
    memory_ = memory;
    const auto number = from.get<std::uint64_t>();
    is_same_list_ = number == number_ && list_;
    if (is_kept_ && !is_same_list_) return broken();
    if (!is_same_list_) {
      list_ = &lists_[number];
      number_ = number;
      if (lists_.size() > max_argument_lists) {
        // The oldest, which has the lowest number; not the one of this call, whatever its number.
        const auto oldest = lists_.begin();
        lists_.erase(&oldest->second == list_ ? std::next(oldest) : oldest);
      }
    }
    auto& [slots, pointers] = *list_;
    const std::size_t count = from.get_count(sizeof(std::uint32_t));
    if (is_kept_ && count != slots.size()) return broken();
    slots.resize(count);
    pointers.resize(count);
    tensors_.clear();
    numbers_.clear();
    for (std::size_t i = 0; i < count; ++i) {
      const auto kind = from.get<std::uint32_t>();
      if (kind == same_value) {
        const auto first = from.get<std::uint32_t>();
        if (first >= i) return broken();
        pointers[i] = pointers[first];
        continue;
      }
      TENON_RETURN_IF_ERROR(read_value(kind, from, arena, slots[i]));
      pointers[i] = slots[i] ? &slots[i]->value : nullptr;
      if (slots[i] && is_number(slots[i]->value)) numbers_.push_back(&slots[i]->value);
    }
    return ok();
  }

  /// Adds what the call changed: of each tensor, in order, its sizes and whether it is a view of
  /// another one; then the numbers. errors: Internal for a view of what is no argument.
  [[nodiscard]] Status write_changes(Writer& to) {
    has_changed_ = !numbers_.empty();
    to.put<std::uint64_t>(tensors_.size());
    for (std::size_t i = 0; i < tensors_.size(); ++i) {
      const Slot& slot = *tensors_[i];
      const auto rank = static_cast<std::size_t>(slot.tensor.dl.ndim);
      const bool is_resized = slot.shape != slot.shape_before;
      const bool is_view = slot.tensor.dl.data != slot.data_before;
      has_changed_ |= is_resized || is_view;
      to.put(static_cast<std::uint8_t>((is_resized ? tensor_is_resized : 0) |
                                       (is_view ? tensor_is_view : 0)));
      if (is_resized) to.put_array(slot.shape.data(), rank);
      if (is_view) TENON_RETURN_IF_ERROR(write_view(i, to));
    }
    to.put<std::uint64_t>(numbers_.size());
    for (const tenon_value* number : numbers_) {
      to.put<std::int64_t>(number->kind == TENON_VALUE_BOOL ? number->as.boolean
                                                            : number->as.integer);
    }
    return ok();
  }

  /// The plugin keeps the values of this call: later ones have no others.
  void keep() noexcept { is_kept_ = true; }

  /// Whether the arguments are the values of the call before.
  [[nodiscard]] bool is_same_list() const noexcept { return is_same_list_; }

  /// Whether the call, of which `write_changes` wrote, may have changed more than bytes.
  [[nodiscard]] bool has_changed() const noexcept { return has_changed_; }

  [[nodiscard]] tenon_value* const* data() const noexcept {
    return list_ ? list_->pointers.data() : nullptr;
  }
  [[nodiscard]] std::uint32_t size() const noexcept {
    return static_cast<std::uint32_t>(list_ ? list_->pointers.size() : 0);
  }

 private:
  struct Slot {
    tenon_value value{sizeof(tenon_value), TENON_VALUE_NONE, {}};
    tenon_tensor tensor{};
    void* data_before = nullptr;
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

  static bool is_number(const tenon_value& value) noexcept {
    return value.kind == TENON_VALUE_DOUBLE || value.kind == TENON_VALUE_INT ||
           value.kind == TENON_VALUE_BOOL;
  }

  Status write_view(std::size_t index, Writer& to) const {
    const auto at = reinterpret_cast<std::uintptr_t>(tensors_[index]->tensor.dl.data);
    // Several may have it: the one with the most bytes from there on.
    std::uint64_t most = 0;
    std::uint64_t found = tensors_.size();
    std::uint64_t offset = 0;
    for (std::size_t i = 0; i < tensors_.size(); ++i) {
      const Slot& other = *tensors_[i];
      const auto begin = reinterpret_cast<std::uintptr_t>(other.data_before);
      const std::uint64_t room = std::max(other.tensor.capacity, other.tensor.nbytes);
      if (i == index || !other.data_before || at < begin || at - begin > room) continue;
      const std::uint64_t left = room - (at - begin);
      if (found != tensors_.size() && left <= most) continue;
      most = left;
      found = i;
      offset = at - begin;
    }
    if (found != tensors_.size()) {
      to.put(found);
      to.put(offset);
      return ok();
    }
    return error(Error::Internal, "the data of tensor ", index,
                 " was moved to bytes that no argument has");
  }

  Status read_value(std::uint32_t kind, Reader& from, std::span<std::byte> arena,
                    std::unique_ptr<Slot>& slot) {
    if (!from.ok()) return broken();
    if (kind == no_value) {
      if (is_kept_ && slot) return broken();
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
          const auto element = from.get<std::uint32_t>();
          // As `ArgumentsCopy`: a list in a list is no kind of value.
          if (element != no_value && element >= TENON_VALUE_BOOL_LIST) return broken();
          TENON_RETURN_IF_ERROR(read_value(element, from, arena, slot->elements[i]));
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
    if (!from.ok() || wire.ndim < 0 || wire.ndim > max_rank) return broken();
    const std::uint64_t room = std::max(wire.nbytes, wire.capacity);
    void* data = nullptr;
    if (wire.has_data != 0 && wire.memory == 0) {
      if (wire.place > arena.size() || room > arena.size() - wire.place) return broken();
      data = arena.data() + wire.place;
    }
    if (wire.has_data != 0 && wire.memory != 0) {
      data = memory_ ? memory_->find(wire.memory, wire.place, room) : nullptr;
      if (!data) return error(Error::Internal, "a tensor is in memory that is not here");
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
    // `resize_tensor` finds strides by it.
    const bool is_order = std::ranges::all_of(
        slot.dim_order, [&](std::uint8_t each) { return std::size_t{each} < rank; });
    if (!from.ok() || !is_order) return broken();
    slot.shape_before = slot.shape;
    slot.tensor = {
        sizeof(tenon_tensor),
        wire.scalar_type,
        {data, wire.device, wire.ndim, wire.dtype, slot.shape.data(), slot.strides.data(), 0},
        slot.dim_order.data(),
        slot.bounds.data(),
        wire.nbytes,
        wire.capacity,
        wire.shape_dynamism,
        wire.flags};
    slot.data_before = slot.tensor.dl.data;
    slot.value.as.tensor = &slot.tensor;
    tensors_.push_back(&slot);
    return ok();
  }

  /// The values of one list of arguments. Each list has its values at other addresses.
  struct List {
    std::vector<std::unique_ptr<Slot>> slots;
    std::vector<tenon_value*> pointers;
  };

  const MemoryOfTensors* memory_ = nullptr;
  std::map<std::uint64_t, List> lists_;  // By number, the oldest first.
  std::uint64_t number_ = 0;
  List* list_ = nullptr;
  bool is_same_list_ = false;
  bool is_kept_ = false;
  bool has_changed_ = false;
  std::vector<const tenon_value*> numbers_;
  std::vector<const Slot*> tensors_;  // Of this call, in the order of the message.
};

}  // namespace tenon::isolated
