// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "tenon/core/scalar_type.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace conformance {

/// A tensor argument as a program declares it.
struct RecordedTensor {
  ScalarType type = ScalarType::Float;
  std::vector<std::int32_t> bounds;  ///< The sizes, of a static shape.
  std::vector<std::uint8_t> dim_order;
  std::uint32_t shape_dynamism = 0;  ///< TENON_SHAPE_...
  bool is_planned = false;           ///< The method owns its memory.

  friend bool operator==(const RecordedTensor&, const RecordedTensor&) = default;
};

struct RecordedArgument {
  /// Nothing, a tensor, a number, a boolean, a text, a list. The program holds the value of all but
  /// tensors.
  std::variant<std::monostate, RecordedTensor, std::int64_t, double, bool, std::string,
               std::vector<std::int64_t>, std::vector<double>, std::vector<bool>>
      value;
  bool is_output = false;
};

/// A method that consists of one call of one delegate. Its inputs are the tensors among the
/// arguments that are not outputs.
struct RecordedProgram {
  std::string backend_id;
  std::string method = "forward";
  std::vector<std::byte> blob;
  std::vector<std::pair<std::string, std::vector<std::byte>>> compile_specs;
  std::vector<std::pair<std::string, std::vector<std::byte>>> named_data;
  std::vector<RecordedArgument> arguments;
};

/// The bytes of the `.pte` file of `recorded`.
[[nodiscard]] std::vector<std::byte> write_program(const RecordedProgram& recorded);

}}}  // namespace tenon::TENON_RELEASE::conformance
