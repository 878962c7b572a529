// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "arena.hpp"
#include "boundary/messages.hpp"
#include "boundary/protocol.hpp"
#include "checked_write.hpp"
#include "remote_memory.hpp"
#include "tenon/abi/backend.h"
#include "tenon/abi/draft/external_memory.h"
#include "tenon/abi/extensions/device_memory.h"
#include "tenon/core/result.hpp"

namespace tenon::isolated {

/// Takes the arguments of calls of one delegate or kernel to the worker, and back what a call
/// changed.
///
/// The boundary does not say which arguments are outputs. All that are not constant are copied
/// there; back comes what differs, by `checked_write`, which fails where the plugin changed an
/// input that is read-only. Tensors that have bytes in common have them in the arena, too.
class ArgumentsCopy {
 public:
  /// `takes_views` lets a call make a tensor a view of another one, as kernels may.
  explicit ArgumentsCopy(bool takes_views = false) noexcept : takes_views_(takes_views) {}

  /// Writes the arguments to `to`, and where tensors will be. errors: NotSupported for what does
  /// not cross.
  [[nodiscard]] Status write(std::span<tenon_value* const> args, const RemoteMemories& memories,
                             Writer& to) {
    memories_ = memories.has_any() ? &memories : nullptr;
    used_.clear();
    const std::size_t count_before = count_;
    count_ = 0;
    size_ = 0;
    numbers_.clear();
    is_moved_ = false;
    const std::vector<std::uint32_t>& first_of = find_list(args);
    to.put(list_);
    to.put<std::uint64_t>(args.size());
    for (std::size_t i = 0; i < args.size(); ++i) {
      if (first_of[i] != i) {
        to.put(same_value);
        to.put(first_of[i]);
        continue;
      }
      TENON_RETURN_IF_ERROR(write_value(args[i], to));
      if (args[i] && is_number(*args[i])) numbers_.push_back(args[i]);
    }
    if (is_moved_ || count_ != count_before || overlaps_) place_overlapping(to);
    return ok();
  }
  /// Memory that tensors are in, besides the arena, which the worker must have.
  [[nodiscard]] const std::vector<std::shared_ptr<RemoteMemory>>& used() const noexcept {
    return used_;
  }
  /// Bytes of the arena that the tensors need.
  [[nodiscard]] std::uint64_t size() const noexcept { return size_; }

  /// Copies the tensors' bytes. `is_new` says that the arena has nothing yet.
  void copy_in(const Arena& arena, bool is_new) noexcept {
    for (std::size_t i = 0; i < count_; ++i) {
      Place& place = places_[i];
      const tenon_tensor& tensor = *place.tensor;
      const bool is_there = !is_new && (tensor.flags & TENON_TENSOR_CONSTANT) != 0 &&
                            place.copied_from == place.data && place.copied_to == place.at &&
                            place.copied_size == tensor.nbytes;
      if (is_there || !place.data || tensor.nbytes == 0) continue;
      std::memcpy(arena.data() + place.at, place.data, static_cast<std::size_t>(tensor.nbytes));
      place.copied_from = place.data;
      place.copied_to = place.at;
      place.copied_size = tensor.nbytes;
    }
  }

  /// Finds out which of the tensors that earlier calls changed can be written. Called while the
  /// worker runs, so that it takes no time of the call.
  void look_ahead() noexcept {
    for (std::size_t i = 0; i < count_; ++i) {
      Place& place = places_[i];
      if (!place.data || place.changed_at != place.data) continue;
      const auto nbytes = static_cast<std::size_t>(place.tensor->nbytes);
      if (can_write(place.data, nbytes)) place.writable = nbytes;
    }
  }

  /// Takes the sizes, the numbers and, of views, the places that the plugin gave, and the bytes
  /// that differ. errors: Internal for what the worker may not change, or an answer that cannot be
  /// read.
  [[nodiscard]] Status copy_out(const tenon_host* host, const Arena& arena, Reader& from) {
    if (from.get<std::uint64_t>() != count_) return broken();
    for (std::size_t i = 0; i < count_; ++i) {
      const auto changes = from.get<std::uint8_t>();
      if ((changes & tensor_is_resized) != 0) TENON_RETURN_IF_ERROR(resize(host, i, from));
      if ((changes & tensor_is_view) != 0) TENON_RETURN_IF_ERROR(move(i, from));
      if (!from.ok()) return broken();
      const tenon_tensor& tensor = *places_[i].tensor;
      // The bytes of a view belong to the other tensor.
      if (!places_[i].data || (changes & tensor_is_view) != 0 || tensor.nbytes == 0 ||
          (tensor.flags & TENON_TENSOR_CONSTANT) != 0) {
        continue;
      }
      TENON_RETURN_IF_ERROR(copy_tensor(arena, i));
    }
    if (from.get<std::uint64_t>() != numbers_.size()) return broken();
    for (tenon_value* number : numbers_) take_number(from.get<std::int64_t>(), *number);
    return from.is_at_end() ? ok() : broken();
  }

