// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "tenon/aot/compiler/impl/emit/debug_handles.hpp"
#include "tenon/aot/compiler/impl/emit/emit_argument.hpp"
#include "tenon/aot/compiler/impl/emit/tensor_value.hpp"
#include "tenon/aot/compiler/impl/lower/choose_kernel.hpp"
#include "tenon/aot/compiler/impl/lower/copy_edge.hpp"
#include "tenon/aot/compiler/lower/lowered_program.hpp"
#include "tenon/aot/compiler/lower/operator_schemas.hpp"
#include "tenon/aot/edge_program.hpp"
#include "tenon/aot/named_data_store.hpp"
#include "tenon/aot/preprocess_result.hpp"
#include "tenon/aot/program_data.hpp"
#include "tenon/core/concat.hpp"
#include "tenon/core/result.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace aot::detail {

/// Turns one lowered program into a method of a program. What ExecuTorch's _TopLevelEmitter does
/// (exir/emit/_emitter.py), with what its passes prepare: views become copies, operators become
/// kernels that write to given tensors, new contents of buffers and inputs are copied back.
class MethodEmitter {
 public:
  /// `external_tag` is the file of the constants; null for the program.
  MethodEmitter(const LoweredProgram& lowered, const std::vector<PreprocessResult>& results,
                const OperatorSchemas& operators, const std::string* external_tag,
                ProgramData& program, NamedDataStore& named_data)
      : lowered_(lowered),
        graph_(lowered.program),
        results_(results),
        operators_(operators),
        external_tag_(external_tag),
        program_(program),
        named_data_(named_data),
        indices_(graph_.num_values(), none),
        is_mutated_(graph_.num_values(), false),
        last_output_dtype_(ScalarType::Float) {
    for (const EdgeOutput& output : lowered_.outputs) {
      if (output.kind != EdgeOutputKind::UserOutput) is_mutated_[output.target] = true;
    }
  }

  /// Once.
  Result<MethodData> emit() {
    method_.name = graph_.method_name();
    for (const ValueId id : graph_.inputs()) {
      if (!is_tensor(id)) {
        return error(Error::NotSupported, "input '", graph_.value(id).name(),
                     "' is a number; runtimes take only the number that a program was made with, "
                     "so pass a tensor");
      }
      TENON_TRY(const ValueIndex index, value(id));
      method_.inputs.push_back(index);
    }
    for (const LoweredStep& step : lowered_.steps) {
      if (const auto* call = std::get_if<DelegateStep>(&step)) {
        TENON_RETURN_IF_ERROR(emit_delegate(call->partition));
      } else {
        TENON_RETURN_IF_ERROR(emit_node(graph_.node(std::get<NodeStep>(step).node)));
      }
    }
    TENON_RETURN_IF_ERROR(emit_outputs());
    return std::move(method_);
  }

  /// After `emit`.
  [[nodiscard]] std::string debug_handles_text() const {
    return detail::debug_handles_text(lowered_, kernels_, delegates_);
  }

  // For ArgumentEmitter.

  [[nodiscard]] bool is_tensor(ValueId id) const { return graph_.value(id).is_tensor(); }

  Result<ValueIndex> value(ValueId id) {
    if (indices_[id] == none) {
      TENON_TRY(Value made, make_value(id));
      indices_[id] = method_.add(std::move(made));
    }
    return indices_[id];
  }

  /// torch.tensor(number), as ExecuTorch's ScalarToTensorPass makes it; where the result is a
  /// double, so is the number, because eager PyTorch computes with all its digits then.
  ValueIndex scalar_tensor(const EdgeArgumentValue& number) {
    std::vector<std::byte> bytes;
    const auto store = [&](auto element) {
      bytes.resize(sizeof element);
      std::memcpy(bytes.data(), &element, sizeof element);
    };
    ScalarType type = ScalarType::Long;
    if (const auto* boolean = std::get_if<bool>(&number)) {
      type = ScalarType::Bool;
      store(static_cast<std::uint8_t>(*boolean ? 1 : 0));
    } else if (const auto* integer = std::get_if<std::int64_t>(&number)) {
      store(*integer);
    } else if (last_output_dtype_ == ScalarType::Double) {
      type = ScalarType::Double;
      store(std::get<double>(number));
    } else {
      type = ScalarType::Float;
      store(static_cast<float>(std::get<double>(number)));
    }
    TensorValue tensor;
    tensor.layout = {type, {}, {}};
    tensor.data = storage::Constant{program_.add_constant(SharedBytes(std::move(bytes)))};
    return method_.add(std::move(tensor));
  }

