// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/core/result.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace aot {

/// The type of an operator's parameter, without "optional" and "list". SymInt is Int: at run time
/// both are integers.
enum class SchemaType {
  Tensor,
  Int,
  Float,
  Bool,
  Scalar,
  String,
  ScalarType,
  Layout,
  MemoryFormat,
  Device,
  Generator,
};

/// One parameter of an operator.
struct SchemaArgument {
  std::string name;
  SchemaType type = SchemaType::Tensor;
  bool is_optional = false;
  bool is_list = false;
  bool has_optional_elements = false;  ///< "Tensor?[]"
  /// Of "int[2]": one number in place of a list means this many of it. 0 of "int[]".
  std::uint32_t length = 0;
  bool is_out = false;  ///< "Tensor(a!)" behind "*": the caller gives what is written.
  std::optional<std::string> default_value;  ///< As text: "1", "[0, 0]", "None".
};

/// An operator with an overload, as PyTorch's registry states it.
struct OperatorSchema {
  std::string name;                       ///< "aten::add"
  std::string overload;                   ///< "out"; may be empty.
  std::vector<SchemaArgument> arguments;  ///< Also the arguments after "*".
};

/// Reads a schema as PyTorch prints it. The types of its results are ignored and may be missing.
///
/// errors: InvalidArgument with the place.
[[nodiscard]] Result<OperatorSchema> parse_operator_schema(std::string_view text);

}}}  // namespace tenon::TENON_RELEASE::aot
