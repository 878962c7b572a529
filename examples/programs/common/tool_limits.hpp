// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "tenon/core/status.hpp"
#include "tenon/host/layers/trace/trace.hpp"
#include "tenon/host/loader/files/limits.hpp"

namespace tenon::tool {

/// Limits of a program that shows results, as tenon-run does; its host has others.
struct ToolLimits {
  host::HostLimits of_host;
  /// Bytes of all outputs that the program has no memory for.
  std::uint64_t output_bytes = std::uint64_t{64} << 30;
  /// Numbers and texts that are printed of all outputs together.
  std::uint64_t printed_values = 10'000;
  /// Events of a trace; those after them are counted and dropped.
  std::uint64_t trace_events = host::Trace::default_max_events;

  /// Sets one limit from "NAME=VALUE", as `host::set_limit`. NAME is a member's name.
  [[nodiscard]] Status set(std::string_view text) {
    const auto names = named_limits(of_host);
    std::vector<host::NamedLimit> all(names.begin(), names.end());
    all.push_back({"output_bytes", &output_bytes});
    all.push_back({"printed_values", &printed_values});
    all.push_back({"trace_events", &trace_events});
    return set_limit(all, text);
  }
};

}  // namespace tenon::tool
