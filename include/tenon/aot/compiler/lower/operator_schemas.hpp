// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>

#include "tenon/aot/compiler/lower/operator_schema.hpp"
#include "tenon/core/result.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace aot {

/// Which kernel runs an operator that is left to kernels: a table from operators as exported
/// programs name them to the schemas of kernels. Kernels write to tensors that they are given
/// ("out variants"); operators on symbolic numbers return a number.
///
/// Not thread-safe while `add` runs.
class OperatorSchemas {
 public:
  /// Kernels of ExecuTorch's portable and quantized libraries (kernels/portable/functions.yaml,
  /// kernels/quantized/quantized.yaml), and those for numbers that are part of the runtime itself
  /// (kernels/prim_ops/register_prim_ops.cpp). Which libraries a runtime has is not known here.
  [[nodiscard]] static OperatorSchemas portable();

  /// Lets `kernel`, a schema such as "acme::scale.out(Tensor self, *, Tensor(a!) out)", run
  /// operator `target` ("acme.scale.default"). The schema that was added last counts.
  ///
  /// errors: InvalidArgument when the schema cannot be read.
  Status add(std::string_view target, std::string_view kernel);

  /// The kernel for operator `target`.
  ///
  /// errors: NotSupported when there is none.
  [[nodiscard]] Result<OperatorSchema> find(std::string_view target) const;

  [[nodiscard]] bool contains(std::string_view target) const;
  [[nodiscard]] std::size_t size() const noexcept { return kernels_.size(); }

 private:
  void add_lines(std::string_view lines);

  std::map<std::string, std::string, std::less<>> kernels_;
};

}}}  // namespace tenon::TENON_RELEASE::aot