 private:
  struct Place {
    tenon_tensor* tensor = nullptr;
    std::byte* data = nullptr;  ///< The first byte of the tensor in this call.
    std::uint64_t at = 0;
    std::uint64_t room = 0;
    std::size_t wire_at = 0;  ///< Where the message has it.
    const void* copied_from = nullptr;
    std::uint64_t copied_to = 0;
    std::uint64_t copied_size = 0;
    const std::byte* changed_at = nullptr;  ///< The data that a call changed last.
    std::size_t writable = 0;               ///< Bytes at `data` in this call, as far as known.
    const tenon_tensor* view = nullptr;     ///< The tensor that the last call made a view,
    const std::byte* view_begin = nullptr;  ///< and its first byte since then.
  };

  static constexpr std::uint64_t alignment = 64;
  static constexpr std::uint64_t aligned(std::uint64_t size) noexcept {
    return (size + alignment - 1) / alignment * alignment;
  }

  static Status broken() { return error(Error::Internal, "its answer cannot be read"); }

  static bool is_number(const tenon_value& value) noexcept {
    return value.kind == TENON_VALUE_DOUBLE || value.kind == TENON_VALUE_INT ||
           value.kind == TENON_VALUE_BOOL;
  }

  /// One list of arguments: a delegate that is called in several places has several.
  struct List {
    std::vector<tenon_value*> args;
    std::vector<std::uint32_t> first_of;  ///< The first argument that is the same value.
  };

  /// Finds the list that `args` is, and thereby arguments that are the same value, as an output
  /// that is returned, too.
  const std::vector<std::uint32_t>& find_list(std::span<tenon_value* const> args) {
    if (last_ && args.size() == last_->args.size() && !args.empty() &&
        std::memcmp(args.data(), last_->args.data(), args.size_bytes()) == 0) {
      return last_->first_of;
    }
    for (auto& [number, list] : lists_) {
      if (!std::ranges::equal(args, list.args)) continue;
      list_ = number;
      last_ = &list;
      return list.first_of;
    }
    if (lists_.size() == max_argument_lists) lists_.erase(lists_.begin());
    list_ = ++num_lists_;
    last_ = &lists_[list_];
    last_->args.assign(args.begin(), args.end());
    last_->first_of.resize(args.size());
    std::unordered_map<const tenon_value*, std::uint32_t> seen;
    for (std::uint32_t i = 0; i < args.size(); ++i) {
      last_->first_of[i] = args[i] ? seen.emplace(args[i], i).first->second : i;
    }
    return last_->first_of;
  }

  Status write_value(const tenon_value* value, Writer& to) {
    if (!value) {
      to.put(no_value);
      return ok();
    }
    to.put(value->kind);
    switch (value->kind) {
      case TENON_VALUE_TENSOR:
        return write_tensor(value->as.tensor, to);
      case TENON_VALUE_STRING:
      case TENON_VALUE_BOOL_LIST:
        to.put_bytes(value->as.span.data, value->as.span.data ? value->as.span.size : 0);
        return ok();
      case TENON_VALUE_DOUBLE_LIST: {
        const std::size_t count =
            value->as.span.data ? static_cast<std::size_t>(value->as.span.size) : 0;
        to.put<std::uint64_t>(count);
        to.put_array(static_cast<const double*>(value->as.span.data), count);
        return ok();
      }
      case TENON_VALUE_INT_LIST:
      case TENON_VALUE_TENSOR_LIST:
      case TENON_VALUE_SCALAR_LIST:
      case TENON_VALUE_OPTIONAL_TENSOR_LIST: {
        const auto* elements = static_cast<const tenon_value* const*>(value->as.span.data);
        const std::uint64_t count = elements ? value->as.span.size : 0;
        to.put(count);
        for (std::uint64_t i = 0; i < count; ++i) {
          // A list in a list is no kind of value.
          if (elements[i] && elements[i]->kind >= TENON_VALUE_BOOL_LIST) {
            return error(Error::InvalidType, "a list has an element of kind ", elements[i]->kind);
          }
          TENON_RETURN_IF_ERROR(write_value(elements[i], to));
        }
        return ok();
      }
      case TENON_VALUE_BOOL:
        to.put<std::int64_t>(value->as.boolean);
        return ok();
      case TENON_VALUE_NONE:
        to.put<std::int64_t>(0);
        return ok();
      default:
        to.put(value->as.integer);
        return ok();
    }
  }

