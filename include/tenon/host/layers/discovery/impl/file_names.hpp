// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>

#include "tenon/host/layers/discovery/impl/near_names.hpp"

/// Names of files as file systems compare them.
namespace tenon { inline namespace TENON_RELEASE { namespace host::detail {

/// Whether file systems of this system take "Acme.DLL" and "acme.dll" for one file, as a rule.
#if defined(_WIN32) || defined(__APPLE__)
inline constexpr bool names_ignore_case = true;
#else
inline constexpr bool names_ignore_case = false;
#endif

/// A text that is equal for all names of one file.
[[nodiscard]] inline std::string compared_name(std::string_view name,
                                               bool ignores_case = names_ignore_case) {
  return ignores_case ? to_lower(name) : std::string(name);
}

/// Whether a file with this name has the extension, which is in lower case: ".json". On a system
/// that ignores case, "A.JSON" is the manifest too: if it were missed, its pin would be missed with
/// it.
[[nodiscard]] inline bool has_extension(std::string_view name, std::string_view extension,
                                        bool ignores_case = names_ignore_case) {
  if (name.size() < extension.size()) return false;
  const std::string_view ending = name.substr(name.size() - extension.size());
  return ignores_case ? to_lower(ending) == extension : ending == extension;
}

}}}  // namespace tenon::TENON_RELEASE::host::detail
