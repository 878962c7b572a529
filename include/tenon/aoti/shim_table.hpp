// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <initializer_list>
#include <span>
#include <string_view>
#include <vector>

#include "tenon/aoti/shim.hpp"

/// One entry of a table of functions for models, from its list:
///
///     #define MY_KERNELS(X) X(aoti_torch_cpu_mm_out, (Tensor * out, Tensor* self, Tensor* mat2))
///     MY_KERNELS(TENON_AOTI_DECLARE)
///     const Shim table[] = {MY_KERNELS(TENON_AOTI_ENTRY)};
///
/// Declaration, entry, and the names given to the exporter come from one list, so they cannot
/// differ.
#define TENON_AOTI_DECLARE(name, parameters) ::tenon::aoti::ShimError name parameters noexcept;
#define TENON_AOTI_ENTRY(name, parameters) \
  ::tenon::aoti::Shim{#name, reinterpret_cast<const void*>(&name)},

namespace tenon::aoti {

/// Functions for models, found by name. When two lists have a name, the later list wins, so that a
/// device can replace what is common.
class ShimTable {
 public:
  ShimTable(std::initializer_list<std::span<const Shim>> lists) {
    for (const auto list : lists) {
      for (const Shim& shim : list) {
        const auto place = std::ranges::lower_bound(shims_, shim.name, {}, &Shim::name);
        if (place != shims_.end() && place->name == shim.name) {
          place->address = shim.address;
        } else {
          shims_.insert(place, shim);
        }
      }
    }
  }

  [[nodiscard]] const void* find(std::string_view name) const noexcept {
    const auto place = std::ranges::lower_bound(shims_, name, {}, &Shim::name);
    return place != shims_.end() && place->name == name ? place->address : nullptr;
  }

  /// All of them, sorted by name.
  [[nodiscard]] std::span<const Shim> all() const noexcept { return shims_; }

 private:
  std::vector<Shim> shims_;
};

}  // namespace tenon::aoti
