// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "tenon/host/layers/discovery/discovery.hpp"

namespace tenon::test {

/// While it is in scope, `operator new` of this thread throws once: the call after `before` others.
class FailingAllocation {
 public:
  explicit FailingAllocation(std::uint64_t before) noexcept;
  FailingAllocation(const FailingAllocation&) = delete;
  FailingAllocation& operator=(const FailingAllocation&) = delete;
  ~FailingAllocation();

  [[nodiscard]] bool happened() const noexcept;
};

/// A search that sees nothing of the machine but `variables`.
inline host::DiscoveryOptions only(std::map<std::string, std::string> variables = {}) {
  host::DiscoveryOptions options;
  options.installed = "";
  options.variable = [variables =
                          std::move(variables)](const char* name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  };
  return options;
}

}  // namespace tenon::test
