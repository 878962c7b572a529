// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <initializer_list>
#include <span>
#include <string_view>
#include <vector>

#include "tenon/aoti/shims/shim.hpp"

/// Declares a list of shims, and makes its table:
///
///     #define MY_KERNELS(X) X(aoti_torch_cpu_mm_out, (ModelTensor * out, ModelTensor* self,
///     ModelTensor* mat2)) MY_KERNELS(TENON_AOTI_DECLARE) const Shim table[] =
///     {MY_KERNELS(TENON_AOTI_ENTRY)};
///     static constexpr std::array fallback_kernels{MY_KERNELS(TENON_AOTI_NAME)};
///
/// Declarations, table, and the names for the exporter come from one list, so they cannot differ.
#define TENON_AOTI_DECLARE(name, parameters) ::tenon::aoti::ShimError name parameters noexcept;
#define TENON_AOTI_ENTRY(name, parameters) \
  ::tenon::aoti::Shim{#name, reinterpret_cast<const void*>(&name)},
#define TENON_AOTI_NAME(name, parameters) #name,

namespace tenon { inline namespace TENON_RELEASE { namespace aoti {

/// Shims, found by name. When two lists have a name, the later list wins, so that a device can
/// replace the common functions.
class ShimTable {
 public:
  ShimTable(std::initializer_list<std::span<const Shim>> lists) {
    for (const auto list : lists) {
      for (const Shim& shim : list) {
        const std::size_t index = lower_bound(shim.name);
        if (has(index, shim.name)) {
          shims_[index].address = shim.address;
        } else {
          shims_.insert(shims_.begin() + static_cast<std::ptrdiff_t>(index), shim);
        }
      }
    }
  }

  [[nodiscard]] const void* find(std::string_view name) const noexcept {
    const std::size_t index = lower_bound(name);
    return has(index, name) ? shims_[index].address : nullptr;
  }

  /// All shims, sorted by name.
  [[nodiscard]] std::span<const Shim> all() const noexcept { return shims_; }

 private:
  [[nodiscard]] std::size_t lower_bound(std::string_view name) const noexcept {
    std::size_t first = 0;
    for (std::size_t count = shims_.size(); count != 0;) {
      const std::size_t half = count / 2;
      const bool is_before = shims_[first + half].name < name;
      first += is_before ? half + 1 : 0;
      count = is_before ? count - half - 1 : half;
    }
    return first;
  }
  [[nodiscard]] bool has(std::size_t index, std::string_view name) const noexcept {
    return index != shims_.size() && shims_[index].name == name;
  }

  std::vector<Shim> shims_;
};

}}}  // namespace tenon::TENON_RELEASE::aoti
