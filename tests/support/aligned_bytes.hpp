// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstring>
#include <iterator>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "support/file_content.hpp"
#include "tenon/core/sanitizer.hpp"
#if TENON_DETAIL_ADDRESS_SANITIZER
#include <sanitizer/asan_interface.h>
#endif

namespace tenon::test {

/// A copy of some bytes at an address that is a multiple of 16. Under AddressSanitizer one byte
/// behind them is an error to read, also after `cut`.
class AlignedBytes {
 public:
  explicit AlignedBytes(std::span<const std::byte> bytes)
      : capacity_((bytes.size() + 31) / 16 * 16),
        data_(static_cast<std::byte*>(::operator new(capacity_, alignment))) {
    std::memset(data_, 0, capacity_);
    if (!bytes.empty()) std::memcpy(data_, bytes.data(), bytes.size());
    cut(bytes.size());
  }
  AlignedBytes(AlignedBytes&& other) noexcept
      : capacity_(std::exchange(other.capacity_, 0)),
        data_(std::exchange(other.data_, nullptr)),
        size_(std::exchange(other.size_, 0)) {}
  AlignedBytes(const AlignedBytes&) = delete;
  AlignedBytes& operator=(const AlignedBytes&) = delete;
  ~AlignedBytes() {
    if (data_ == nullptr) return;
    poison(false, 0);
    ::operator delete(data_, alignment);
  }

  [[nodiscard]] std::span<std::byte> bytes() noexcept { return {data_, size_}; }
  [[nodiscard]] std::span<const std::byte> bytes() const noexcept { return {data_, size_}; }

  /// Makes the bytes from `size` on unreadable; `size` may grow again up to the original size.
  void cut(std::size_t size) noexcept {
    poison(false, 0);
    size_ = size;
    poison(true, size);
  }

 private:
  static constexpr std::align_val_t alignment{16};

  void poison([[maybe_unused]] bool on, [[maybe_unused]] std::size_t from) noexcept {
#if TENON_DETAIL_ADDRESS_SANITIZER
    if (on) {
      __asan_poison_memory_region(data_ + from, capacity_ - from);
    } else {
      __asan_unpoison_memory_region(data_, capacity_);
    }
#endif
  }

  std::size_t capacity_;
  std::byte* data_;
  std::size_t size_ = 0;
};

/// All of a file; empty when it cannot be read.
inline AlignedBytes read_file(const std::string& path) {
  const std::string content = file_content(path);
  return AlignedBytes(std::as_bytes(std::span(content)));
}

}  // namespace tenon::test
