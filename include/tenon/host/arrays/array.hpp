// SPDX-License-Identifier: MIT
//
// Arrays of ExecuTorch's element types: .npy files, comparison, values as arrays. A loader needs
// none of it; <tenon/host/arrays.hpp> includes all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <span>
#include <vector>

#include "tenon/core/scalar_type.hpp"

namespace tenon::host {

/// Bytes on a 64-byte boundary, which suits vector code. Movable only; owns its memory.
class ArrayBytes {
 public:
  ArrayBytes() = default;
  /// `size` bytes, all zero. Throws std::bad_alloc.
  explicit ArrayBytes(std::size_t size) : ArrayBytes(uninitialized(size)) {
    if (size != 0) std::memset(data_.get(), 0, size);
  }

  /// `size` bytes with any content, to be overwritten. Throws std::bad_alloc.
  [[nodiscard]] static ArrayBytes uninitialized(std::size_t size) {
    ArrayBytes out;
    out.data_.reset(static_cast<std::byte*>(::operator new[](size == 0 ? 1 : size, alignment_)));
    out.size_ = size;
    return out;
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

/// Elements in memory of the caller. In C order, `size_of(type)` bytes each.
struct ArrayView {
  ScalarType type = ScalarType::Float;
  std::span<const std::int64_t> shape;
  std::span<const std::byte> data;
};

}  // namespace tenon::host
