// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/core/lists.hpp"
#include "tenon/host/loader/registry/cpu_features.hpp"

namespace tenon::tool {

/// The features of this machine's CPU without the features that `list` names, separated by commas:
/// to see what a program does on a lesser CPU.
[[nodiscard]] inline host::CpuFeatures cpu_without(std::string_view list) {
  const host::CpuFeatures hidden([&] {
    std::vector<std::string> names;
    for (const std::string_view name : split(list, ',')) names.emplace_back(name);
    return names;
  }());
  std::vector<std::string> left;
  for (const std::string& name : host::CpuFeatures::of_this_machine().names()) {
    if (!hidden.has(name)) left.push_back(name);
  }
  return host::CpuFeatures(std::move(left));
}

}  // namespace tenon::tool
