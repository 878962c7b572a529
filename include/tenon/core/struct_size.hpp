// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "tenon/abi/tensor.h"
#include "tenon/abi/version.h"

/// True when `object` (a struct of the boundary that begins with its size) is new enough to have
/// `member`. The other side may have been compiled with older headers.
#define TENON_HAS_MEMBER(object, member) \
  ((object).struct_size >=               \
   offsetof(std::remove_cvref_t<decltype(object)>, member) + sizeof((object).member))

namespace tenon::inline TENON_RELEASE::detail {

/// Walks an array of boundary structs whose elements may be larger than this header knows: the step
/// is the `struct_size` that the first element states.
template <class Struct>
class StridedArray {
 public:
  StridedArray(const Struct* first, std::uint32_t count) noexcept
      : first_(reinterpret_cast<const std::byte*>(first)),
        stride_(count != 0 ? first->struct_size : 0),
        count_(count) {}

  [[nodiscard]] std::uint32_t size() const noexcept { return count_; }
  [[nodiscard]] const Struct& operator[](std::size_t index) const noexcept {
    return *reinterpret_cast<const Struct*>(first_ + index * stride_);
  }

 private:
  const std::byte* first_;
  std::size_t stride_;
  std::uint32_t count_;
};

}  // namespace tenon::inline TENON_RELEASE::detail
