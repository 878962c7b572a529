// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "tenon/abi/tensor.h"
#include "tenon/abi/version.h"

namespace tenon { inline namespace TENON_RELEASE { namespace host::detail {

/// Calls `visit` with `value`, or, for a list of tensors, with each element that is not null.
template <class Visit>
void each_element(const tenon_value& value, Visit visit) {
  if (value.kind != TENON_VALUE_TENSOR_LIST && value.kind != TENON_VALUE_OPTIONAL_TENSOR_LIST) {
    return visit(value);
  }
  const auto* elements = static_cast<const tenon_value* const*>(value.as.span.data);
  for (std::uint64_t i = 0; i < value.as.span.size; ++i) {
    if (elements[i]->kind != TENON_VALUE_NONE) visit(*elements[i]);
  }
}

/// The bytes that one call reads and writes. Values may share planned memory, so it is bytes that
/// say which calls depend on each other.
///
/// Reused for many calls, so that later ones allocate nothing.
class MemoryUse {
 public:
  void clear() noexcept {
    read_.clear();
    written_.clear();
  }

  /// Adds what is behind one argument; `is_read` when it is read alone.
  void add(const tenon_value& value, bool is_read) {
    each_element(value, [&](const tenon_value& each) {
      if (each.kind == TENON_VALUE_TENSOR) add(*each.as.tensor, is_read);
    });
  }

  /// To be called after the last `add`.
  void finish() {
    merge(read_);
    merge(written_);
  }

  /// Whether one of them writes what the other uses. Takes time in proportion to both.
  [[nodiscard]] bool conflicts_with(const MemoryUse& other) const noexcept {
    return meet(written_, other.written_) || meet(written_, other.read_) ||
           meet(read_, other.written_);
  }

 private:
  struct Range {
    std::uintptr_t first;
    std::uintptr_t end;
  };

  void add(const tenon_tensor& tensor, bool is_read) {
    const std::uint64_t nbytes = std::max(tensor.nbytes, tensor.capacity);
    if (!tensor.dl.data || nbytes == 0) return;
    const auto first = reinterpret_cast<std::uintptr_t>(tensor.dl.data) +
                       static_cast<std::uintptr_t>(tensor.dl.byte_offset);
    (is_read ? read_ : written_).push_back({first, first + static_cast<std::uintptr_t>(nbytes)});
  }

  static void merge(std::vector<Range>& ranges) {
    std::sort(ranges.begin(), ranges.end(),
              [](const Range& a, const Range& b) { return a.first < b.first; });
    std::size_t kept = 0;
    for (const Range& range : ranges) {
      if (kept != 0 && range.first <= ranges[kept - 1].end) {
        ranges[kept - 1].end = std::max(ranges[kept - 1].end, range.end);
      } else {
        ranges[kept++] = range;
      }
    }
    ranges.resize(kept);
  }

  static bool meet(const std::vector<Range>& a, const std::vector<Range>& b) noexcept {
    for (std::size_t i = 0, j = 0; i < a.size() && j < b.size();) {
      if (a[i].end <= b[j].first) {
        ++i;
      } else if (b[j].end <= a[i].first) {
        ++j;
      } else {
        return true;
      }
    }
    return false;
  }

  std::vector<Range> read_;
  std::vector<Range> written_;
};

}}}  // namespace tenon::TENON_RELEASE::host::detail
