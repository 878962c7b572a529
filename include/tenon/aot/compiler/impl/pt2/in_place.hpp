// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tenon/aot/compiler/impl/pt2/graph_json.hpp"
#include "tenon/aot/compiler/impl/pt2/in_place_operators.hpp"
#include "tenon/aot/compiler/impl/pt2/numbers.hpp"
#include "tenon/aot/compiler/impl/pt2/operator.hpp"
#include "tenon/core/concat.hpp"
#include "tenon/core/json.hpp"
#include "tenon/core/result.hpp"
#include "tenon/host/loader/files/quoted.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace aot::detail {

/// Checks that each in-place operator of a graph can be read as a function: "aten.relu_.default" as
/// "aten.relu.default", whose result all later readers of the changed tensor get.
///
/// That is so for a tensor that an operator of the graph made, when no other tensor that may share
/// its memory is read later, and when the function gives the same element type. Follows which
/// tensors may share memory, once through the nodes. Used once.
class InPlaceCheck {
 public:
  /// Both outlive the check. They may still hold errors, which the reader reports.
  InPlaceCheck(const JsonAt& graph, const nlohmann::json& output_specs)
      : graph_(&graph), output_specs_(&output_specs) {}

  /// errors: NotSupported, with the node and the reason.
  [[nodiscard]] Status check() {
    TENON_TRY(const JsonAt nodes, graph_->array("nodes"));
    if (std::none_of(nodes.json().begin(), nodes.json().end(), is_in_place_node)) return ok();
    find_last_reads(nodes.json());
    for_each_name(member_or_null(graph_->json(), "inputs"),
                  [this](const std::string& name) { memories_[add_tensor(name)].input = name; });
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      const nlohmann::json& node = nodes.json()[i];
      if (is_in_place_node(node)) {
        TENON_RETURN_IF_ERROR(check_node(nodes[i], i + 1));
      } else {
        add_results(node);
      }
    }
    return ok();
  }

 private:
  /// A tensor, by all names that it has got.
  struct Tensor {
    std::string name;           ///< The first one.
    std::size_t memory = 0;     ///< Its number.
    std::size_t last_read = 0;  ///< Number of the node that reads it last: from 1, after all nodes
                                ///< for an output, 0 when nothing reads it.
  };
  /// Tensors that may share their elements.
  struct Memory {
    std::vector<std::size_t> tensors;
    std::string input;  ///< The input of the graph that is one of them; empty for none.
  };

  [[nodiscard]] static bool is_in_place_node(const nlohmann::json& node) {
    return is_in_place_operator(operator_of(node));
  }
  /// Assertions are left out, and sizes do not change.
  [[nodiscard]] static bool reads_elements(std::string_view target) {
    return !is_assertion(target) && !target.starts_with("aten.sym_");
  }

  void find_last_reads(const nlohmann::json& nodes) {
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      if (!reads_elements(operator_of(nodes[i]))) continue;
      for_each_read(nodes[i], [&](const std::string& name) { last_reads_[name] = i + 1; });
    }
    for_each_name(*output_specs_,
                  [&](const std::string& name) { last_reads_[name] = nodes.size() + 1; });
  }
  [[nodiscard]] std::size_t last_read(const std::string& name) const {
    const auto found = last_reads_.find(name);
    return found != last_reads_.end() ? found->second : 0;
  }

  /// A tensor with memory of its own; returns the number of the memory.
  std::size_t add_tensor(const std::string& name) {
    memories_.push_back({{tensors_.size()}, {}});
    numbers_[name] = tensors_.size();
    tensors_.push_back({name, memories_.size() - 1, last_read(name)});
    return memories_.size() - 1;
  }

  void add_results(const nlohmann::json& node) {
    std::optional<std::size_t> shared;
    if (may_share_memory(operator_of(node))) shared = memory_of_first_argument(node);
    for_each_name(member_or_null(node, "outputs"), [&](const std::string& name) {
      const std::size_t own = add_tensor(name);
      if (shared) shared = join(*shared, own);
    });
  }

  /// The memory of the first argument that is a tensor or a list of tensors.
  [[nodiscard]] std::optional<std::size_t> memory_of_first_argument(const nlohmann::json& node) {
    std::optional<std::size_t> out;
    const nlohmann::json& inputs = member_or_null(node, "inputs");
    for (std::size_t i = 0; inputs.is_array() && i < inputs.size() && !out; ++i) {
      for_each_name(member_or_null(inputs[i], "arg"), [&](const std::string& name) {
        const auto found = numbers_.find(name);
        if (found == numbers_.end()) return;
        const std::size_t memory = tensors_[found->second].memory;
        out = out ? join(*out, memory) : memory;
      });
    }
    return out;
  }

  /// Makes one memory of two; returns its number. The smaller one moves.
  std::size_t join(std::size_t a, std::size_t b) {
    if (a == b) return a;
    if (memories_[a].tensors.size() < memories_[b].tensors.size()) std::swap(a, b);
    Memory& to = memories_[a];
    Memory& from = memories_[b];
    for (const std::size_t tensor : from.tensors) tensors_[tensor].memory = a;
    to.tensors.insert(to.tensors.end(), from.tensors.begin(), from.tensors.end());
    if (to.input.empty()) to.input = std::move(from.input);
    from = {};
    return a;
  }

  [[nodiscard]] Status check_node(const JsonAt& at, std::size_t number) {
    const nlohmann::json& node = at.json();
    TENON_TRY(const JsonAt target, at.member("target"));
    const auto function = function_of(operator_of(node));
    if (!function)
      return refuse(target, "its input, and no function is known that gives the same result");
    const auto changed = changed_tensor(node);
    const auto result = only_name(member_or_null(node, "outputs"));
    const auto found = changed ? numbers_.find(*changed) : numbers_.end();
    if (found == numbers_.end() || !result) {
      return refuse(target, "its input, but not a tensor that the graph has");
    }
    Tensor& tensor = tensors_[found->second];
    Memory& memory = memories_[tensor.memory];
    if (!memory.input.empty()) {
      return memory.input == tensor.name
                 ? refuse(target, host::quoted(tensor.name), ", an input of the program")
                 : refuse(target, host::quoted(*changed), ", which may share the memory of ",
                          host::quoted(memory.input), ", an input of the program");
    }
    for (const std::size_t other : memory.tensors) {
      if (other == found->second || tensors_[other].last_read <= number) continue;
      return refuse(target, host::quoted(*changed), ", while ", host::quoted(tensors_[other].name),
                    ", which may share its memory, is ", reader_text(tensors_[other].last_read));
    }
    // What is not read again needs no second look.
    memory.tensors = {found->second};
    if (!function->keeps_type) TENON_RETURN_IF_ERROR(check_types(target, node, *changed));
    tensor.last_read = std::max(tensor.last_read, last_read(*result));
    numbers_[*result] = found->second;
    return ok();
  }

  /// The function computes in the type of all its arguments, the operator in the first one's type.
  [[nodiscard]] Status check_types(const JsonAt& target, const nlohmann::json& node,
                                   const std::string& changed) const {
    const auto own = type_of(changed);
    std::string differs;
    for_each_read(node, [&](const std::string& name) {
      const auto other = type_of(name);
      if (own && other && !own->takes(*other)) differs = name;
    });
    if (differs.empty()) return ok();
    return refuse(target, host::quoted(changed), ", which has another element type than ",
                  host::quoted(differs), ": the function would give another type");
  }

  /// Nothing for numbers, and for tensors that are described wrongly.
  [[nodiscard]] std::optional<OperandType> type_of(const std::string& name) const {
    const auto values = graph_->find("tensor_values");
    const auto value = values ? values->find(name) : std::nullopt;
    const auto dtype = value ? value->find("dtype") : std::nullopt;
    if (!dtype) return std::nullopt;
    const auto type = read_scalar_type(*dtype);
    if (!type.ok()) return std::nullopt;
    return OperandType{*type, member_or_null(value->json(), "sizes").empty()};
  }

  [[nodiscard]] std::string reader_text(std::size_t read) const {
    const nlohmann::json& nodes = member_or_null(graph_->json(), "nodes");
    if (read > nodes.size()) return "an output";
    const nlohmann::json& name = member_or_null(nodes[read - 1], "name");
    return concat("read later", name.is_string() ? " by node " : "",
                  name.is_string() ? host::quoted(name.get_ref<const std::string&>()) : "");
  }

  template <class... Pieces>
  [[nodiscard]] static Status refuse(const JsonAt& target, const Pieces&... pieces) {
    return target.not_supported(
        "is ", host::quoted(operator_name(target.json())), ", which changes ", pieces...,
        "; save the program after run_decompositions(), which makes functions of such operators");
  }

  const JsonAt* graph_;
  const nlohmann::json* output_specs_;
  std::unordered_map<std::string, std::size_t> last_reads_;  ///< By name.
  std::unordered_map<std::string, std::size_t> numbers_;     ///< Of tensors, by each name.
  std::vector<Tensor> tensors_;
  std::vector<Memory> memories_;
};

}}}  // namespace tenon::TENON_RELEASE::aot::detail