  /// Does the work of ExecuTorch's SymToTensorPass. Numbers stay as wide as they are: that pass
  /// makes integers of 32 bits.
  Result<ValueIndex> tensor_of(ValueId number) {
    TENON_TRY(const ValueIndex from, value(number));
    TensorValue tensor;
    switch (graph_.value(number).kind()) {
      case EdgeValueKind::SymFloat:
        tensor.layout.scalar_type =
            last_output_dtype_ == ScalarType::Double ? ScalarType::Double : ScalarType::Float;
        break;
      case EdgeValueKind::SymBool:
        tensor.layout.scalar_type = ScalarType::Bool;
        break;
      default:
        tensor.layout.scalar_type = ScalarType::Long;
    }
    tensor.data = storage::Planned();
    const ValueIndex to = method_.add(std::move(tensor));
    method_.instructions.push_back(
        KernelCall{method_.op("aten::scalar_tensor", "out"), {from, to, to}});
    return to;
  }

 private:
  static constexpr ValueIndex none = -1;

  Result<Value> make_value(ValueId id) {
    const EdgeValue value = graph_.value(id);
    switch (value.kind()) {
      case EdgeValueKind::SymFloat:
        return Value(0.0);
      case EdgeValueKind::SymBool:
        return Value(false);
      case EdgeValueKind::Tensor:
        break;
      default:
        return Value(std::int64_t{0});
    }
    TENON_TRY(TensorValue tensor, make_tensor_value(value));
    if (!value.has_fqn()) {
      tensor.data = storage::Planned();
    } else {
      if (value.data().size() != tensor.layout.nbytes()) {
        return error(Error::InvalidArgument, "'", value.name(), "' has ", value.data().size(),
                     " bytes of data, expected ", tensor.layout.nbytes());
      }
      SharedBytes bytes = SharedBytes::borrow(value.data(), nullptr);
      if (is_mutated_[id]) {
        tensor.data = storage::InitialState{program_.add_initial_state(std::move(bytes)), {}};
      } else if (external_tag_) {
        TENON_RETURN_IF_ERROR(named_data_.add_named_data(
            value.fqn(), std::move(bytes),
            {.alignment = 16, .external_tag = *external_tag_, .tensor_layout = tensor.layout}));
        tensor.fully_qualified_name = value.fqn();
        tensor.data = storage::External{};
      } else {
        tensor.data = storage::Constant{program_.add_constant(std::move(bytes))};
      }
    }
    return Value(std::move(tensor));
  }

  Status emit_delegate(std::uint32_t partition) {
    const LoweredPartition& part = lowered_.partitions[partition];
    const PreprocessResult& result = results_[partition];
    delegates_.push_back(&result);
    DelegateCall call;
    call.delegate_index = method_.add_delegate(
        {part.backend_id, result.processed_bytes, part.compile_specs, BlobPlacement::Default});
    for (const auto* values : {&part.inputs, &part.outputs}) {
      for (const ValueId id : *values) {
        TENON_TRY(const ValueIndex index, value(id));
        call.args.push_back(index);
      }
    }
    method_.instructions.push_back(std::move(call));
    return ok();
  }

  Status emit_node(const EdgeNode& node) {
    Status status = emit_kernel(node);
    if (status.ok()) return status;
    return error(status.error(), "node '", node.name(), "' (", node.target(), "): ", status.text());
  }

