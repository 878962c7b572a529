// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "tenon/aot/compiler/impl/pt2/assertions.hpp"
#include "tenon/aot/compiler/impl/pt2/operator.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace aot::detail {

/// Whether an operator that is no view can return its input ("aten.dropout.default" outside of
/// training): its result may share memory with the input.
[[nodiscard]] inline bool may_return_its_input(std::string_view target) {
  constexpr std::array<std::string_view, 17> names{
      "alpha_dropout",   "conj",        "contiguous", "dropout",      "feature_alpha_dropout",
      "feature_dropout", "positive",    "ravel",      "resolve_conj", "resolve_neg",
      "sum_to_size",     "to",          "type_as",    "unsafe_chunk", "unsafe_split",
      "view_as_complex", "view_as_real"};
  constexpr std::string_view space = "aten.";
  if (!target.starts_with(space)) return false;
  target.remove_prefix(space.size());
  return std::binary_search(names.begin(), names.end(), target.substr(0, target.find('.')));
}

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
  static const nlohmann::json& member(const nlohmann::json& object, std::string_view key) {
    static const nlohmann::json none;
    if (!object.is_object()) return none;
    const auto found = object.find(key);
    return found != object.end() ? *found : none;
  }

  void read(const nlohmann::json& graph) {
    dtypes_ = &member(graph, "tensor_values");
    for_each_name(member(graph, "inputs"),
                  [&](const std::string& name) { shared_[name].insert(name); });
    const nlohmann::json& nodes = member(graph, "nodes");
    if (!nodes.is_array()) return;
    for (const nlohmann::json& node : nodes) read_node(node);
    for_each_name(member(graph, "outputs"), [&](const std::string& name) {
      returns_input_ = returns_input_ || shared_.contains(name);
    });
  }

  void read_node(const nlohmann::json& node) {
    const nlohmann::json& text = member(node, "target");
    const nlohmann::json& inputs = member(node, "inputs");
    if (!text.is_string() || !inputs.is_array()) return;
    constexpr std::string_view space = "torch.ops.";
    std::string_view target = text.get_ref<const std::string&>();
    if (target.starts_with(space)) target.remove_prefix(space.size());
    if (target.starts_with("higher_order.")) return read_inner_graphs(node, inputs);

    const std::vector<std::string> first =
        inputs.empty() ? std::vector<std::string>() : names_in(member(inputs[0], "arg"));
    const bool in_place = is_in_place_operator(target);
    if (in_place) write_to(first);
    if (in_place || is_view_operator(target)) share(first, node);
    const bool converts = target.starts_with("aten.to.") || target.starts_with("aten.type_as.");
    if (may_return_its_input(target)) share(first, node, converts);
  }

  /// Control flow, and regions without gradients: their graphs get the values that they read.
  void read_inner_graphs(const nlohmann::json& node, const nlohmann::json& inputs) {
    std::vector<std::string> read;
    bool writes = false;
    bool returns_input = false;
    for (const nlohmann::json& input : inputs) {
      const nlohmann::json& arg = member(input, "arg");
      const nlohmann::json& graph = member(member(arg, "as_graph"), "graph");
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
    for_each_name(member(node, "outputs"), [&](const std::string& output) {
      for (const std::string& name : values) {
        const auto found = shared_.find(name);
        if (found == shared_.end() || (converts && dtype_of(name) != dtype_of(output))) continue;
        const std::set<std::string> inputs = found->second;
        shared_[output].insert(inputs.begin(), inputs.end());
      }
    });
  }

  [[nodiscard]] const nlohmann::json& dtype_of(const std::string& name) const {
    return member(member(*dtypes_, name), "dtype");
  }

  const nlohmann::json* dtypes_ = nullptr;
  std::unordered_map<std::string, std::set<std::string>> shared_;  ///< Inputs, by value.
  std::set<std::string> written_;
  bool returns_input_ = false;
};

}}}  // namespace tenon::TENON_RELEASE::aot::detail
