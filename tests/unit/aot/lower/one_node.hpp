// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "graphs.hpp"
#include "support/catch.hpp"
#include "tenon/aot/compiler/emit/emit.hpp"

/// The emitted program of a node that is left to kernels.
namespace graphs {

/// One method, all of whose nodes are left to kernels.
inline Result<ProgramData> emit_all(const EdgeProgram& program, const EmitOptions& options = {}) {
  auto lowered = lower(program, {});
  REQUIRE(lowered.ok());
  std::vector<CompiledMethod> methods;
  methods.push_back({*std::move(lowered), {}});
  return emit(methods, options);
}

inline ProgramData emitted(const EdgeProgram& program) {
  auto result = emit_all(program);
  INFO(result.text());
  REQUIRE(result.ok());
  return *std::move(result);
}

inline const EdgeTensor matrix{ScalarType::Float, {2, 2}};

/// A program of one node with outputs of two by two floats, and what became of its arguments.
class OneNode {
 public:
  EdgeProgramBuilder builder;
  ValueId x = builder.user_input("x", matrix);

  Result<ProgramData> try_emit(std::string_view target,
                               const std::vector<EdgeProgramBuilder::Argument>& arguments,
                               std::size_t outputs = 1, const EdgeTensor& output = matrix) {
    std::vector<ValueId> ids;
    for (std::size_t i = 0; i < outputs; ++i) {
      ids.push_back(builder.node_output(concat("out_", i), output));
    }
    builder.add_node("node", target, arguments, ids);
    for (const ValueId id : ids) builder.user_output(id);
    auto built = std::move(builder).build();
    INFO(built.text());
    REQUIRE(built.ok());
    owned.emplace(*std::move(built));
    return emit_all(owned->view());
  }

  void emit(std::string_view target, const std::vector<EdgeProgramBuilder::Argument>& arguments,
            std::size_t outputs = 1, const EdgeTensor& output = matrix) {
    auto result = try_emit(target, arguments, outputs, output);
    INFO(result.text());
    REQUIRE(result.ok());
    program = *std::move(result);
    REQUIRE(program.methods[0].instructions.size() == 1);
  }

  [[nodiscard]] const MethodData& method() const { return program.methods[0]; }
  [[nodiscard]] std::string op() const {
    const Operator& op = method().operators[call().op_index];
    return concat(op.name, ".", op.overload);
  }
  [[nodiscard]] const KernelCall& call() const {
    return std::get<KernelCall>(method().instructions[0]);
  }
  [[nodiscard]] const Value& argument(std::size_t index) const {
    return method().values.at(static_cast<std::size_t>(call().args.at(index)));
  }
  [[nodiscard]] std::vector<std::int64_t> ints(std::size_t index) const {
    std::vector<std::int64_t> out;
    for (const ValueIndex item : std::get<IntList>(argument(index)).items) {
      out.push_back(std::get<std::int64_t>(method().values.at(static_cast<std::size_t>(item))));
    }
    return out;
  }

  std::optional<OwnedEdgeProgram> owned;
  ProgramData program;
};

}  // namespace graphs
