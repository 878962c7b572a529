// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tenon/aot/program_data.hpp"
#include "tenon/core/lists.hpp"
#include "tenon/core/result.hpp"
#include "tenon/core/scalar_type.hpp"
#include "tenon/onnxruntime/api/types.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace ort {

/// The dtype of ONNX Runtime's elements; nothing for one that no program can hold.
[[nodiscard]] constexpr std::optional<ScalarType> scalar_type(ElementType type) noexcept {
  switch (type) {
    case ElementType::Float:
      return ScalarType::Float;
    case ElementType::UInt8:
      return ScalarType::Byte;
    case ElementType::Int8:
      return ScalarType::Char;
    case ElementType::UInt16:
      return ScalarType::UInt16;
    case ElementType::Int16:
      return ScalarType::Short;
    case ElementType::Int32:
      return ScalarType::Int;
    case ElementType::Int64:
      return ScalarType::Long;
    case ElementType::Bool:
      return ScalarType::Bool;
    case ElementType::Float16:
      return ScalarType::Half;
    case ElementType::Double:
      return ScalarType::Double;
    case ElementType::UInt32:
      return ScalarType::UInt32;
    case ElementType::UInt64:
      return ScalarType::UInt64;
    case ElementType::BFloat16:
      return ScalarType::BFloat16;
    default:
      return std::nullopt;
  }
}

/// The dtype of ONNX Runtime's elements for a program's; nothing for one that it has not.
[[nodiscard]] constexpr std::optional<ElementType> element_type(ScalarType type) noexcept {
  constexpr int last = static_cast<int>(ElementType::Float8E5M2FNUZ);
  for (int i = 1; i <= last; ++i) {
    const auto element = static_cast<ElementType>(i);
    if (scalar_type(element) == type) return element;
  }
  return std::nullopt;
}

/// An input or output of a node, as the model declares it.
struct NodeTensor {
  std::string name;
  std::optional<ScalarType> type;   ///< Nothing: not a tensor, or of another dtype.
  std::vector<std::int64_t> sizes;  ///< Below 0: not known before a run.
};

/// The tensor of a program for `node`, whose sizes are all known.
///
/// errors: InvalidArgument for a size that is not known; InvalidType for no tensor, or a dtype that
///         no program can hold.
[[nodiscard]] inline Result<aot::TensorValue> program_tensor(const NodeTensor& node,
                                                             std::string_view attribute) {
  if (!node.type) {
    return error(Error::InvalidType, "'", node.name,
                 "': expected a tensor of a dtype that programs hold");
  }
  aot::TensorValue out;
  out.layout.scalar_type = *node.type;
  for (const std::int64_t size : node.sizes) {
    if (size < 0 || size > std::numeric_limits<std::int32_t>::max()) {
      return error(Error::InvalidArgument, "'", node.name, "': size ", out.layout.sizes.size(),
                   " is not known; attribute ", attribute,
                   " states the largest, such as Float:1,512:dynamic");
    }
    out.layout.sizes.push_back(static_cast<std::int32_t>(size));
  }
  return out;
}

/// Checks that the model declares `node` as the call has it.
///
/// errors: InvalidType, InvalidArgument: both sides.
[[nodiscard]] inline Status check_agrees(const NodeTensor& node, ScalarType type,
                                         std::span<const std::int64_t> bounds, bool is_dynamic) {
  if (node.type != type) {
    return error(Error::InvalidType, "'", node.name, "': the context has ", name_of(type),
                 ", the model ",
                 node.type ? name_of(*node.type) : std::string_view("another type"));
  }
  bool agrees = node.sizes.size() == bounds.size();
  for (std::size_t i = 0; agrees && i < bounds.size(); ++i) {
    const std::int64_t size = node.sizes[i];
    agrees = size < 0 || size == bounds[i] || (is_dynamic && size < bounds[i]);
  }
  if (agrees) return ok();
  const auto text = [](std::int64_t size) { return size < 0 ? "?" : std::to_string(size); };
  return error(Error::InvalidArgument, "'", node.name, "': the context has sizes ",
               is_dynamic ? "up to [" : "[", join(bounds, ", ", text), "], the model [",
               join(node.sizes, ", ", text), "]");
}

}}}  // namespace tenon::TENON_RELEASE::ort
