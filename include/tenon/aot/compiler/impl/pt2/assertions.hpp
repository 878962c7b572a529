// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "tenon/aot/compiler/impl/pt2/graph_json.hpp"
#include "tenon/aot/compiler/impl/pt2/operator.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace aot::detail {

/// The nodes that are assertions, or make values that only assertions read: programs omit them, as
/// ExecuTorch's do. Nodes whose values are not read at all stay, and so do nodes that change their
/// inputs. `nodes` and `output_specs` are not checked yet: errors in them are reported when they
/// are read.
[[nodiscard]] inline std::vector<bool> only_for_assertions(const nlohmann::json& nodes,
                                                           const nlohmann::json& output_specs) {
  struct Readers {
    bool kept = false;
    bool left_out = false;
  };
  std::unordered_map<std::string, Readers> readers;
  for_each_name(output_specs, [&](const std::string& name) { readers[name].kept = true; });

  std::vector<bool> left_out(nodes.size());
  for (std::size_t i = nodes.size(); i-- > 0;) {
    const std::string_view name = operator_of(nodes[i]);
    Readers own;
    for_each_name(member_or_null(nodes[i], "outputs"), [&](const std::string& output) {
      const auto found = readers.find(output);
      if (found == readers.end()) return;
      own.kept = own.kept || found->second.kept;
      own.left_out = own.left_out || found->second.left_out;
    });
    left_out[i] = is_assertion(name) || (own.left_out && !own.kept && !is_in_place_operator(name));
    for_each_read(nodes[i], [&](const std::string& read) {
      Readers& of_it = readers[read];
      (left_out[i] ? of_it.left_out : of_it.kept) = true;
    });
  }
  return left_out;
}

}}}  // namespace tenon::TENON_RELEASE::aot::detail