  Status write_tensor(tenon_tensor* tensor, Writer& to) {
    to.put<std::uint8_t>(tensor != nullptr);
    if (!tensor) return ok();
    const tenon_dl_tensor& dl = tensor->dl;
    if (dl.ndim < 0 || dl.ndim > max_rank) {
      return error(Error::InvalidArgument, "a tensor has rank ", dl.ndim);
    }
    const auto rank = static_cast<std::size_t>(dl.ndim);
    const std::uint64_t room = std::max(tensor->capacity, tensor->nbytes);
    if (room > PTRDIFF_MAX) return error(Error::InvalidArgument, "a tensor has ", room, " bytes");
    if (count_ == places_.size()) places_.emplace_back();
    Place& place = places_[count_++];
    auto* data = dl.data ? static_cast<std::byte*>(dl.data) + dl.byte_offset : nullptr;
    const bool has_data = data != nullptr;
    std::uint64_t remote = 0;
    std::uint64_t offset = 0;
    if (memories_ || dl.device.device_type != TENON_DL_CPU) [[unlikely]] {
      TENON_TRY(const auto found, find_remote(*tensor, data));
      if (found) {
        remote = found->number();
        offset = static_cast<std::uint64_t>(data - found->begin());
        data = nullptr;  // Nothing is copied.
      }
    }
    is_moved_ |= place.data != data || place.room != (data ? room : 0);
    place.tensor = tensor;
    place.data = data;
    place.at = size_;
    place.room = data ? room : 0;
    place.writable = 0;
    place.wire_at = to.size();
    size_ += aligned(place.room);
    to.put(WireTensor{tensor->scalar_type, dl.ndim, dl.dtype, tensor->flags, tensor->shape_dynamism,
                      has_data, dl.device, tensor->nbytes, tensor->capacity, remote,
                      remote != 0 ? offset : place.at});
    to.put_array(dl.shape, rank);
    to.put_array(dl.strides, rank);
    to.put_array(tensor->bounds, rank);
    to.put_array(tensor->dim_order, rank);
    return ok();
  }

  /// The memory that the tensor is in, null for what is copied.
  Result<std::shared_ptr<RemoteMemory>> find_remote(const tenon_tensor& tensor,
                                                    const std::byte* data) {
    const tenon_dl_device device = tensor.dl.device;
    const bool is_on_device = device.device_type != TENON_DL_CPU;
    std::shared_ptr<RemoteMemory> out;
    if (memories_ && data) out = memories_->find(data, tensor.nbytes);
    if (out && (out->device().device_type != device.device_type ||
                out->device().device_id != device.device_id)) {
      out.reset();
    }
    if (is_on_device && data && !out) {
      return error(Error::NotSupported, "a tensor is on device ", device.device_type, ":",
                   device.device_id,
                   ", in memory that this plugin neither made (" TENON_EXTENSION_DEVICE_MEMORY
                   ") nor imported (" TENON_EXTENSION_EXTERNAL_MEMORY
                   "); no other memory of devices crosses to a worker");
    }
    if (out) used_.push_back(out);
    return out;
  }

  /// Gives tensors that have bytes in common, where there are any, places that have, too.
  void place_overlapping(Writer& to) {
    order_.clear();
    for (std::size_t i = 0; i < count_; ++i) {
      if (places_[i].room != 0) order_.push_back(i);
    }
    std::ranges::sort(order_, [&](std::size_t a, std::size_t b) {
      return std::pair(places_[a].data, a) < std::pair(places_[b].data, b);
    });
    const std::byte* end = nullptr;
    overlaps_ = false;
    for (const std::size_t i : order_) {
      overlaps_ |= places_[i].data < end;
      end = std::max<const std::byte*>(end, places_[i].data + places_[i].room);
    }
    if (!overlaps_) return;
    const std::byte* begin = nullptr;
    std::uint64_t begin_at = 0;
    end = nullptr;
    size_ = 0;
    for (const std::size_t i : order_) {
      Place& place = places_[i];
      if (place.data >= end) {
        begin = place.data;
        begin_at = aligned(size_) + reinterpret_cast<std::uintptr_t>(begin) % alignment;
      }
      end = std::max<const std::byte*>(end, place.data + place.room);
      place.at = begin_at + static_cast<std::uint64_t>(place.data - begin);
      size_ = begin_at + static_cast<std::uint64_t>(end - begin);
      to.put_at(place.wire_at + offsetof(WireTensor, place), place.at);
    }
  }

