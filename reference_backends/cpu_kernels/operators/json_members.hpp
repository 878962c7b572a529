// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "tenon/core/json.hpp"
#include "tenon/core/json_limits.hpp"
#include "tenon/core/result.hpp"

/// Members of a description's objects, which may be anything.
namespace tenon::cpu_aoti::json {

using Json = nlohmann::json;

template <class... Pieces>
Status fail(Error code, std::string_view where, const Pieces&... pieces) {
  return error(code, where, ": ", pieces...);
}

/// A member of an object, or null.
inline const Json* find(const Json& object, const char* key) {
  const auto found = object.is_object() ? object.find(key) : object.end();
  return found == object.end() ? nullptr : &*found;
}

inline Result<std::string> text(const Json& object, const char* key, std::string_view where) {
  const Json* found = find(object, key);
  if (found && found->is_string()) return found->get<std::string>();
  return fail(Error::InvalidProgram, where, "expected a text '", std::string_view(key), "'");
}

inline Result<const Json*> list(const Json& object, const char* key, std::string_view where) {
  const Json* found = find(object, key);
  if (found && found->is_array()) return found;
  return fail(Error::InvalidProgram, where, "expected an array '", std::string_view(key), "'");
}

/// A description, or a text inside of one, with larger limits than PyTorch's exporter needs.
inline Result<Json> parse(std::string_view text, std::string_view where) {
  constexpr JsonLimits limits{std::uint64_t{1} << 22, 1'000'000, 32};
  auto out = parse_json(text, limits);
  if (!out.ok()) return fail(Error::InvalidProgram, where, out.text());
  return out;
}

}  // namespace tenon::cpu_aoti::json
