// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "boundary/messages.hpp"
#include "boundary/protocol.hpp"
#include "tenon/abi/tensor.h"
#include "tenon/core/scalar_type.hpp"
#include "tenon/host/loader/plugin/tensor_storage.hpp"

namespace tenon::isolated {

/// A tensor that a worker sent: of no more than it says, and with the bytes of its sizes. Its
/// address must not change.
class ReceivedTensor {
 public:
  ReceivedTensor() = default;
  ReceivedTensor(const ReceivedTensor&) = delete;
  ReceivedTensor& operator=(const ReceivedTensor&) = delete;

  /// Reads a tensor, whose bytes stay in the message. False for what is no tensor.
  [[nodiscard]] bool read(Reader& from) {
    const auto scalar_type = from.get<std::int32_t>();
    const std::size_t rank = from.get_count(sizeof(std::int64_t));
    if (!from.ok() || rank > static_cast<std::size_t>(max_rank)) return false;
    shape_.resize(rank);
    strides_.resize(rank);
    dim_order_.resize(rank);
    from.get_array(shape_.data(), rank);
    from.get_array(dim_order_.data(), rank);
    const std::span<const std::byte> bytes = from.get_bytes();
    const ScalarTypeInfo* const type = find_scalar_type(scalar_type);
    const std::int64_t count = host::count_elements(shape_);
    std::uint64_t nbytes = 0;
    if (!from.is_at_end() || !type || count < 0 || !is_order() ||
        __builtin_mul_overflow(static_cast<std::uint64_t>(count), type->size, &nbytes) ||
        nbytes != bytes.size()) {
      return false;
    }
    host::fill_strides(shape_, dim_order_.data(), strides_.data());
    tensor_ = {sizeof(tenon_tensor),
               scalar_type,
               {const_cast<std::byte*>(bytes.data()),
                {TENON_DL_CPU, 0},
                static_cast<std::int32_t>(rank),
                type->dl,
                shape_.data(),
                strides_.data(),
                0},
               dim_order_.data(),
               shape_.data(),
               nbytes,
               nbytes,
               TENON_SHAPE_STATIC,
               0};
    return true;
  }

  [[nodiscard]] const tenon_tensor& get() const noexcept { return tensor_; }

 private:
  /// Whether each dimension is there once.
  [[nodiscard]] bool is_order() const {
    std::vector<bool> seen(dim_order_.size());
    for (const std::uint8_t each : dim_order_) {
      if (each >= seen.size() || seen[each]) return false;
      seen[each] = true;
    }
    return true;
  }

  std::vector<std::int64_t> shape_;
  std::vector<std::int64_t> strides_;
  std::vector<std::uint8_t> dim_order_;
  tenon_tensor tensor_{};
};

}  // namespace tenon::isolated
