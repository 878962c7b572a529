// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <type_traits>

#include "tenon/abi/macros.h"
#include "tenon/abi/tensor.h"
#include "tenon/abi/version.h"
#include "tenon/core/concat.hpp"
#include "tenon/core/result.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace detail {

/// Walks an array of boundary structs whose elements may be larger than this header knows: the step
/// is the `struct_size` that the first element states. NULL is an array of no elements, whatever
/// its count.
template <class Struct>
class StridedArray {
 public:
  StridedArray(const Struct* first, std::uint32_t count) noexcept
      : first_(reinterpret_cast<const std::byte*>(first)),
        stride_(first && count != 0 ? first->struct_size : 0),
        count_(first ? count : 0) {}

  [[nodiscard]] std::uint32_t size() const noexcept { return count_; }
  [[nodiscard]] const Struct& operator[](std::size_t index) const noexcept {
    return *reinterpret_cast<const Struct*>(first_ + index * stride_);
  }

 private:
  const std::byte* first_;
  std::size_t stride_;
  std::uint32_t count_;
};

/// The size of `Struct` in the first release that had it. A caller with older headers than these
/// states no less.
template <class Struct>
inline constexpr std::size_t first_size = sizeof(Struct);

/// Larger sizes come from memory that was never set: no struct of the boundary has 1 KiB.
inline constexpr std::size_t most_struct_bytes = 4096;

/// Judges the size that a struct of a caller states. `what` begins the text of an error.
///
/// errors: InvalidArgument (a size that no header has)
template <class Struct>
[[nodiscard]] Status check_struct_size(std::string_view what, const Struct& from) {
  const std::size_t size = from.struct_size;
  if (size >= first_size<Struct> && size <= most_struct_bytes && size % alignof(Struct) == 0) {
    return ok();
  }
  return error(Error::InvalidArgument, what, ": struct_size is ", size, ", expected ",
               first_size<Struct>,
               size < first_size<Struct> ? " or more" : ", or the size of a newer header");
}

/// Copies a struct that a caller with older or newer headers made; what the caller's lacks is left
/// as it is in `out`, which has the size of these headers.
///
/// errors: InvalidArgument (a size that no header has), NotSupported (the caller has set a member
///         that is not known here)
template <class Struct>
[[nodiscard]] Status read_struct(std::string_view what, const Struct& from, Struct& out) {
  TENON_RETURN_IF_ERROR(check_struct_size(what, from));
  const std::size_t size = from.struct_size;
  const auto* const bytes = reinterpret_cast<const unsigned char*>(&from);
  for (std::size_t i = sizeof(Struct); i < size; ++i) {
    if (bytes[i] == 0) continue;
    return error(Error::NotSupported, what, ": byte ", i, " of a struct of ", size,
                 " bytes is not zero, and ", sizeof(Struct), " bytes are known here");
  }
  std::memcpy(&out, &from, std::min(size, sizeof(Struct)));
  out.struct_size = sizeof(Struct);
  return ok();
}

/// Calls `read(Struct&)` for each of `count` structs that a caller with other headers made. All of
/// them state the size of the first one, by which the array is walked.
///
/// errors: InvalidArgument (no array; a size that no header has, or another than the first one's),
///         NotSupported (as `read_struct`), and what `read` fails with
template <class Struct, class Read>
[[nodiscard]] Status read_structs(std::string_view what, const Struct* first, std::uint32_t count,
                                  const Read& read) {
  if (count == 0) return ok();
  if (!first) return error(Error::InvalidArgument, what, " is null");
  const StridedArray all(first, count);
  for (std::uint32_t i = 0; i < count; ++i) {
    if (all[i].struct_size != first->struct_size) {
      return error(Error::InvalidArgument, what, "[", i, "]: struct_size is ", all[i].struct_size,
                   ", expected ", first->struct_size, " as in the first struct of the array");
    }
    Struct one{};
    TENON_RETURN_IF_ERROR(read_struct(concat(what, "[", i, "]"), all[i], one));
    TENON_RETURN_IF_ERROR(read(one));
  }
  return ok();
}

/// Fills a struct of a caller with other headers, whose size was checked; it stays the caller's.
template <class Struct>
void write_struct(Struct& out, Struct value) noexcept {
  const std::size_t size = out.struct_size;
  value.struct_size = out.struct_size;
  std::memcpy(&out, &value, std::min(size, sizeof(Struct)));
  if (size <= sizeof(Struct)) return;
  std::memset(reinterpret_cast<unsigned char*>(&out) + sizeof(Struct), 0, size - sizeof(Struct));
}

}}}  // namespace tenon::TENON_RELEASE::detail
