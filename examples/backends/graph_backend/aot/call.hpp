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

/// One node of the program while it is compiled: its arguments by the names of the operator's
/// schema, and the place of its results. An argument that was left out has the schema's default,
/// which the caller gives.
class Call {
 public:
  Call(GraphBuilder& builder, const tenon::aot::EdgeNode& node) : builder_(builder), node_(node) {}

  [[nodiscard]] GraphBuilder& builder() const noexcept { return builder_; }
  [[nodiscard]] const tenon::aot::EdgeNode& node() const noexcept { return node_; }

  [[nodiscard]] tenon::Result<TensorId> tensor(std::string_view name) const;
  /// Nothing when the argument is None or left out.
  [[nodiscard]] tenon::Result<std::optional<TensorId>> optional_tensor(std::string_view name) const;
  /// A tensor, or a number in its place.
  [[nodiscard]] tenon::Result<TensorId> tensor_or_scalar(std::string_view name) const;
  [[nodiscard]] tenon::Result<std::vector<TensorId>> tensors(std::string_view name) const;
  [[nodiscard]] tenon::Result<double> number(std::string_view name, double initial) const;
  [[nodiscard]] tenon::Result<std::int64_t> integer(std::string_view name,
                                                    std::optional<std::int64_t> initial) const;
  [[nodiscard]] tenon::Result<bool> boolean(std::string_view name, bool initial) const;
  [[nodiscard]] tenon::Result<std::vector<std::int64_t>> integers(
      std::string_view name, std::vector<std::int64_t> initial = {}) const;
  /// One or two integers below 2^31, for height and width.
  [[nodiscard]] tenon::Result<blob::Pair> pair(std::string_view name, std::int64_t initial) const;
  /// A dimension of `tensor`; negative ones count from the end.
  [[nodiscard]] tenon::Result<std::uint8_t> dim(std::int64_t number, TensorId tensor) const;
  /// NotSupported unless the argument is None or left out.
  [[nodiscard]] tenon::Status expect_none(std::string_view name) const;

  /// Adds a node to the draft; `finish` says that a tensor is the first result of the node of the
  /// program. Others must not be used, which `lower` checks.
  [[nodiscard]] tenon::Result<TensorId> add(OperatorUnion op, std::vector<TensorId> inputs) const {
    return builder_.add(std::move(op), std::move(inputs));
  }
  [[nodiscard]] tenon::Status finish(TensorId tensor) const {
    return builder_.bind(node_.outputs()[0], tensor);
  }
  /// Both at once.
  [[nodiscard]] tenon::Status make(OperatorUnion op, std::vector<TensorId> inputs) const {
    TENON_TRY(const TensorId made, add(std::move(op), std::move(inputs)));
    return finish(made);
  }

 private:
  [[nodiscard]] tenon::Status misfit(std::string_view name, std::string_view expected) const;

  GraphBuilder& builder_;
  tenon::aot::EdgeNode node_;
};

}  // namespace graph_backend
