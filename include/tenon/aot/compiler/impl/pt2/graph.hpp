// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <variant>
#include <vector>

#include "tenon/aot/compiler/impl/pt2/arguments.hpp"
#include "tenon/aot/compiler/impl/pt2/assertions.hpp"
#include "tenon/aot/compiler/impl/pt2/in_place.hpp"
#include "tenon/aot/compiler/impl/pt2/layout.hpp"
#include "tenon/aot/compiler/impl/pt2/operator.hpp"
#include "tenon/aot/compiler/impl/pt2/tensor.hpp"
#include "tenon/aot/compiler/impl/pt2/weights.hpp"
#include "tenon/aot/compiler/impl/pt2/written_inputs.hpp"
#include "tenon/aot/compiler/pt2/reader.hpp"
#include "tenon/aot/edge_description.hpp"
#include "tenon/aot/edge_program_builder.hpp"
#include "tenon/aot/edge_value.hpp"
#include "tenon/aot/owned_edge_program.hpp"
#include "tenon/core/concat.hpp"
#include "tenon/core/json.hpp"
#include "tenon/core/result.hpp"
#include "tenon/host/loader/files/quoted.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace aot::detail {

/// Builds an edge program from one exported program of an archive (schema.py: ExportedProgram).
/// Used once.
class Pt2GraphReader {
 public:
  /// `model` is the whole JSON. All of them outlive the reader.
  Pt2GraphReader(const JsonAt& model, std::string_view method_name, Pt2Weights& weights,
                 Pt2Content content)
      : model_(model),
        weights_(&weights),
        signature_only_(content == Pt2Content::Signature),
        builder_(method_name) {}

