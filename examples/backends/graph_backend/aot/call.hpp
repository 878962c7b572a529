// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <tenon/aot.hpp>
#include <utility>
#include <vector>

#include "aot/graph_builder.hpp"

namespace graph_backend {

/// One node of the program while it is compiled: its arguments as tensors of the draft, and the
/// place of its results.
class Call : public tenon::aot::EdgeCall {
 public:
  Call(GraphBuilder& builder, const tenon::aot::EdgeNode& node)
      : EdgeCall(builder.program(), node), builder_(builder) {}

  [[nodiscard]] GraphBuilder& builder() const noexcept { return builder_; }

  [[nodiscard]] tenon::Result<TensorId> tensor(std::string_view name) const;
  /// Nothing when the argument is None or left out.
  [[nodiscard]] tenon::Result<std::optional<TensorId>> optional_tensor(std::string_view name) const;
  enum class Number {
    Rounded,  ///< To float16 or bfloat16 where the other operand is such a tensor.
    Exact,
  };
  /// A tensor, or a number in its place.
  [[nodiscard]] tenon::Result<TensorId> tensor_or_scalar(std::string_view name,
                                                         Number how = Number::Rounded) const;
  [[nodiscard]] tenon::Result<std::vector<TensorId>> tensors(std::string_view name) const;
  /// One or two integers below 2^31, for height and width.
  [[nodiscard]] tenon::Result<blob::Pair> pair(std::string_view name, std::int64_t initial) const;
  [[nodiscard]] std::size_t rank(TensorId tensor) const {
    return builder_.operand(tensor).shape.rank();
  }

  /// Adds a node to the draft; `finish` says that a tensor is a result of the node of the program.
  /// Where it is the first alone, `lower` checks that others are not used.
  [[nodiscard]] tenon::Result<TensorId> add(OperatorUnion op, std::vector<TensorId> inputs) const {
    return builder_.add(std::move(op), std::move(inputs));
  }
  [[nodiscard]] tenon::Status finish(TensorId tensor, std::size_t result = 0) const {
    return builder_.bind(node().outputs()[result], tensor);
  }
  /// Both at once.
  [[nodiscard]] tenon::Status make(OperatorUnion op, std::vector<TensorId> inputs) const {
    TENON_TRY(const TensorId made, add(std::move(op), std::move(inputs)));
    return finish(made);
  }

 private:
  GraphBuilder& builder_;
};

}  // namespace graph_backend
