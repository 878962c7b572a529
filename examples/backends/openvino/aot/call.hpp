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

/// One node of the program while it is compiled: its arguments as outputs of layers, and the place
/// of its results.
class Call : public tenon::aot::EdgeCall {
 public:
  Call(IrBuilder& builder, const tenon::aot::EdgeNode& node)
      : EdgeCall(builder.program(), node), builder_(builder) {}

  [[nodiscard]] IrBuilder& builder() const noexcept { return builder_; }
  /// Element type of the first result.
  [[nodiscard]] tenon::ScalarType dtype() const noexcept { return result().scalar_type(); }

  [[nodiscard]] tenon::Result<Output> tensor(std::string_view name) const;
  /// Nothing when the argument is None or left out.
  [[nodiscard]] tenon::Result<std::optional<Output>> optional_tensor(std::string_view name) const;
  /// A tensor, a number or a symbolic integer, converted to `dtype`.
  [[nodiscard]] tenon::Result<Output> operand(std::string_view name, tenon::ScalarType dtype) const;
  /// An integer or a symbolic integer: i64, one dimension with one element.
  [[nodiscard]] tenon::Result<Output> size(std::string_view name, std::int64_t initial) const;
  /// Integers and symbolic integers: i64, one dimension.
  [[nodiscard]] tenon::Result<Output> sizes(std::string_view name) const;

  /// Says that an output of a layer is the node's result.
  [[nodiscard]] tenon::Status finish(Output output, std::size_t index = 0) const {
    return builder_.bind(node().outputs()[index], output);
  }
  /// Adds a layer of the result's element type, and that is the result.
  [[nodiscard]] tenon::Status make(NewLayer layer) const {
    layer.dtype = dtype();
    return finish(builder_.add(std::move(layer)));
  }

 private:
  IrBuilder& builder_;
};

/// "1,2,3", as attributes list integers.
[[nodiscard]] std::string list_text(const std::vector<std::int64_t>& integers);

/// A number as an attribute, so that OpenVINO reads the same float.
[[nodiscard]] std::string number_text(double number);

}  // namespace openvino_backend
