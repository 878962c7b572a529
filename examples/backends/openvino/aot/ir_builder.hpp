// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <tenon/aot.hpp>
#include <utility>
#include <vector>

#include "aot/ir.hpp"

namespace openvino_backend {

// For the sources of this directory.
using tenon::Error;
using tenon::Result;
using tenon::ScalarType;
using tenon::Status;
using tenon::aot::EdgeNode;
using tenon::aot::EdgeProgram;
using tenon::aot::EdgeSize;
using tenon::aot::EdgeUses;
using tenon::aot::EdgeValue;
using tenon::aot::EdgeValueKind;
using tenon::aot::PartitionResult;
using tenon::aot::ValueId;

/// Whether the dimensions of a tensor are in their own order in memory.
[[nodiscard]] bool is_in_order(const tenon::aot::EdgeValue& value) noexcept;

/// A layer to be added. `opset` is the first operation set with this form of the operation.
struct NewLayer {
  std::string_view type;
  std::string_view opset = "opset1";
  std::vector<Output> inputs = {};
  Attributes attributes = {};
  tenon::ScalarType dtype = tenon::ScalarType::Float;  ///< Of all its outputs.
  std::size_t num_outputs = 1;
};

/// Fills an IR node by node.
class IrBuilder {
 public:
  enum class Purpose {
    Compile,  ///< All nodes in their order; constants have their data.
    Judge,    ///< One node alone: what it reads is taken as given.
  };

  IrBuilder(const tenon::aot::EdgeProgram& program, Purpose purpose)
      : program_(program), purpose_(purpose) {
    ir_.name = program.method_name();
  }

  [[nodiscard]] const tenon::aot::EdgeProgram& program() const noexcept { return program_; }

  /// One `Parameter` for each input of the program, in order, used or not.
  [[nodiscard]] tenon::Status add_inputs();
  /// One `Result` for each output of the program.
  [[nodiscard]] tenon::Status add_outputs();

  /// The output that a tensor of the program became.
  ///
  /// errors: NotSupported for a dtype, rank or device that the backend does not support;
  ///         InvalidProgram for a value that is read before it is made
  [[nodiscard]] tenon::Result<Output> tensor(tenon::aot::ValueId value);
  /// The output that a symbolic integer became: i64, one dimension with one element.
  [[nodiscard]] tenon::Result<Output> symbol(tenon::aot::ValueId value);
  /// Bytes of a parameter, buffer or constant; none while a node is judged.
  ///
  /// errors: NotSupported for other values
  [[nodiscard]] tenon::Result<tenon::Bytes> data(tenon::aot::ValueId value) const;

  /// A constant with these bytes, which are copied. A constant of the same type and bytes is used
  /// again.
  [[nodiscard]] Output constant(std::string_view name, tenon::ScalarType dtype,
                                std::span<const std::int64_t> sizes, tenon::Bytes bytes);
  /// i64, one dimension.
  [[nodiscard]] Output integers(std::span<const std::int64_t> elements);
  [[nodiscard]] Output integers(std::initializer_list<std::int64_t> elements) {
    return integers(std::span(elements.begin(), elements.size()));
  }
  /// i64, no dimensions.
  [[nodiscard]] Output integer(std::int64_t element);
  /// `value` as PyTorch converts a number to `dtype`; no dimensions.
  [[nodiscard]] Output scalar(double value, tenon::ScalarType dtype);

  /// Adds a layer; the first of its outputs.
  [[nodiscard]] Output add(NewLayer layer);
  [[nodiscard]] Output convert(Output from, tenon::ScalarType dtype);
  [[nodiscard]] tenon::ScalarType dtype(Output output) const {
    return ir_.layers[output.layer].outputs[output.port].dtype;
  }

  /// Layers that are added from here on belong to `node`: names and debug handles follow.
  void announce(const tenon::aot::EdgeNode& node);
  /// Says that `value` is this output.
  [[nodiscard]] tenon::Status bind(tenon::aot::ValueId value, Output output);
  void bind_symbol(tenon::aot::ValueId value, Output output) { values_[value] = output; }

  [[nodiscard]] const Ir& ir() const noexcept { return ir_; }
  [[nodiscard]] Ir take_ir() { return std::move(ir_); }
  /// Debug handles by name of a layer.
  [[nodiscard]] tenon::aot::DebugHandleMap handles() const;

 private:
  [[nodiscard]] tenon::Result<IrType> describe(tenon::aot::ValueId value) const;
  /// NotSupported for memory in another order. Only values that cross a delegate's boundary have
  /// memory of their own.
  [[nodiscard]] tenon::Status check_order(tenon::aot::ValueId value) const;
  [[nodiscard]] Output add_layer(Layer layer);
  [[nodiscard]] Output add_parameter(std::string_view name, IrType type);
  [[nodiscard]] std::string unique_name(std::string name);

  tenon::aot::EdgeProgram program_;
  Purpose purpose_;
  Ir ir_;
  std::vector<std::uint32_t> handles_;  ///< By layer; 0 for none.
  std::map<tenon::aot::ValueId, Output> values_;
  std::map<std::string, Output, std::less<>> constants_;     ///< By type and content.
  std::map<std::string, std::size_t, std::less<>> offsets_;  ///< By content.
  std::set<std::string, std::less<>> names_;
  std::string node_name_;
  std::uint32_t debug_handle_ = 0;
  std::size_t first_layer_ = 0;  ///< Of the node that was announced.
};

}  // namespace openvino_backend
