// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tenon/aot.hpp>
#include <utility>
#include <vector>

#include "common/blob.hpp"

/// The ahead-of-time half: selects the nodes for this backend and compiles them to a blob.
namespace my_npu {

/// The operator with this name in PyTorch, or nothing if it is not supported.
[[nodiscard]] inline std::optional<Op> op_named(std::string_view target) {
  constexpr std::pair<std::string_view, Op> names[] = {
      {"aten.add.Tensor", Op::add},
      {"aten.sub.Tensor", Op::sub},
      {"aten.mul.Tensor", Op::mul},
      {"aten.relu.default", Op::relu},
  };
  for (const auto& [name, op] : names) {
    if (name == target) return op;
  }
  return std::nullopt;
}

namespace detail {

/// The parameters of an operator's schema that are tensors.
[[nodiscard]] inline std::vector<std::string_view> operand_names(Op op) {
  if (op == Op::relu) return {"self"};
  return {"self", "other"};
}

[[nodiscard]] inline bool same_shape(const tenon::aot::EdgeValue& a,
                                     const tenon::aot::EdgeValue& b) {
  if (a.rank() != b.rank() || !std::ranges::equal(a.dim_order(), b.dim_order())) return false;
  for (std::size_t d = 0; d < a.rank(); ++d) {
    if (!(a.size(d) == b.size(d))) return false;
  }
  return true;
}

/// Fails unless the value is a float32 tensor on the CPU with the shape of `like`.
[[nodiscard]] inline tenon::Status check_tensor(const tenon::aot::EdgeValue& value,
                                                const tenon::aot::EdgeValue& like) {
  const auto refuse = [&](auto... what) {
    return tenon::error(tenon::Error::NotSupported, "'", value.name(), "' ", what...);
  };
  if (!value.is_tensor()) return refuse("is not a tensor");
  if (value.scalar_type() != tenon::ScalarType::Float) {
    return refuse("has dtype ", tenon::name_of(value.scalar_type()), ", expected Float");
  }
  if (value.device().device_type != TENON_DL_CPU) return refuse("is not on the CPU");
  if (!same_shape(value, like)) return refuse("has another shape than '", like.name(), "'");
  return tenon::ok();
}

}  // namespace detail

/// Fails with NotSupported and the reason unless this backend supports the node.
[[nodiscard]] inline tenon::Status check_node(const tenon::aot::EdgeProgram& program,
                                              const tenon::aot::EdgeNode& node) {
  const tenon::aot::EdgeCall call(program, node);
  const auto op = op_named(node.target());
  if (!op) return call.refuse("the operator is not supported");
  if (node.outputs().size() != 1) return call.refuse("expected one output");
  const tenon::aot::EdgeValue result = call.result();
  TENON_RETURN_IF_ERROR(call.in_context(detail::check_tensor(result, result)));
  for (const std::string_view name : detail::operand_names(*op)) {
    TENON_TRY(const tenon::aot::EdgeValue operand, call.described(name));
    TENON_RETURN_IF_ERROR(call.in_context(detail::check_tensor(operand, result)));
  }
  TENON_TRY(const double alpha, call.number("alpha", 1));
  return alpha == 1 ? tenon::ok() : call.refuse_argument("alpha", "1");
}

/// Compiles a partition. `execute` will get its inputs, then its outputs. Fails with
/// NotSupported and the name of the first node or value that cannot be compiled.
[[nodiscard]] inline tenon::Result<Code> compile(const tenon::aot::EdgeProgram& program) {
  const auto refuse = [&](auto... what) {
    return tenon::error(tenon::Error::NotSupported, "method '", program.method_name(),
                        "': ", what...);
  };
  if (program.num_nodes() == 0 || program.num_nodes() > max_instructions ||
      program.inputs().empty() || program.inputs().size() > max_inputs) {
    return refuse("expected 1 to ", max_instructions, " nodes and 1 to ", max_inputs,
                  " inputs, found ", program.num_nodes(), " and ", program.inputs().size());
  }
  Code code;
  constexpr std::uint16_t no_register = 0xffff;
  std::vector<std::uint16_t> registers(program.num_values(), no_register);  // By value.
  const auto register_of = [&](tenon::aot::ValueId id) {
    return id < registers.size() ? registers[id] : no_register;
  };
  const tenon::aot::EdgeValue like = program.value(program.inputs().front());
  for (const tenon::aot::ValueId id : program.inputs()) {
    TENON_RETURN_IF_ERROR(detail::check_tensor(program.value(id), like));
    registers[id] = code.num_inputs++;
  }
  for (std::size_t i = 0; i < program.num_nodes(); ++i) {
    const tenon::aot::EdgeNode node = program.node(i);
    TENON_RETURN_IF_ERROR(check_node(program, node));
    const tenon::aot::EdgeCall call(program, node);
    Instruction instruction{*op_named(node.target()), 0, 0};
    const auto operands = detail::operand_names(instruction.op);
    for (std::size_t k = 0; k < operands.size(); ++k) {
      TENON_TRY(const tenon::aot::ValueId id, call.tensor(operands[k]));
      const std::uint16_t found = register_of(id);
      if (found == no_register) {
        return call.refuse("it reads '", program.value(id).name(),
                           "', which is neither an input nor a result");
      }
      if (k == 0) instruction.a = found;
      instruction.b = found;
    }
    registers[node.outputs().front()] = static_cast<std::uint16_t>(code.num_inputs + i);
    code.instructions.push_back(instruction);
  }
  for (std::size_t i = 0; i < program.num_outputs(); ++i) {
    const tenon::aot::EdgeOutput output = program.output(i);
    const std::uint16_t found = register_of(output.value);
    if (output.kind != tenon::aot::EdgeOutputKind::UserOutput || found == no_register ||
        found < code.num_inputs) {
      return refuse("output ", i, " is not the result of a node");
    }
    code.outputs.push_back(found);
  }
  TENON_RETURN_IF_ERROR(check_code(code));
  return code;
}

/// Refuses all compile specs: this backend has none yet, so the table of them is empty.
[[nodiscard]] inline tenon::Status check_specs(tenon::CompileSpecs specs) {
  return tenon::aot::read_specs(specs, {}, [](auto, auto) { return true; });
}

/// Implements `MyNpu::preprocess`: makes the blob, the nodes of the runtime's event
/// "my_npu", and a one-line description.
[[nodiscard]] inline tenon::Result<tenon::aot::PreprocessResult> preprocess(
    const tenon::aot::EdgeProgram& program, tenon::CompileSpecs specs) {
  TENON_RETURN_IF_ERROR(check_specs(specs));
  TENON_TRY(const Code code, compile(program));
  std::vector<std::uint32_t> handles;
  for (std::size_t i = 0; i < program.num_nodes(); ++i) {
    handles.push_back(program.node(i).debug_handle());
  }
  tenon::aot::PreprocessResult result;
  result.processed_bytes = write_blob(code);
  result.debug_handle_map.add("my_npu", handles);
  result.delegate_info = tenon::concat(code.instructions.size(), " instructions");
  return result;
}

/// Implements `MyNpu::partition`: takes every node that `check_node` accepts. The nodes of a
/// partition are connected, so all its tensors have one shape. Partitions that are too long for a
/// blob are left to others.
[[nodiscard]] inline tenon::Result<tenon::aot::PartitionResult> partition(
    const tenon::aot::EdgeProgram& program, tenon::CompileSpecs specs) {
  TENON_RETURN_IF_ERROR(check_specs(specs));
  tenon::aot::PartitionOptions options;
  options.skip_horizontal_fusion = true;
  // Weights are arguments of the call, like any other operand.
  options.tag_constant_data = false;
  options.max_nodes = max_instructions;
  return tenon::aot::partition_by_support(
      program, [](const auto& of, const auto& node) { return check_node(of, node).ok(); }, options);
}

}  // namespace my_npu
