// SPDX-License-Identifier: MIT
//
// Checks of JSON that people write, which `JsonAt` (tenon/core/json.hpp) does not make.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/core/concat.hpp"
#include "tenon/core/json.hpp"
#include "tenon/core/result.hpp"
#include "tenon/host/layers/discovery/impl/near_names.hpp"
#include "tenon/host/loader/files/quoted.hpp"
#include "tenon/host/loader/plugin/plugin_record.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host::detail {

/// A member of `object` with another key than `allowed` is an error: none is ignored because its
/// key is misspelt.
[[nodiscard]] inline Status check_keys(const JsonAt& object,
                                       const std::vector<std::string>& allowed) {
  return object.each_member([&](const std::string& key, const JsonAt&) {
    if (std::ranges::find(allowed, key) != allowed.end()) return ok();
    const auto like = near_names(key, allowed, 1);
    return object.wrong("unknown key ", host::quoted(key),
                        like.empty() ? std::string() : concat("; did you mean '", like[0], "'?"));
  });
}

/// `text` is `what` of the value at `at`; it may reach a terminal or a log.
[[nodiscard]] inline Status check_printable(const JsonAt& at, std::string_view what,
                                            std::string_view text) {
  if (text.find('\0') != std::string_view::npos) return at.wrong(what, " holds a NUL character");
  const Status status = check_text(text, what);
  return status.ok() ? ok() : at.wrong(status.text());
}

/// A text that can be shown.
[[nodiscard]] inline Result<std::string> printable_text(const JsonAt& at) {
  TENON_TRY(const std::string_view text, at.characters());
  TENON_RETURN_IF_ERROR(check_printable(at, "the text", text));
  return std::string(text);
}

/// The member `key` says which format the rest has. There is one, 1.
[[nodiscard]] inline Status check_format(const JsonAt& root, std::string_view key) {
  TENON_TRY(const JsonAt version, root.member(key, "1"));
  if (!version.json().is_number_integer()) return version.wrong_type("1");
  if (version.json() == 1) return ok();
  return version.wrong("is ", version.json().dump(), ", this host reads 1");
}

/// An array of objects with at least one element.
[[nodiscard]] inline Status check_not_empty(const JsonAt& at) {
  constexpr std::string_view expected = "an array of at least one object";
  TENON_RETURN_IF_ERROR(at.check_array(expected));
  return at.size() > 0 ? ok() : at.wrong_type(expected);
}

}}}  // namespace tenon::TENON_RELEASE::host::detail