  [[nodiscard]] Result<OwnedEdgeProgram> read() {
    TENON_RETURN_IF_ERROR(check_version());
    TENON_TRY(const JsonAt constraints, model_.member("range_constraints"));
    TENON_TRY(symbols_, Pt2Symbols::read(constraints));
    TENON_TRY(const JsonAt graph_module, model_.member("graph_module"));
    TENON_TRY(const JsonAt graph, graph_module.member("graph"));
    graph_ = &graph;
    TENON_TRY(const JsonAt signature, graph_module.member("signature"));
    TENON_RETURN_IF_ERROR(read_inputs(signature));
    TENON_TRY(const JsonAt nodes, graph.array("nodes"));
    TENON_TRY(const JsonAt output_specs, signature.member("output_specs"));
    if (!signature_only_) {
      TENON_RETURN_IF_ERROR(InPlaceCheck(graph, output_specs.json()).check());
    }
    const std::vector<bool> left_out = only_for_assertions(nodes.json(), output_specs.json());
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      if (!left_out[i]) TENON_RETURN_IF_ERROR(read_node(nodes[i]));
    }
    TENON_RETURN_IF_ERROR(read_outputs(output_specs));
    if (signature_only_) add_written_inputs();
    return std::move(builder_).build();
  }

  /// Inputs and outputs of the signature that are not in the program: they carry no data.
  [[nodiscard]] const std::vector<std::string>& left_out() const noexcept { return left_out_; }

 private:
  [[nodiscard]] Status check_version() const {
    constexpr std::int64_t known = 8;
    TENON_TRY(const JsonAt version, model_.member("schema_version"));
    TENON_TRY(const JsonAt major_at, version.member("major"));
    TENON_TRY(const std::int64_t major, major_at.integer());
    if (major == known) return ok();
    return major_at.not_supported("is ", major, ", expected ", known,
                                  ": another version of PyTorch wrote it");
  }

  // Inputs.

  [[nodiscard]] Status read_inputs(const JsonAt& signature) {
    TENON_TRY(const JsonAt specs, signature.array("input_specs"));
    TENON_TRY(const JsonAt inputs, graph_->array("inputs"));
    if (inputs.size() != specs.size()) {
      return specs.wrong("has ", specs.size(), " entries, expected ", inputs.size(),
                         ", as many as the graph has inputs");
    }
    for (std::size_t i = 0; i < specs.size(); ++i) TENON_RETURN_IF_ERROR(read_input(specs[i]));
    return ok();
  }

  [[nodiscard]] Status read_input(const JsonAt& spec) {
    TENON_TRY(const auto member, spec.only_member());
    const auto& [kind, value] = member;
    if (kind == "user_input") return read_user_input(value);
    if (kind == "parameter") return read_stored(value, EdgeOrigin::Parameter, "parameter_name");
    if (kind == "buffer") return read_stored(value, EdgeOrigin::Buffer, "buffer_name");
    if (kind == "tensor_constant") {
      return read_stored(value, EdgeOrigin::Constant, "tensor_constant_name");
    }
    if (kind == "constant_input") {
      TENON_TRY(const std::string name, value.text("name"));
      left_out_.push_back(concat("input ", host::quoted(name), " is a constant"));
      return ok();
    }
    return spec.not_supported("is an input of kind ", host::quoted(kind),
                              ", which programs do not support");
  }

  [[nodiscard]] Status read_user_input(const JsonAt& spec) {
    TENON_TRY(const JsonAt arg, spec.member("arg"));
    TENON_TRY(const auto member, arg.only_member());
    const auto& [kind, value] = member;
    if (kind == "as_tensor") {
      TENON_TRY(const JsonAt name_at, value.member("name"));
      TENON_TRY(const std::string name, name_at.text());
      TENON_TRY(const Pt2Tensor tensor, tensor_of(name));
      const ValueId id = builder_.user_input(name, tensor.tensor);
      if (!tensor.is_dense) laid_out_anew_.insert(id);
      user_inputs_.emplace(name, id);
      return names_.add(name_at, name, id, EdgeValueKind::Tensor);
    }
    if (kind == "as_sym_int") {
      TENON_TRY(const JsonAt name_at, value.member("as_name"));
      TENON_TRY(const std::string name, name_at.text());
      TENON_TRY(const EdgeTensor::Size range, symbol_of(name, EdgeValueKind::SymInt));
      const ValueId id = builder_.user_input_symbol(name, range);
      return names_.add(name_at, name, id, EdgeValueKind::SymInt);
    }
    return arg.not_supported("is a user input given as ", host::quoted(kind),
                             ", expected a tensor or a symbolic integer");
  }

  [[nodiscard]] Status read_stored(const JsonAt& spec, EdgeOrigin origin,
                                   std::string_view fqn_member) {
    TENON_TRY(const JsonAt arg, spec.member("arg"));
    TENON_TRY(const JsonAt name_at, arg.member("name"));
    TENON_TRY(const std::string name, name_at.text());
    TENON_TRY(const std::string fqn, spec.text(fqn_member));
    TENON_TRY(const Pt2Tensor tensor, tensor_of(name));
    SharedBytes data;
    if (!signature_only_) {
      TENON_TRY(Pt2Weight weight, weights_->read(fqn, symbols_));
      if (!tensor.place || tensor.place->sizes != weight.description.place->sizes ||
          tensor.tensor.scalar_type != weight.description.tensor.scalar_type) {
        return spec.wrong("describes ", host::quoted(fqn), " in another way than its data");
      }
      data = std::move(weight.data);
    }
    EdgeTensor plain = tensor.tensor;
    plain.dim_order.clear();
    const ValueId id = builder_.stored(origin, name, fqn, plain, std::move(data));
    if (origin == EdgeOrigin::Buffer && !buffers_.emplace(fqn, id).second) {
      return spec.wrong("names buffer ", host::quoted(fqn), ", which is another input already");
    }
    return names_.add(name_at, name, id, EdgeValueKind::Tensor);
  }

  // Values.

  [[nodiscard]] Result<Pt2Tensor> tensor_of(const std::string& name) const {
    TENON_TRY(const JsonAt table, graph_->member("tensor_values"));
    TENON_TRY(const JsonAt at, table.member(name));
    return read_tensor(at, symbols_);
  }

  /// The range of a symbolic number.
  [[nodiscard]] Result<EdgeTensor::Size> symbol_of(const std::string& name,
                                                   EdgeValueKind kind) const {
    if (kind == EdgeValueKind::SymInt) {
      TENON_TRY(const JsonAt table, graph_->member("sym_int_values"));
      TENON_TRY(const JsonAt at, table.member(name));
      TENON_TRY(const Pt2Int read, read_sym_int(at, symbols_));
      return read.size;
    }
    const bool is_bool = kind == EdgeValueKind::SymBool;
    TENON_TRY(const JsonAt table, graph_->member(is_bool ? "sym_bool_values" : "sym_float_values"));
    TENON_TRY(const JsonAt at, table.member(name));
    TENON_TRY(const auto member, at.only_member());
    const auto& [form, value] = member;
    const SymRange range = is_bool ? SymRange{0, 1} : SymRange{};
    if (form == "as_expr") {
      TENON_TRY(const std::string text, value.text("expr_str"));
      auto expression = SymExpression::parse(text);
      if (!expression.ok()) return std::move(expression).status().with_context(value.where());
      return EdgeTensor::Size(range.min, range.max, expression->text());
    }
    if (is_bool && form == "as_bool") {
      TENON_TRY(const bool boolean, value.boolean());
      return EdgeTensor::Size(boolean ? 1 : 0);
    }
    if (!is_bool && form == "as_float") {
      TENON_TRY(const double real, read_real(value));
      return EdgeTensor::Size(range.min, range.max, concat(real));
    }
    return at.wrong("has ", host::quoted(form), ", expected 'as_expr' or a number");
  }

  // Nodes.

  [[nodiscard]] Status read_node(const JsonAt& at) {
    TENON_TRY(const JsonAt target_at, at.member("target"));
    TENON_TRY(const std::string target, read_target(target_at));
    if (!signature_only_) TENON_RETURN_IF_ERROR(check_target(target_at, target));
    const auto function = signature_only_ ? std::nullopt : function_of(target);
    auto done = function ? read_in_place_node(at, *function) : read_node_of(at, target);
    if (done.ok()) return done;
    // The operator is a better hint at a nested mistake than its path.
    const auto name = at.find_set("name");
    return std::move(done).with_context(concat(
        "node ", name ? host::quoted(name->text().ok() ? *name->text() : std::string("?")) : "?",
        " (", host::printable(target, 80), ")"));
  }

  /// Reads the operator as its function. Later readers of the tensor that it changes get the
  /// result: InPlaceCheck allows no others.
  [[nodiscard]] Status read_in_place_node(const JsonAt& at, const FunctionOfInPlace& function) {
    TENON_RETURN_IF_ERROR(read_node_of(at, function.target, function.first_argument));
    const auto changed = changed_tensor(at.json());
    const auto result = only_name(member_or_null(at.json(), "outputs"));
    if (changed && result) names_.replace(*changed, *result);
    return ok();
  }

  /// `first_argument` is the name of the first one, if not the archive's.
  [[nodiscard]] Status read_node_of(const JsonAt& at, const std::string& target,
                                    std::string_view first_argument = {}) {
    TENON_TRY(const JsonAt inputs, at.array("inputs"));
    std::vector<EdgeProgramBuilder::Argument> arguments;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const JsonAt input = inputs[i];
      TENON_TRY(std::string name, input.text("name"));
      if (i == 0 && !first_argument.empty()) name = first_argument;
      TENON_TRY(const JsonAt arg, input.member("arg"));
      auto value = read_argument(arg, names_);
      if (value.ok()) {
        arguments.emplace_back(std::move(name), *std::move(value));
      } else if (!signature_only_) {
        return std::move(value).status();
      }
    }
    const bool plain = gives_plain_layout(target, arguments);
    TENON_TRY(const std::vector<ValueId> outputs, read_node_outputs(at, plain));
    std::string name;
    if (const auto name_at = at.find_set("name")) {
      TENON_TRY(name, name_at->text());
    } else {
      name = concat("node_", node_names_.size());
    }
    if (!node_names_.insert(name).second) {
      return at.wrong("has the name ", host::quoted(name), ", which another node has");
    }
    builder_.add_node(name, target, arguments, outputs, module_path(at));
    return ok();
  }

  /// Whether outputs of the node are in the plain order, whatever order the exporter saw: it saw
  /// views, or what followed the order of views, and here those are copies.
  [[nodiscard]] bool gives_plain_layout(
      std::string_view target, const std::vector<EdgeProgramBuilder::Argument>& arguments) const {
    constexpr std::int64_t preserve = 1;
    bool plain = is_view_operator(target);
    const auto look_at = [&](ValueId id) { plain = plain || laid_out_anew_.contains(id); };
    for (const auto& [name, value] : arguments) {
      if (const auto* ref = std::get_if<EdgeRef>(&value)) look_at(ref->id);
      if (const auto* list = std::get_if<std::vector<ValueId>>(&value)) {
        for (const ValueId id : *list) look_at(id);
      }
      const auto* enumerator = std::get_if<EdgeEnumerator>(&value);
      if (enumerator != nullptr && enumerator->kind == EdgeArgumentKind::MemoryFormat &&
          enumerator->number != preserve) {
        return false;
      }
    }
    return plain;
  }

  [[nodiscard]] Result<std::vector<ValueId>> read_node_outputs(const JsonAt& node, bool plain) {
    TENON_TRY(const JsonAt outputs, node.array("outputs"));
    std::vector<ValueId> ids;
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      TENON_TRY(const auto member, outputs[i].only_member());
      const auto& [kind, value] = member;
      if (kind == "as_tensor") {
        TENON_TRY(const ValueId id, add_tensor(value, plain));
        ids.push_back(id);
      } else if (kind == "as_tensors" && outputs.size() == 1) {
        TENON_TRY(ids,
                  value.list<ValueId>([&](const JsonAt& one) { return add_tensor(one, plain); }));
      } else if (kind == "as_sym_int") {
        TENON_TRY(const ValueId id, add_symbol(value, EdgeValueKind::SymInt));
        ids.push_back(id);
      } else if (kind == "as_sym_float") {
        TENON_TRY(const ValueId id, add_symbol(value, EdgeValueKind::SymFloat));
        ids.push_back(id);
      } else if (kind == "as_sym_bool") {
        TENON_TRY(const ValueId id, add_symbol(value, EdgeValueKind::SymBool));
        ids.push_back(id);
      } else if (!signature_only_) {
        return outputs[i].not_supported(
            "is ", host::quoted(kind),
            ", expected tensors, one list of tensors, or symbolic numbers");
      }
    }
    return ids;
  }

  [[nodiscard]] Result<ValueId> add_tensor(const JsonAt& at, bool plain) {
    TENON_TRY(const JsonAt name_at, at.member("name"));
    TENON_TRY(const std::string name, name_at.text());
    TENON_TRY(Pt2Tensor tensor, tensor_of(name));
    const bool was_plain = tensor.is_dense && is_plain(tensor.tensor.dim_order);
    if (plain) tensor.tensor.dim_order.clear();
    const ValueId id = builder_.node_output(name, tensor.tensor);
    if (!was_plain && (plain || !tensor.is_dense)) laid_out_anew_.insert(id);
    TENON_RETURN_IF_ERROR(names_.add(name_at, name, id, EdgeValueKind::Tensor));
    return id;
  }

  static bool is_plain(const DimOrder& order) {
    for (std::size_t i = 0; i < order.size(); ++i) {
      if (order[i] != i) return false;
    }
    return true;
  }

  [[nodiscard]] Result<ValueId> add_symbol(const JsonAt& at, EdgeValueKind kind) {
    TENON_TRY(const JsonAt name_at, at.member("as_name"));
    TENON_TRY(const std::string name, name_at.text());
    TENON_TRY(const EdgeTensor::Size range, symbol_of(name, kind));
    const ValueId id = builder_.node_output_symbol(name, kind, range);
    TENON_RETURN_IF_ERROR(names_.add(name_at, name, id, kind));
    return id;
  }

  // Outputs.

  [[nodiscard]] Status read_outputs(const JsonAt& specs) {
    TENON_RETURN_IF_ERROR(specs.check_array());
    for (std::size_t i = 0; i < specs.size(); ++i) TENON_RETURN_IF_ERROR(read_output(specs[i], i));
    return ok();
  }

  [[nodiscard]] Status read_output(const JsonAt& spec, std::size_t number) {
    TENON_TRY(const auto member, spec.only_member());
    const auto& [kind, value] = member;
    if (kind == "user_output") return read_user_output(value, number);
    const bool is_buffer = kind == "buffer_mutation";
    if (!is_buffer && kind != "user_input_mutation") {
      return spec.not_supported("is an output of kind ", host::quoted(kind),
                                ", which programs do not support");
    }
    TENON_TRY(const JsonAt arg, value.member("arg"));
    TENON_TRY(const ValueId id, names_.find_tensor(arg));
    TENON_TRY(const std::string target, value.text(is_buffer ? "buffer_name" : "user_input_name"));
    const auto& targets = is_buffer ? buffers_ : user_inputs_;
    const auto found = targets.find(target);
    if (found == targets.end()) {
      return value.wrong("changes ", host::quoted(target), ", which is not an input");
    }
    builder_.mutation(found->second, id);
    return ok();
  }

  /// Inputs that operators change in place, as if the signature had them.
  void add_written_inputs() {
    for (const std::string& name : WrittenInputs::of(graph_->json())) {
      const auto found = user_inputs_.find(name);
      if (found != user_inputs_.end()) builder_.mutation(found->second, found->second);
    }
  }

  [[nodiscard]] Status read_user_output(const JsonAt& spec, std::size_t number) {
    TENON_TRY(const JsonAt arg, spec.member("arg"));
    TENON_TRY(const auto member, arg.only_member());
    const auto& [kind, value] = member;
    if (kind == "as_tensor") {
      TENON_TRY(const ValueId id, names_.find_tensor(value));
      builder_.user_output(id);
      return ok();
    }
    if (kind == "as_sym_int") {
      TENON_TRY(const JsonAt name, value.member("as_name"));
      TENON_TRY(const ValueId id, names_.find(name, EdgeValueKind::SymInt));
      builder_.user_output(id);
      return ok();
    }
    if (kind == "as_none") {
      if (signature_only_) {
        return arg.not_supported(
            "is an output that is None, which the library of AOTInductor counts and no program "
            "has; "
            "export the model without it");
      }
      left_out_.push_back(concat("output ", number, " is None"));
      return ok();
    }
    return arg.not_supported("is an output given as ", host::quoted(kind),
                             ", expected a tensor or a symbolic integer");
  }

  JsonAt model_;
  const JsonAt* graph_ = nullptr;  ///< While `read` runs.
  Pt2Weights* weights_;
  bool signature_only_;
  EdgeProgramBuilder builder_;
  Pt2Symbols symbols_;
  Pt2Names names_;
  std::unordered_map<std::string, ValueId> user_inputs_;  ///< By name.
  std::unordered_map<std::string, ValueId> buffers_;      ///< By fully-qualified name.
  std::unordered_set<std::string> node_names_;
  /// Tensors whose elements are in another order than the exporter saw.
  std::unordered_set<ValueId> laid_out_anew_;
  std::vector<std::string> left_out_;
};

}}}  // namespace tenon::TENON_RELEASE::aot::detail
