// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tenon/core/result.hpp>
#include <tenon/core/scalar_type.hpp>
#include <utility>
#include <vector>

namespace openvino_backend {

/// One size of a tensor in OpenVINO's intermediate representation (IR).
struct IrSize {
  static constexpr std::int64_t unbounded = -1;

  std::int64_t min = 0;
  std::int64_t max = unbounded;

  [[nodiscard]] bool is_static() const noexcept { return min == max; }
};

/// An output of a layer.
struct Output {
  std::uint32_t layer = 0;
  std::uint32_t port = 0;  ///< Number among the layer's outputs.
};

/// The type of a layer's output. OpenVINO infers shapes when it reads the model; where they are
/// unknown here they are left out.
struct IrType {
  tenon::ScalarType dtype = tenon::ScalarType::Float;
  std::optional<std::vector<IrSize>> sizes = std::nullopt;
};

using Attributes = std::vector<std::pair<std::string, std::string>>;

/// A layer of the IR: an operation of one of OpenVINO's operation sets.
struct Layer {
  std::string name;
  std::string type;
  std::string opset;
  Attributes attributes = {};
  std::vector<Output> inputs = {};
  std::vector<IrType> outputs = {};
};

/// A model: layers in an order in which each follows what it reads. `Parameter` layers are in the
/// order of the model's inputs, `Result` layers in the order of its outputs.
struct Ir {
  std::string name;
  std::vector<Layer> layers;
  std::vector<std::byte> weights;  ///< What `Const` layers refer to by offset and size.
};

/// Offsets of constants are multiples of this.
inline constexpr std::size_t weights_alignment = 64;

/// OpenVINO's name of an element type, "f32"; empty for a type without one.
[[nodiscard]] std::string_view element_type(tenon::ScalarType dtype) noexcept;

/// "64,3,1..8,?" as `Parameter` and `Const` layers state their shapes.
[[nodiscard]] std::string shape_text(const std::vector<IrSize>& sizes);

/// The XML of IR version 11 (OpenVINO: src/frontends/ir, and its documentation of the format).
/// Names may have any characters; those that XML 1.0 cannot represent become '?'.
[[nodiscard]] std::string write_xml(const Ir& ir);

}  // namespace openvino_backend
