// SPDX-License-Identifier: MIT
#pragma once

#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "tenon/aot/compiler/impl/pt2/graph_json.hpp"
#include "tenon/aot/compiler/impl/pt2/in_place_operators.hpp"
#include "tenon/aot/compiler/impl/pt2/operator.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace aot::detail {

/// Finds the inputs of an archive's graph that operators write to in place. Before
/// `run_decompositions()` such writes are operators ("aten.add_.Tensor"), and the signature does
/// not have them.
///
/// Damaged JSON is passed over: its reader reports it.
class WrittenInputs {
 public:
  /// The inputs of `graph` that are written to, by their names. A value that may share memory with
  /// an input counts as that input.
  [[nodiscard]] static std::set<std::string> of(const nlohmann::json& graph) {
    WrittenInputs found;
    found.read(graph);
    return found.written_;
  }

 private:
  void read(const nlohmann::json& graph) {
    dtypes_ = &member_or_null(graph, "tensor_values");
    for_each_name(member_or_null(graph, "inputs"),
                  [&](const std::string& name) { shared_[name].insert(name); });
    const nlohmann::json& nodes = member_or_null(graph, "nodes");
    if (!nodes.is_array()) return;
    for (const nlohmann::json& node : nodes) read_node(node);
    for_each_name(member_or_null(graph, "outputs"), [&](const std::string& name) {
      returns_input_ = returns_input_ || shared_.contains(name);
    });
  }

  void read_node(const nlohmann::json& node) {
    const nlohmann::json& inputs = member_or_null(node, "inputs");
    const std::string_view target = operator_of(node);
    if (target.empty() || !inputs.is_array()) return;
    if (target.starts_with("higher_order.")) return read_inner_graphs(node, inputs);

    const std::vector<std::string> first =
        inputs.empty() ? std::vector<std::string>() : names_in(member_or_null(inputs[0], "arg"));
    const bool in_place = is_in_place_operator(target);
    if (in_place) write_to(first);
    const bool converts = target.starts_with("aten.to.") || target.starts_with("aten.type_as.");
    if (in_place || may_share_memory(target)) share(first, node, converts);
  }

  /// Control flow, and regions without gradients: their graphs get the values that they read.
  void read_inner_graphs(const nlohmann::json& node, const nlohmann::json& inputs) {
    std::vector<std::string> read;
    bool writes = false;
    bool returns_input = false;
    for (const nlohmann::json& input : inputs) {
      const nlohmann::json& arg = member_or_null(input, "arg");
      const nlohmann::json& graph = member_or_null(member_or_null(arg, "as_graph"), "graph");
      if (graph.is_null()) {
        for (std::string& name : names_in(arg)) read.push_back(std::move(name));
        continue;
      }
      WrittenInputs inner;
      inner.read(graph);
      writes = writes || !inner.written_.empty();
      returns_input = returns_input || inner.returns_input_;
    }
    if (writes) write_to(read);
    if (returns_input) share(read, node);
  }

  static std::vector<std::string> names_in(const nlohmann::json& part) {
    std::vector<std::string> out;
    for_each_name(part, [&](const std::string& name) { out.push_back(name); });
    return out;
  }

  void write_to(const std::vector<std::string>& values) {
    for (const std::string& name : values) {
      const auto found = shared_.find(name);
      if (found != shared_.end()) written_.insert(found->second.begin(), found->second.end());
    }
  }

  /// Results of `node` share memory with the values, with all or with the ones of their dtype.
  void share(const std::vector<std::string>& values, const nlohmann::json& node,
             bool converts = false) {
    for_each_name(member_or_null(node, "outputs"), [&](const std::string& output) {
      for (const std::string& name : values) {
        const auto found = shared_.find(name);
        if (found == shared_.end() || (converts && dtype_of(name) != dtype_of(output))) continue;
        const std::set<std::string> inputs = found->second;
        shared_[output].insert(inputs.begin(), inputs.end());
      }
    });
  }

  [[nodiscard]] const nlohmann::json& dtype_of(const std::string& name) const {
    return member_or_null(member_or_null(*dtypes_, name), "dtype");
  }

  const nlohmann::json* dtypes_ = nullptr;
  std::unordered_map<std::string, std::set<std::string>> shared_;  ///< Inputs, by value.
  std::set<std::string> written_;
  bool returns_input_ = false;
};

}}}  // namespace tenon::TENON_RELEASE::aot::detail
