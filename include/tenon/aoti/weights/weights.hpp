// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>

#include "tenon/aoti/weights/shared_by_content.hpp"
#include "tenon/core/bytes.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace aoti {

/// Alignment that models expect of each constant (kAlignment of torch/_inductor: 64 bytes).
inline constexpr std::size_t weights_alignment = 64;

/// True when a blob may be used in place.
[[nodiscard]] inline bool is_aligned(Bytes blob) noexcept {
  return reinterpret_cast<std::uintptr_t>(blob.data()) % weights_alignment == 0;
}

/// A copy of a blob of weights, aligned.
class WeightsCopy {
 public:
  explicit WeightsCopy(Bytes blob)
      : data_(static_cast<std::byte*>(
            ::operator new(blob.empty() ? 1 : blob.size(), std::align_val_t(weights_alignment)))),
        size_(blob.size()) {
    if (!blob.empty()) std::memcpy(data_, blob.data(), blob.size());
  }
  WeightsCopy(const WeightsCopy&) = delete;
  WeightsCopy& operator=(const WeightsCopy&) = delete;
  ~WeightsCopy() { ::operator delete(data_, std::align_val_t(weights_alignment)); }

  [[nodiscard]] Bytes bytes() const noexcept { return {data_, size_}; }
  [[nodiscard]] std::byte* data() noexcept { return data_; }
  [[nodiscard]] std::size_t nbytes() const noexcept { return size_; }

 private:
  std::byte* data_;
  std::size_t size_;
};

/// Copies of weights that are in use, so that delegates with equal weights share one. Only weights
/// that cannot be used in the host's memory are copied.
///
/// Threads: any. A copy is destroyed with the last delegate that uses it.
class WeightStore {
 public:
  /// Throws std::bad_alloc.
  [[nodiscard]] std::shared_ptr<const WeightsCopy> copy_of(Bytes blob) {
    const auto is_same = [&](const WeightsCopy& copy) -> Result<bool> {
      return as_text(copy.bytes()) == as_text(blob);
    };
    const auto make = [&]() -> Result<std::shared_ptr<const WeightsCopy>> {
      return std::make_shared<const WeightsCopy>(blob);
    };
    return *copies_.get(blob, is_same, make);
  }

  /// Bytes of all copies in use.
  [[nodiscard]] std::size_t nbytes() const { return copies_.nbytes(); }

 private:
  SharedByContent<WeightsCopy> copies_;
};

}}}  // namespace tenon::TENON_RELEASE::aoti
