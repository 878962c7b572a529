// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <span>
#include <string_view>

#include "tenon/abi/version.h"

namespace tenon { inline namespace TENON_RELEASE { namespace conformance {

/// One numbered rule of the boundary.
struct Rule {
  std::string_view id;        ///< "TN-EXE-2".
  std::string_view sentence;  ///< "`execute` MUST NOT write to an input."
  std::string_view source;    ///< Its place: "tenon/abi/backend.h: tenon_backend_api.execute".
};

/// All rules of the boundary, in the order of their headers, from which the build reads them
/// (rulebook.py).
[[nodiscard]] std::span<const Rule> rules() noexcept;

/// The rule with `id`, or null.
[[nodiscard]] inline const Rule* find_rule(std::string_view id) noexcept {
  const auto found = std::ranges::find(rules(), id, &Rule::id);
  return found == rules().end() ? nullptr : &*found;
}

}}}  // namespace tenon::TENON_RELEASE::conformance
