// SPDX-License-Identifier: MIT
//
// Arrays of ExecuTorch's element types: .npy files, comparison, values as arrays. A loader needs
// none of it; <tenon/host/arrays.hpp> includes all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <span>
#include <vector>

#include "tenon/core/scalar_type.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

/// Bytes on a 64-byte boundary, which suits vector code. Movable only; owns its memory.
class ArrayBytes {
 public:
  ArrayBytes() = default;
  /// `size` bytes, all zero. Large ones are untouched pages of the system, so they cost what is
  /// written to them. Throws std::bad_alloc.
  explicit ArrayBytes(std::size_t size) { allocate(size, true); }

  /// `size` bytes with any content, to be overwritten. Throws std::bad_alloc.
  [[nodiscard]] static ArrayBytes uninitialized(std::size_t size) {
    ArrayBytes out;
    out.allocate(size, false);
    return out;
  }

  [[nodiscard]] std::byte* data() noexcept { return aligned(); }
  [[nodiscard]] const std::byte* data() const noexcept { return aligned(); }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] std::span<const std::byte> span() const noexcept { return {aligned(), size_}; }

 private:
  static constexpr std::size_t alignment = 64;

  void allocate(std::size_t size, bool zeroed) {
    if (size > PTRDIFF_MAX - alignment) throw std::bad_alloc();
    void* block = nullptr;
    // calloc alone knows that pages of the system are zero already, but it cannot align. Small
    // blocks end where the array does, so that tools see writes behind it.
    constexpr std::size_t large = std::size_t{1} << 20;
    if (zeroed && size >= large) {
      block = std::calloc(1, size + alignment);
    } else if (block = allocate_small(size == 0 ? 1 : size); block && zeroed) {
      std::memset(aligned_in(block), 0, size);
    }
    if (block == nullptr) throw std::bad_alloc();
    block_.reset(block);
    size_ = size;
  }

  [[nodiscard]] static void* allocate_small(std::size_t size) noexcept {
#if defined(_WIN32)
    return std::malloc(size + alignment);  // What Windows aligns, `free` does not take.
#else
    void* block = nullptr;
    return ::posix_memalign(&block, alignment, size) == 0 ? block : nullptr;
#endif
  }

  [[nodiscard]] static std::byte* aligned_in(void* block) noexcept {
    const auto address = reinterpret_cast<std::uintptr_t>(block);
    return reinterpret_cast<std::byte*>((address + alignment - 1) & ~(alignment - 1));
  }
  [[nodiscard]] std::byte* aligned() const noexcept { return aligned_in(block_.get()); }

  struct Free {
    void operator()(void* block) const noexcept { std::free(block); }
  };
  std::unique_ptr<void, Free> block_;
  std::size_t size_ = 0;
};

/// Elements in memory of the caller. In C order, `size_of(type)` bytes each.
struct ArrayView {
  ScalarType type = ScalarType::Float;
  std::span<const std::int64_t> shape;
  std::span<const std::byte> data;
};

/// An array of one of ExecuTorch's element types, in C order.
struct Array {
  ScalarType type = ScalarType::Float;
  std::vector<std::int64_t> shape;
  ArrayBytes data;

  [[nodiscard]] ArrayView view() const noexcept { return {type, shape, data.span()}; }
};

}}}  // namespace tenon::TENON_RELEASE::host
