// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

namespace tenon::conformance {

/// One numbered sentence of the boundary.
struct Rule {
  std::string_view id;        ///< "TN-EXE-2".
  std::string_view sentence;  ///< "`execute` MUST NOT write to an input."
  std::string_view source;    ///< Where it stands: "tenon/abi/backend.h:233".
};

namespace detail {
inline constexpr Rule rule_table[] = {
    {"TN-EXE-2", "`execute` MUST NOT write to an input.", "tenon/abi/backend.h:233"},
};
}  // namespace detail

}  // namespace tenon::conformance
