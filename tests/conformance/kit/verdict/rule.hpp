// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <span>
#include <string_view>

#include "kit/verdict/rule_table.hpp"

namespace tenon::inline TENON_RELEASE::conformance {

/// All rules of the boundary, in the order of their headers. Generated from the headers by
/// `tenon-rules` (tests/conformance/rules); a test holds the table equal to them.
[[nodiscard]] constexpr std::span<const Rule> rules() noexcept { return detail::rule_table; }

/// The rule with `id`, or null.
[[nodiscard]] constexpr const Rule* find_rule(std::string_view id) noexcept {
  const auto found = std::ranges::find(rules(), id, &Rule::id);
  return found == rules().end() ? nullptr : &*found;
}

}  // namespace tenon::inline TENON_RELEASE::conformance
