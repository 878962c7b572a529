// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "tenon/aot/compiler/impl/pt2/operator.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace aot::detail {

/// Calls `visit(name)` for each value that a part of an archive's graph names.
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

/// The nodes that are assertions, or make values that only assertions read: programs omit them, as
/// ExecuTorch's do. Nodes whose values are not read at all stay. `nodes` and `output_specs` are not
/// checked yet: errors in them are reported when they are read.
[[nodiscard]] inline std::vector<bool> only_for_assertions(const nlohmann::json& nodes,
                                                           const nlohmann::json& output_specs) {
  struct Readers {
    bool kept = false;
    bool left_out = false;
  };
  std::unordered_map<std::string, Readers> readers;
  for_each_name(output_specs, [&](const std::string& name) { readers[name].kept = true; });

  const nlohmann::json none;
  const auto member = [&](const nlohmann::json& node, std::string_view key) -> const auto& {
    if (!node.is_object()) return none;
    const auto found = node.find(key);
    return found != node.end() ? *found : none;
  };
  std::vector<bool> left_out(nodes.size());
  for (std::size_t i = nodes.size(); i-- > 0;) {
    const nlohmann::json& target = member(nodes[i], "target");
    constexpr std::string_view space = "torch.ops.";
    std::string_view name;
    if (target.is_string()) name = target.get_ref<const std::string&>();
    if (name.starts_with(space)) name.remove_prefix(space.size());
    Readers own;
    for_each_name(member(nodes[i], "outputs"), [&](const std::string& output) {
      const auto found = readers.find(output);
      if (found == readers.end()) return;
      own.kept = own.kept || found->second.kept;
      own.left_out = own.left_out || found->second.left_out;
    });
    left_out[i] = is_assertion(name) || (own.left_out && !own.kept);
    const nlohmann::json& inputs = member(nodes[i], "inputs");
    if (!inputs.is_array()) continue;
    for (const nlohmann::json& input : inputs) {
      for_each_name(member(input, "arg"), [&](const std::string& read) {
        Readers& of_it = readers[read];
        (left_out[i] ? of_it.left_out : of_it.kept) = true;
      });
    }
  }
  return left_out;
}

}}}  // namespace tenon::TENON_RELEASE::aot::detail
