// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <span>
#include <vector>

#include "tenon/core/scalar_type.hpp"

namespace tenon::host {

/// Bytes on a 64-byte boundary, as vector code likes its tensors. Movable only; freed with it.
class ArrayBytes {
 public:
  ArrayBytes() = default;
  /// `size` bytes, all zero. Throws std::bad_alloc.
  explicit ArrayBytes(std::size_t size)
      : data_(
            static_cast<std::byte*>(::operator new[](std::max<std::size_t>(size, 1), alignment_))),
        size_(size) {
    std::memset(data_.get(), 0, std::max<std::size_t>(size, 1));
  }

  [[nodiscard]] std::byte* data() noexcept { return data_.get(); }
  [[nodiscard]] const std::byte* data() const noexcept { return data_.get(); }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] std::span<const std::byte> span() const noexcept { return {data_.get(), size_}; }

 private:
  static constexpr std::align_val_t alignment_{64};
  struct Free {
    void operator()(std::byte* data) const noexcept { ::operator delete[](data, alignment_); }
  };
  std::unique_ptr<std::byte[], Free> data_;
  std::size_t size_ = 0;
};

/// An array of one of ExecuTorch's element types, in C order.
struct Array {
  ScalarType type = ScalarType::Float;
  std::vector<std::int64_t> shape;
  ArrayBytes data;
};

/// Elements that somebody else owns. In C order, `size_of(type)` bytes each.
struct ArrayView {
  ScalarType type = ScalarType::Float;
  std::span<const std::int64_t> shape;
  std::span<const std::byte> data;
};

}  // namespace tenon::host
