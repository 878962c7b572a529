// SPDX-License-Identifier: MIT
#include "aot/operators.hpp"

namespace graph_backend {

using tenon::Error;
using tenon::Status;
using tenon::aot::EdgeNode;
using tenon::aot::EdgeProgram;
using tenon::aot::EdgeValueKind;

const OperatorRow* find_operator(std::string_view target) noexcept {
  for (const auto& rows : all_operators()) {
    for (const OperatorRow& row : rows) {
      if (row.target == target) return &row;
    }
  }
  return nullptr;
}

bool only_computes_sizes(const EdgeProgram& program, const EdgeNode& node) noexcept {
  constexpr std::string_view targets[] = {"aten.sym_size.int", "_operator.add", "_operator.sub",
                                          "_operator.mul", "_operator.floordiv"};
  bool known = false;
  for (const std::string_view target : targets) known = known || node.target() == target;
  for (const auto id : node.outputs()) {
    known = known && program.value(id).kind() == EdgeValueKind::SymInt;
  }
  return known;
}

namespace {

/// Only the first of several results is computed ("aten.native_layer_norm" has mean and deviation
/// with it, for training), unless the row says otherwise.
Status check_unused(const EdgeProgram& program, const EdgeNode& node) {
  const tenon::aot::EdgeUses uses(program);
  for (std::size_t i = 1; i < node.outputs().size(); ++i) {
    const auto id = node.outputs()[i];
    if (uses.is_output(id) || !uses.users(id).empty()) {
      return error(Error::NotSupported, "its result '", program.value(id).name(),
                   "' is used; the backend computes only the first");
    }
  }
  return tenon::ok();
}

Status lower_known(GraphBuilder& builder, const Call& call) {
  const EdgeNode& node = call.node();
  if (only_computes_sizes(builder.program(), node)) return tenon::ok();
  const OperatorRow* row = find_operator(node.target());
  if (!row) return error(Error::NotSupported, "the backend does not have this operator");
  if (node.outputs().empty()) return error(Error::InvalidProgram, "it makes nothing");
  if (node.outputs().size() > 1 && !row->makes_all) {
    TENON_RETURN_IF_ERROR(check_unused(builder.program(), node));
  }
  builder.announce(node);
  return row->lower(call);
}

}  // namespace

Status lower(GraphBuilder& builder, const EdgeNode& node) {
  const Call call(builder, node);
  return call.in_context(lower_known(builder, call));
}

}  // namespace graph_backend
