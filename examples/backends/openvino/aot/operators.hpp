// SPDX-License-Identifier: MIT
#pragma once

#include <span>
#include <string_view>
#include <tenon/aot.hpp>

#include "aot/call.hpp"

namespace openvino_backend {

/// An operation of OpenVINO, with the first operation set that has it in this form.
struct Operation {
  const char* type;
  const char* opset = "opset1";
};

/// Element types that an operator computes with.
enum class Elements {
  Any,      ///< It moves elements.
  Numbers,  ///< Floating point, Int, and Long where elements are positions (positions.hpp).
  Floats,   ///< Float, Half, BFloat16.
};

/// The use that an operator makes of its arguments.
enum class Reads {
  Elements,
  Indices,  ///< Integers among the arguments are indices.
  Sizes,    ///< Elements are not read.
};

/// One operator of PyTorch that the backend compiles.
struct OperatorRow {
  std::string_view target;  ///< "aten.add.Tensor"
  /// Adds layers for the call, or says why it cannot.
  tenon::Status (*lower)(const Call& call);
  Elements elements = Elements::Any;
  Reads reads = Reads::Elements;
  /// PyTorch would decompose it on the way to Core ATen; OpenVINO has an operation for the whole.
  bool keep = false;
};

/// All of them, group by group.
[[nodiscard]] std::span<const OperatorRow> elementwise_operators() noexcept;
[[nodiscard]] std::span<const OperatorRow> comparison_operators() noexcept;
[[nodiscard]] std::span<const OperatorRow> linear_operators() noexcept;
[[nodiscard]] std::span<const OperatorRow> make_operators() noexcept;
[[nodiscard]] std::span<const OperatorRow> move_operators() noexcept;
[[nodiscard]] std::span<const OperatorRow> recurrent_operators() noexcept;
[[nodiscard]] std::span<const OperatorRow> reduction_operators() noexcept;
[[nodiscard]] std::span<const OperatorRow> shape_operators() noexcept;
[[nodiscard]] std::span<const OperatorRow> vision_operators() noexcept;

/// The row of `target`, or null.
[[nodiscard]] const OperatorRow* find_operator(std::string_view target) noexcept;

/// Adds layers for a node of the program.
///
/// errors: NotSupported with the reason, the node and its operator
[[nodiscard]] tenon::Status lower(IrBuilder& builder, const tenon::aot::EdgeNode& node);

}  // namespace openvino_backend
