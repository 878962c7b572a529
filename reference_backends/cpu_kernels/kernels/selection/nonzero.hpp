// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "kernels/elements.hpp"
#include "strided.hpp"

/// Elements that are not 0, in row-major order.
namespace tenon::cpu_aoti {

/// Calls `visit` with the offset, in elements, of each element that is not 0 and with the number of
/// its position. NaN is not 0.
template <class Visit>
Status for_nonzero(const ModelTensor& self, const Visit& visit) {
  return with_type(self.scalar_type, [&]<class T>(T) {
    std::int64_t position = 0;
    for_positions<1>(self.shape(), no_dim, {self.strides.data()}, [&](const auto& at) {
      if (widen(self.as<const T>()[at[0]]) != Wide<T>{0}) visit(at[0], position);
      ++position;
    });
    return ok();
  });
}

/// How many elements are not 0.
inline Result<std::int64_t> count_nonzero(const ModelTensor& self) {
  std::int64_t count = 0;
  TENON_RETURN_IF_ERROR(for_nonzero(self, [&](std::int64_t, std::int64_t) { ++count; }));
  return count;
}

/// The indices of a position in a tensor of `sizes`.
[[nodiscard]] inline Dims unravel(Sizes sizes, std::int64_t position) noexcept {
  Dims index{};
  for (std::size_t d = sizes.size(); d-- > 0;) {
    index[d] = position % sizes[d];
    position /= sizes[d];
  }
  return index;
}

}  // namespace tenon::cpu_aoti
