// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tenon/aot.hpp>
#include <utility>
#include <vector>

#include "aot/ir_builder.hpp"

namespace openvino_backend {

/// One node of the program while it is compiled: its arguments by the names of the operator's
/// schema, and the place of its results. An argument that was left out has the schema's default,
/// which the caller gives. All readers fail with NotSupported when an argument is of another kind.
class Call {
 public:
  Call(IrBuilder& builder, const tenon::aot::EdgeNode& node) : builder_(builder), node_(node) {}

  [[nodiscard]] IrBuilder& builder() const noexcept { return builder_; }
  [[nodiscard]] const tenon::aot::EdgeNode& node() const noexcept { return node_; }
  /// A result as the program describes it.
  [[nodiscard]] tenon::aot::EdgeValue result(std::size_t index = 0) const noexcept {
    return builder_.program().value(node_.outputs()[index]);
  }
  /// Element type of the first result.
  [[nodiscard]] tenon::ScalarType dtype() const noexcept { return result().scalar_type(); }

  [[nodiscard]] bool has(std::string_view name) const noexcept;
  [[nodiscard]] tenon::Result<Output> tensor(std::string_view name) const;
  /// A tensor argument as the program describes it.
  [[nodiscard]] tenon::Result<tenon::aot::EdgeValue> described(std::string_view name) const;
  /// Nothing when the argument is None or left out.
  [[nodiscard]] tenon::Result<std::optional<Output>> optional_tensor(std::string_view name) const;
  /// A tensor, a number or a symbolic integer, converted to `dtype`.
  [[nodiscard]] tenon::Result<Output> operand(std::string_view name, tenon::ScalarType dtype) const;
  [[nodiscard]] tenon::Result<std::vector<tenon::aot::ValueId>> values(std::string_view name) const;
  [[nodiscard]] tenon::Result<double> number(std::string_view name, double initial) const;
  /// Without `initial` the argument is required.
  [[nodiscard]] tenon::Result<std::int64_t> integer(
      std::string_view name, std::optional<std::int64_t> initial = std::nullopt) const;
  [[nodiscard]] tenon::Result<bool> boolean(std::string_view name, bool initial) const;
  [[nodiscard]] tenon::Result<std::vector<std::int64_t>> integers(
      std::string_view name, std::vector<std::int64_t> initial = {}) const;
  /// As many integers as a window has dimensions; one is for all of them.
  [[nodiscard]] tenon::Result<std::vector<std::int64_t>> window(std::string_view name,
                                                                std::size_t count,
                                                                std::int64_t initial) const;
  /// An integer or a symbolic integer: i64, one dimension with one element.
  [[nodiscard]] tenon::Result<Output> size(std::string_view name, std::int64_t initial) const;
  /// Integers and symbolic integers: i64, one dimension.
  [[nodiscard]] tenon::Result<Output> sizes(std::string_view name) const;
  /// A dimension; negative ones count from the end.
  [[nodiscard]] tenon::Result<std::int64_t> dim(std::int64_t number, std::size_t rank) const;
  /// Argument `name` as dimensions, all of them when it is None, empty or left out.
  [[nodiscard]] tenon::Result<std::vector<std::int64_t>> dims(std::string_view name,
                                                              std::size_t rank) const;

  /// Says that an output of a layer is the node's result.
  [[nodiscard]] tenon::Status finish(Output output, std::size_t index = 0) const {
    return builder_.bind(node_.outputs()[index], output);
  }
  /// Adds a layer of the result's element type, and that is the result.
  [[nodiscard]] tenon::Status make(NewLayer layer) const {
    layer.dtype = dtype();
    return finish(builder_.add(std::move(layer)));
  }
  [[nodiscard]] tenon::Status misfit(std::string_view name, std::string_view expected) const;

 private:
  IrBuilder& builder_;
  tenon::aot::EdgeNode node_;
};

/// "1,2,3", as attributes list integers.
[[nodiscard]] std::string list_text(const std::vector<std::int64_t>& integers);

/// A number as an attribute, so that OpenVINO reads the same float.
[[nodiscard]] std::string number_text(double number);

}  // namespace openvino_backend