  Status emit_kernel(const EdgeNode& node) {
    const std::string target = choose_kernel(graph_, node, operators_);
    TENON_TRY(const OperatorSchema schema, operators_.find(target));
    const bool is_reordering = target != node.target() && target.starts_with(dim_order_operators);
    const bool by_position = schema.name.starts_with("executorch_prim::");
    TENON_RETURN_IF_ERROR(check_names(node, schema, by_position, is_reordering));
    const std::span<const ValueId> outputs = node.outputs();
    last_output_dtype_ = !outputs.empty() && is_tensor(outputs[0])
                             ? graph_.value(outputs[0]).scalar_type()
                             : ScalarType::Float;
    KernelCall call;
    call.op_index = method_.op(schema.name, schema.overload);
    ArgumentEmitter<MethodEmitter> arguments(method_, *this);
    std::vector<ValueIndex> written;
    for (std::size_t i = 0; i < schema.arguments.size(); ++i) {
      const SchemaArgument& parameter = schema.arguments[i];
      if (parameter.is_out) {
        TENON_TRY(const ValueIndex out, emit_out(parameter, outputs, written));
        call.args.push_back(out);
        continue;
      }
      const auto argument = by_position ? at_position(node, i) : node.find(parameter.name);
      std::optional<EdgeArgumentValue> given;
      if (argument) given = copy_argument(*argument, [](ValueId id) { return id; });
      if (is_reordering && parameter.name == "dim_order") given = dim_order_of(outputs[0]);
      TENON_TRY(const ValueIndex index, arguments.emit(parameter, given));
      call.args.push_back(index);
    }
    TENON_RETURN_IF_ERROR(add_result(schema, outputs, written, call));
    kernels_.emplace_back(method_.instructions.size(), node.debug_handle());
    method_.instructions.push_back(std::move(call));
    return ok();
  }

  [[nodiscard]] EdgeInts dim_order_of(ValueId id) const {
    const auto order = graph_.value(id).dim_order();
    return EdgeInts(std::vector<std::int64_t>(order.begin(), order.end()));
  }

  static std::optional<EdgeArgument> at_position(const EdgeNode& node, std::size_t i) {
    if (i < node.num_arguments()) return node.argument(i);
    return std::nullopt;
  }

  /// An argument that a kernel does not take must not be dropped silently. The output states type
  /// and device of the result.
  static Status check_names(const EdgeNode& node, const OperatorSchema& schema, bool by_position,
                            bool is_reordering) {
    if (by_position && node.num_arguments() > schema.arguments.size()) {
      return error(Error::NotSupported, "there are ", node.num_arguments(), " arguments, ",
                   schema.name, " takes ", schema.arguments.size());
    }
    for (std::size_t i = 0; !by_position && i < node.num_arguments(); ++i) {
      const std::string_view name = node.argument(i).name();
      if (name == "dtype" || name == "layout" || name == "device" || name == "pin_memory") continue;
      if (name == "memory_format" && is_reordering) continue;
      if (std::ranges::none_of(schema.arguments, [&](const SchemaArgument& parameter) {
            return parameter.name == name && !parameter.is_out;
          })) {
        return error(Error::NotSupported, "kernel ", schema.name, ".", schema.overload,
                     " has no parameter '", name, "'");
      }
    }
    return ok();
  }

  Result<ValueIndex> emit_out(const SchemaArgument& parameter, std::span<const ValueId> outputs,
                              std::vector<ValueIndex>& written) {
    const std::size_t first = written.size();
    const std::size_t last = parameter.is_list ? outputs.size() : first + 1;
    for (std::size_t i = first; i < last; ++i) {
      if (i >= outputs.size() || !is_tensor(outputs[i])) {
        return error(Error::NotSupported, "the kernel writes to '", parameter.name,
                     "', for which the node has no tensor as output");
      }
      TENON_TRY(const ValueIndex index, value(outputs[i]));
      written.push_back(index);
    }
    if (!parameter.is_list) return written.back();
    return method_.add(TensorList{written});
  }