  Status resize(const tenon_host* host, std::size_t index, Reader& from) {
    tenon_tensor& tensor = *places_[index].tensor;
    std::int64_t sizes[max_rank];
    const auto rank = static_cast<std::size_t>(tensor.dl.ndim);
    if (!from.get_array(sizes, rank)) return broken();
    const tenon_status status =
        host->resize_tensor(host, &tensor, sizes, static_cast<std::uint32_t>(rank));
    const bool fits = !places_[index].data || tensor.nbytes <= places_[index].room;
    if (status == TENON_STATUS_OK && fits) return ok();
    return error(Error::Internal, "it gave tensor ", index, " sizes that the tensor cannot have");
  }

  /// Makes a tensor a view of another one, which must have all bytes that the tensor may ever have.
  ///
  /// Only an output without memory of its own is moved: a tensor without data, or the view that
  /// this kernel made before. The host has put every other tensor where it is, and instructions
  /// that write to it rely on that. A view of a constant is refused, as it lacks the flag that
  /// keeps others from writing to it.
  Status move(std::size_t index, Reader& from) {
    const auto other = from.get<std::uint64_t>();
    const auto offset = from.get<std::uint64_t>();
    if (!from.ok()) return broken();
    if (!takes_views_) {
      return error(Error::Internal, "it moved the data of tensor ", index, " (TN-TEN-3)");
    }
    Place& place = places_[index];
    tenon_tensor& tensor = *place.tensor;
    const bool is_view = place.view == &tensor && place.view_begin == place.data;
    if ((tensor.dl.data && !is_view) || (tensor.flags & TENON_TENSOR_CONSTANT) != 0) {
      return error(Error::Internal, "it made tensor ", index,
                   " a view, which has memory of its own: only an output without is made one");
    }
    const std::uint64_t room = std::max(tensor.capacity, tensor.nbytes);
    if (other >= count_ || other == index || !places_[other].data || offset > places_[other].room ||
        room > places_[other].room - offset) {
      return error(Error::Internal, "it made tensor ", index,
                   " a view of bytes that no argument has");
    }
    if ((places_[other].tensor->flags & TENON_TENSOR_CONSTANT) != 0) {
      return error(Error::Internal, "it made tensor ", index, " a view of a constant");
    }
    place.view = &tensor;
    place.view_begin = places_[other].data + offset;
    tensor.dl.data = places_[other].data + offset - tensor.dl.byte_offset;
    return ok();
  }

  static void take_number(std::int64_t bits, tenon_value& to) noexcept {
    if (to.kind == TENON_VALUE_BOOL) {
      if ((bits != 0) != (to.as.boolean != 0)) to.as.boolean = bits != 0;
    } else if (to.as.integer != bits) {
      to.as.integer = bits;
    }
  }

  Status copy_tensor(const Arena& arena, std::size_t index) {
    Place& place = places_[index];
    const std::span bytes(arena.data() + place.at, static_cast<std::size_t>(place.tensor->nbytes));
    if (std::memcmp(place.data, bytes.data(), bytes.size()) == 0) return ok();
    place.changed_at = place.data;
    if (bytes.size() <= place.writable) {
      std::memcpy(place.data, bytes.data(), bytes.size());
      return ok();
    }
    if (checked_write(place.data, bytes, arena.file(), place.at)) return ok();
    return error(Error::Internal, "it changed tensor ", index,
                 ", which is read-only: an input (TN-EXE-2)");
  }

  bool takes_views_;
  const RemoteMemories* memories_ = nullptr;  // During `write`.
  std::vector<std::shared_ptr<RemoteMemory>> used_;
  std::map<std::uint64_t, List> lists_;  // By number, the oldest first.
  std::uint64_t num_lists_ = 0;
  std::uint64_t list_ = 0;  // Of this call.
  List* last_ = nullptr;
  std::vector<tenon_value*> numbers_;  // Which a call may write.
  std::vector<Place> places_;          // The first `count_` are of this call.
  std::vector<std::size_t> order_;
  std::size_t count_ = 0;
  std::uint64_t size_ = 0;
  bool is_moved_ = false;  // A tensor is elsewhere than in the call before.
  bool overlaps_ = false;
};

}  // namespace tenon::isolated
