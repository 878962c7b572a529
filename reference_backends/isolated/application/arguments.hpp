// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "application_lane.hpp"
#include "boundary/messages.hpp"
#include "boundary/protocol.hpp"
#include "tenon/abi/backend.h"
#include "tenon/core/result.hpp"

namespace tenon::isolated {

/// Takes the arguments of a delegate's calls to the worker, and back what a call changed.
///
/// The boundary does not say which arguments are outputs. All that are not constant are copied
/// there; back comes what differs. It is written by a system call, which fails where the plugin
/// changed an input that is read-only, until that has succeeded once at this address.
class ArgumentsCopy {
 public:
  /// Writes the arguments to `lane.out()`, and where tensors will be. errors: NotSupported for what
  /// does not cross.
  [[nodiscard]] Status write(std::span<tenon_value* const> args, Writer& to) {
    count_ = 0;
    size_ = 0;
    to.put<std::uint64_t>(args.size());
    for (const tenon_value* value : args) TENON_RETURN_IF_ERROR(write_value(value, to));
    return ok();
  }
  /// Bytes of the arena that the tensors need.
  [[nodiscard]] std::uint64_t size() const noexcept { return size_; }

  /// Copies the tensors' bytes. `is_new` says that the arena has nothing yet.
  void copy_in(const ApplicationLane& lane, bool is_new) noexcept {
    for (std::size_t i = 0; i < count_; ++i) {
      Place& place = places_[i];
      const tenon_tensor& tensor = *place.tensor;
      const bool is_there = !is_new && (tensor.flags & TENON_TENSOR_CONSTANT) != 0 &&
                            place.copied_from == tensor.dl.data && place.copied_to == place.at &&
                            place.copied_size == tensor.nbytes;
      if (is_there || !tensor.dl.data || tensor.nbytes == 0) continue;
      std::memcpy(lane.arena().data() + place.at, tensor.dl.data,
                  static_cast<std::size_t>(tensor.nbytes));
      place.copied_from = tensor.dl.data;
      place.copied_to = place.at;
      place.copied_size = tensor.nbytes;
    }
  }

  /// Takes the sizes that the plugin gave, and the bytes that differ. errors: Internal for what the
  /// worker may not change, or an answer that cannot be read.
  [[nodiscard]] Status copy_out(const tenon_host* host, const ApplicationLane& lane, Reader& from) {
    if (from.get<std::uint64_t>() != count_) return broken();
    for (std::size_t i = 0; i < count_; ++i) {
      if (from.get<std::uint8_t>() != 0) TENON_RETURN_IF_ERROR(resize(host, i, from));
      if (!from.ok()) return broken();
      Place& place = places_[i];
      const tenon_tensor& tensor = *place.tensor;
      if (!tensor.dl.data || tensor.nbytes == 0 || (tensor.flags & TENON_TENSOR_CONSTANT) != 0) {
        continue;
      }
      const auto nbytes = static_cast<std::size_t>(tensor.nbytes);
      const std::byte* const bytes = lane.arena().data() + place.at;
      if (std::memcmp(tensor.dl.data, bytes, nbytes) == 0) continue;
      if (place.written_to == tensor.dl.data && place.written_size >= nbytes) {
        std::memcpy(tensor.dl.data, bytes, nbytes);
        continue;
      }
      TENON_RETURN_IF_ERROR(write_back(lane, i, nbytes));
    }
    return from.is_at_end() ? ok() : broken();
  }

 private:
  struct Place {
    tenon_tensor* tensor = nullptr;
    std::uint64_t at = 0;
    std::uint64_t room = 0;
    const void* copied_from = nullptr;
    std::uint64_t copied_to = 0;
    std::uint64_t copied_size = 0;
    const void* written_to = nullptr;
    std::size_t written_size = 0;
  };

  static Status broken() { return error(Error::Internal, "its answer to execute cannot be read"); }

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
          // A list in a list is none of the kinds.
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
    if (dl.device.device_type != TENON_DL_CPU) {
      return error(Error::NotSupported, "a tensor is on device ", dl.device.device_type, ":",
                   dl.device.device_id, "; only memory of the CPU crosses to a worker");
    }
    if (dl.ndim < 0 || dl.ndim > max_rank) {
      return error(Error::InvalidArgument, "a tensor has rank ", dl.ndim);
    }
    constexpr std::uint64_t alignment = 64;
    const auto rank = static_cast<std::size_t>(dl.ndim);
    const std::uint64_t room = std::max(tensor->capacity, tensor->nbytes);
    if (room > PTRDIFF_MAX) return error(Error::InvalidArgument, "a tensor has ", room, " bytes");
    if (count_ == places_.size()) places_.emplace_back();
    Place& place = places_[count_++];
    place.tensor = tensor;
    place.at = size_;
    place.room = dl.data ? room : 0;
    size_ += (place.room + alignment - 1) / alignment * alignment;
    to.put(WireTensor{tensor->scalar_type, dl.ndim, dl.dtype, tensor->flags, tensor->shape_dynamism,
                      dl.data != nullptr, dl.byte_offset, tensor->nbytes, tensor->capacity,
                      place.at});
    to.put_array(dl.shape, rank);
    to.put_array(dl.strides, rank);
    to.put_array(tensor->bounds, rank);
    to.put_array(tensor->dim_order, rank);
    return ok();
  }

  Status resize(const tenon_host* host, std::size_t index, Reader& from) {
    tenon_tensor& tensor = *places_[index].tensor;
    std::int64_t sizes[max_rank];
    const auto rank = static_cast<std::size_t>(tensor.dl.ndim);
    if (!from.get_array(sizes, rank)) return broken();
    const tenon_status status =
        host->resize_tensor(host, &tensor, sizes, static_cast<std::uint32_t>(rank));
    if (status == TENON_STATUS_OK && tensor.nbytes <= places_[index].room) return ok();
    return error(Error::Internal, "it gave tensor ", index, " sizes that the tensor cannot have");
  }

  Status write_back(const ApplicationLane& lane, std::size_t index, std::size_t nbytes) {
    Place& place = places_[index];
    auto* const data = static_cast<std::byte*>(place.tensor->dl.data);
    std::size_t done = 0;
    while (done != nbytes) {
      const ssize_t now = ::pread(lane.arena_file(), data + done, nbytes - done,
                                  static_cast<off_t>(place.at + done));
      if (now < 0 && errno == EINTR) continue;
      if (now <= 0) {
        return error(Error::Internal, "it changed tensor ", index,
                     ", which is read-only: an input (TN-EXE-2)");
      }
      done += static_cast<std::size_t>(now);
    }
    place.written_to = data;
    place.written_size = nbytes;
    return ok();
  }

  std::vector<Place> places_;  // The first `count_` are of this call.
  std::size_t count_ = 0;
  std::uint64_t size_ = 0;
};

}  // namespace tenon::isolated
