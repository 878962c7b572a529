// SPDX-License-Identifier: MIT
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "tenon/abi/version.h"

/// Looks at an archive's graph that is not checked yet: what is not as expected is skipped here,
/// and refused when it is read.
namespace tenon { inline namespace TENON_RELEASE { namespace aot::detail {

/// The member of an object; null for what lacks it.
[[nodiscard]] inline const nlohmann::json& member_or_null(const nlohmann::json& object,
                                                          std::string_view key) {
  static const nlohmann::json null;
  if (!object.is_object()) return null;
  const auto found = object.find(key);
  return found != object.end() ? *found : null;
}

/// "aten.add.Tensor" for the target "torch.ops.aten.add.Tensor".
[[nodiscard]] inline std::string_view operator_name(const nlohmann::json& target) {
  if (!target.is_string()) return {};
  constexpr std::string_view space = "torch.ops.";
  std::string_view name = target.get_ref<const std::string&>();
  if (name.starts_with(space)) name.remove_prefix(space.size());
  return name;
}
[[nodiscard]] inline std::string_view operator_of(const nlohmann::json& node) {
  return operator_name(member_or_null(node, "target"));
}

/// Calls `visit(name)` for each value that a part of the graph names.
template <class Visit>
void for_each_name(const nlohmann::json& part, Visit&& visit) {
  if (part.is_array()) {
    for (const nlohmann::json& item : part) for_each_name(item, visit);
  }
  if (!part.is_object()) return;
  for (auto item = part.begin(); item != part.end(); ++item) {
    const nlohmann::json& value = item.value();
    if (value.is_string() && (item.key() == "name" || item.key() == "as_name")) {
      visit(value.get_ref<const std::string&>());
    } else {
      for_each_name(value, visit);
    }
  }
}

/// Calls `visit(name)` for each value that a node reads.
template <class Visit>
void for_each_read(const nlohmann::json& node, Visit&& visit) {
  const nlohmann::json& inputs = member_or_null(node, "inputs");
  if (!inputs.is_array()) return;
  for (const nlohmann::json& input : inputs) for_each_name(member_or_null(input, "arg"), visit);
}

/// The only value that a part of the graph names; nothing when it names none or several.
[[nodiscard]] inline std::optional<std::string> only_name(const nlohmann::json& part) {
  std::optional<std::string> out;
  bool is_only = true;
  for_each_name(part, [&](const std::string& name) {
    is_only = is_only && !out;
    out = name;
  });
  return is_only ? out : std::nullopt;
}

/// The tensor that an in-place operator changes: its first argument.
[[nodiscard]] inline std::optional<std::string> changed_tensor(const nlohmann::json& node) {
  const nlohmann::json& inputs = member_or_null(node, "inputs");
  if (!inputs.is_array() || inputs.empty()) return std::nullopt;
  return only_name(member_or_null(inputs[0], "arg"));
}

}}}  // namespace tenon::TENON_RELEASE::aot::detail
