// SPDX-License-Identifier: MIT
#include "aot/call.hpp"

namespace graph_backend {

using tenon::BFloat16;
using tenon::Half;
using tenon::Result;
using tenon::ScalarType;

Result<TensorId> Call::tensor(std::string_view name) const {
  TENON_TRY(const auto value, EdgeCall::tensor(name));
  return builder_.tensor(value);
}

Result<std::optional<TensorId>> Call::optional_tensor(std::string_view name) const {
  TENON_TRY(const auto value, EdgeCall::optional_tensor(name));
  if (!value) return std::optional<TensorId>();
  TENON_TRY(const TensorId id, builder_.tensor(*value));
  return std::optional(id);
}

Result<TensorId> Call::tensor_or_scalar(std::string_view name, Number how) const {
  const auto argument = node().find(name);
  if (!argument || !argument->number()) return tensor(name);
  auto number = static_cast<float>(*argument->number());
  const auto other = EdgeCall::tensor(name == "self" ? "other" : "self");
  if (other.ok() && how == Number::Rounded) {
    const ScalarType type = program().value(*other).scalar_type();
    if (type == ScalarType::Half) number = Half::from_float(number).to_float();
    if (type == ScalarType::BFloat16) number = BFloat16::from_float(number).to_float();
  }
  return builder_.scalar(number);
}

Result<std::vector<TensorId>> Call::tensors(std::string_view name) const {
  TENON_TRY(const auto values, EdgeCall::tensors(name));
  std::vector<TensorId> out;
  for (const auto value : values) {
    TENON_TRY(const TensorId id, builder_.tensor(value));
    out.push_back(id);
  }
  return out;
}

Result<blob::Pair> Call::pair(std::string_view name, std::int64_t initial) const {
  TENON_TRY(const auto values, window(name, 2, initial));
  for (const std::int64_t value : values) {
    if (value > Shape::max_size) {
      return refuse_argument(name, tenon::concat("0 to ", Shape::max_size));
    }
  }
  return blob::Pair(static_cast<std::int32_t>(values[0]), static_cast<std::int32_t>(values[1]));
}

}  // namespace graph_backend
