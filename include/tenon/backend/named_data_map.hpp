// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

#include "tenon/abi/host.h"
#include "tenon/core/bytes.hpp"
#include "tenon/core/result.hpp"
#include "tenon/core/scalar_type.hpp"

namespace tenon { inline namespace TENON_RELEASE {

/// Bytes from a `NamedDataMap`, released on destruction. Must be destroyed before `destroy`
/// returns: keep it in the delegate's own struct.
class NamedData {
 public:
  explicit NamedData(const tenon_buffer& buffer) noexcept : buffer_(buffer) {}
  NamedData(NamedData&& other) noexcept : buffer_(std::exchange(other.buffer_, tenon_buffer{})) {}
  NamedData& operator=(NamedData&& other) noexcept {
    std::swap(buffer_, other.buffer_);
    return *this;
  }
  ~NamedData() {
    if (buffer_.release) buffer_.release(&buffer_);
  }

  [[nodiscard]] Bytes bytes() const noexcept {
    return {static_cast<const std::byte*>(buffer_.data), static_cast<std::size_t>(buffer_.nbytes)};
  }

 private:
  tenon_buffer buffer_;
};

/// Layout of a named tensor.
struct TensorLayout {
  ScalarType scalar_type;
  std::span<const std::int64_t> sizes;
  std::span<const std::uint8_t> dim_order;
};

/// Data by name, from the program and its `.ptd` files. Any thread; valid from `init` to `destroy`.
class NamedDataMap {
 public:
  explicit NamedDataMap(const tenon_named_data_map* map) noexcept : map_(map) {}

  [[nodiscard]] std::size_t num_keys() const noexcept { return map_->num_keys; }

  /// Key number `index`; InvalidArgument above `num_keys()`.
  [[nodiscard]] Result<std::string_view> key(std::size_t index) const {
    const char* text = nullptr;
    std::uint64_t size = 0;
    // Compared here, because a larger number would wrap round to the number of another key.
    const tenon_status status =
        index < num_keys() ? map_->get_key(map_, static_cast<std::uint32_t>(index), &text, &size)
                           : tenon_status{TENON_STATUS_INVALID_ARGUMENT};
    if (status != TENON_STATUS_OK) {
      return error(error_from_status(status), "named data key ", index, ": there are ", num_keys());
    }
    return std::string_view(text, static_cast<std::size_t>(size));
  }

  /// The bytes of `key`; NotFound when it does not exist.
  [[nodiscard]] Result<NamedData> get_data(std::string_view key) const {
    tenon_buffer buffer{};
    buffer.struct_size = sizeof buffer;
    const tenon_status status = map_->get_data(map_, key.data(), key.size(), &buffer);
    if (status != TENON_STATUS_OK) return refuse(status, "no data", key);
    return NamedData(buffer);
  }

  /// The layout of tensor `key`; NotFound when it does not exist or has no layout.
  [[nodiscard]] Result<TensorLayout> get_tensor_layout(std::string_view key) const {
    tenon_tensor_layout layout{};
    layout.struct_size = sizeof layout;
    const tenon_status status = map_->get_tensor_layout(map_, key.data(), key.size(), &layout);
    if (status != TENON_STATUS_OK) return refuse(status, "no tensor layout", key);
    return TensorLayout{static_cast<ScalarType>(layout.scalar_type),
                        {layout.sizes, layout.rank},
                        {layout.dim_order, layout.rank}};
  }

 private:
  [[nodiscard]] Status refuse(tenon_status status, std::string_view what,
                              std::string_view key) const {
    return error(error_from_status(status), "named data map: ", what, " under key '", key, "' (",
                 num_keys(), " keys)");
  }

  const tenon_named_data_map* map_;
};

}}  // namespace tenon::TENON_RELEASE
