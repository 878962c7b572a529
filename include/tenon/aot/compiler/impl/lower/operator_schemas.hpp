// SPDX-License-Identifier: MIT
#pragma once

#include "tenon/aot/compiler/lower/operator_schemas.hpp"

#include <utility>

#include "tenon/aot/compiler/impl/lower/portable_operators.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace aot {

namespace detail {

/// Python's operators on numbers, by the names under which PyTorch writes them to archives.
inline constexpr std::string_view runtime_operators =
    R"(_operator.add executorch_prim::add.Scalar(Scalar a, Scalar b)
_operator.sub executorch_prim::sub.Scalar(Scalar a, Scalar b)
_operator.mul executorch_prim::mul.Scalar(Scalar a, Scalar b)
_operator.floordiv executorch_prim::floordiv.Scalar(Scalar a, Scalar b)
_operator.truediv executorch_prim::truediv.Scalar(Scalar a, Scalar b)
_operator.mod executorch_prim::mod.Scalar(Scalar a, Scalar b)
_operator.eq executorch_prim::eq.Scalar(Scalar a, Scalar b)
_operator.gt executorch_prim::gt.Scalar(Scalar a, Scalar b)
_operator.lt executorch_prim::lt.Scalar(Scalar a, Scalar b)
_operator.ge executorch_prim::ge.Scalar(Scalar a, Scalar b)
_operator.le executorch_prim::le.Scalar(Scalar a, Scalar b)
_operator.neg executorch_prim::neg.Scalar(Scalar a)
math.ceil executorch_prim::ceil.Scalar(Scalar a)
math.trunc executorch_prim::trunc.Scalar(Scalar a)
builtins.round executorch_prim::round.Scalar(Scalar a)
torch.sym_float executorch_prim::sym_float.Scalar(Scalar a)
torch.sym_int executorch_prim::sym_int.Scalar(Scalar a)
torch.sym_max executorch_prim::sym_max.Scalar(Scalar a, Scalar b)
torch.sym_min executorch_prim::sym_min.Scalar(Scalar a, Scalar b)
torch.sym_not executorch_prim::sym_not.Scalar(Scalar a)
torch.sym_ite executorch_prim::sym_ite.Scalar(Scalar b, Scalar t, Scalar f)
aten.sym_size.int aten::sym_size.int(Tensor self, int dim)
aten.sym_numel.default aten::sym_numel(Tensor self)
aten.item.default aten::_local_scalar_dense(Tensor self)
aten._local_scalar_dense.default aten::_local_scalar_dense(Tensor self)
)";

}  // namespace detail

OperatorSchemas OperatorSchemas::portable() {
  OperatorSchemas out;
  for (std::string_view part : detail::portable_operators) out.add_lines(part);
  out.add_lines(detail::runtime_operators);
  return out;
}

Status OperatorSchemas::add(std::string_view target, std::string_view kernel) {
  TENON_RETURN_IF_ERROR(parse_operator_schema(kernel));
  kernels_.insert_or_assign(std::string(target), std::string(kernel));
  return ok();
}

Result<OperatorSchema> OperatorSchemas::find(std::string_view target) const {
  const auto found = kernels_.find(target);
  if (found == kernels_.end()) {
    return error(
        Error::NotSupported, "operator ", target,
        " has no kernel in ExecuTorch's portable and quantized libraries; decompose it before "
        "export (ExportedProgram.run_decompositions), delegate it, or state its kernel's "
        "schema");
  }
  return parse_operator_schema(found->second);
}

bool OperatorSchemas::contains(std::string_view target) const {
  return kernels_.find(target) != kernels_.end();
}

void OperatorSchemas::add_lines(std::string_view lines) {
  while (!lines.empty()) {
    const std::string_view line = lines.substr(0, lines.find('\n'));
    lines.remove_prefix(line.size() < lines.size() ? line.size() + 1 : line.size());
    const std::size_t space = line.find(' ');
    kernels_.insert_or_assign(std::string(line.substr(0, space)),
                              std::string(line.substr(space + 1)));
  }
}

}}}  // namespace tenon::TENON_RELEASE::aot