  /// Programs name the result once more behind the arguments: a tensor that was written, a list of
  /// them, or the number that the operator returns.
  Status add_result(const OperatorSchema& schema, std::span<const ValueId> outputs,
                    const std::vector<ValueIndex>& written, KernelCall& call) {
    if (!written.empty()) {
      if (written.size() != outputs.size()) {
        return error(Error::NotSupported, "the node has ", outputs.size(), " outputs, kernel ",
                     schema.name, ".", schema.overload, " writes to ", written.size());
      }
      const bool is_list = schema.arguments.back().is_list || written.size() > 1;
      call.args.push_back(is_list ? method_.add(TensorList{written}) : written.front());
      return ok();
    }
    if (outputs.size() != 1 || is_tensor(outputs[0])) {
      return error(Error::NotSupported, schema.name, " returns one number, the node has ",
                   outputs.size(), outputs.size() == 1 ? " tensor as output" : " outputs");
    }
    TENON_TRY(const ValueIndex index, value(outputs[0]));
    call.args.push_back(index);
    return ok();
  }

  /// Outputs show what was there before the call wrote to buffers and inputs, and so do new
  /// contents that are old contents of another one: those are put aside first.
  Status emit_outputs() {
    std::unordered_map<ValueId, ValueIndex> aside;
    for (const EdgeOutput& output : lowered_.outputs) {
      const bool is_new_content = output.kind != EdgeOutputKind::UserOutput;
      if (!is_mutated_[output.value] || (is_new_content && output.value == output.target)) continue;
      if (aside.contains(output.value)) continue;
      TENON_TRY(const ValueIndex copy, emit_clone(output.value));
      aside.emplace(output.value, copy);
    }
    const auto find = [&](ValueId id) -> Result<ValueIndex> {
      const auto found = aside.find(id);
      if (found != aside.end()) return found->second;
      return value(id);
    };
    for (const EdgeOutput& output : lowered_.outputs) {
      if (output.kind == EdgeOutputKind::UserOutput || output.value == output.target) continue;
      TENON_TRY(const ValueIndex from, find(output.value));
      TENON_TRY(const ValueIndex to, value(output.target));
      const ValueIndex non_blocking = method_.add(false);
      method_.instructions.push_back(
          KernelCall{method_.op("aten::copy_", ""), {to, from, non_blocking, to}});
    }
    for (const EdgeOutput& output : lowered_.outputs) {
      if (output.kind != EdgeOutputKind::UserOutput) continue;
      TENON_TRY(const ValueIndex index, find(output.value));
      method_.outputs.push_back(index);
    }
    return ok();
  }

  Result<ValueIndex> emit_clone(ValueId id) {
    TENON_TRY(const ValueIndex from, value(id));
    TENON_TRY(TensorValue copy, make_tensor_value(graph_.value(id)));
    copy.data = storage::Planned();
    const ValueIndex to = method_.add(std::move(copy));
    const ValueIndex memory_format = method_.add(std::monostate{});
    method_.instructions.push_back(
        KernelCall{method_.op("aten::clone", "out"), {from, memory_format, to, to}});
    return to;
  }

  const LoweredProgram& lowered_;
  const EdgeProgram& graph_;
  const std::vector<PreprocessResult>& results_;
  const OperatorSchemas& operators_;
  const std::string* external_tag_;
  ProgramData& program_;
  NamedDataStore& named_data_;
  MethodData method_;
  /// Instructions that call kernels of nodes, with the debug handles of those.
  std::vector<std::pair<std::size_t, std::uint32_t>> kernels_;
  std::vector<const PreprocessResult*> delegates_;  ///< In the order of the method's.
  std::vector<ValueIndex> indices_;  ///< By value of the graph; `none` until it is needed.
  std::vector<bool> is_mutated_;     ///< By value of the graph.
  ScalarType last_output_dtype_;     ///< Of the node that is emitted.
};

}}}  // namespace tenon::TENON_RELEASE::aot::detail
