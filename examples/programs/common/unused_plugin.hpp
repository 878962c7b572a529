// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <string_view>

#include "tenon/core/concat.hpp"
#include "tenon/core/lists.hpp"

namespace tenon::tool {

/// The warning for `--plugin PATH` none of whose backends, `ids`, is among `used`, those that
/// `user` names; empty when one of them is.
[[nodiscard]] inline std::string unused_plugin_warning(std::string_view path,
                                                       std::span<const std::string> ids,
                                                       std::string_view user,
                                                       std::span<const std::string> used) {
  const auto is_used = [&](const std::string& id) {
    return std::ranges::find(used, id) != used.end();
  };
  if (std::ranges::any_of(ids, is_used)) return {};
  const auto names = [](std::span<const std::string> all) {
    return all.empty() ? std::string("no backend") : join(all, ", ");
  };
  return concat("--plugin ", path, ": serves nothing: it has ", names(ids), "; ", user, " ",
                names(used));
}

}  // namespace tenon::tool
