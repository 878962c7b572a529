// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <tenon/tenon.hpp>
#include <utility>
#include <vector>

#include "common/graph.hpp"
#include "common/shape.hpp"

namespace graph_backend {

/// The sizes of all tensors of a graph in one run, and where their elements are on the CPU, for a
/// runtime that computes there. All memory is taken at once, so that a run allocates nothing unless
/// it fails. Threads: one at a time.
class RunShapes {
 public:
  /// `graph` comes from `read_graph`. Every tensor has its largest sizes and no data.
  explicit RunShapes(std::shared_ptr<const Graph> graph);

  [[nodiscard]] const Graph& graph() const noexcept { return *graph_; }
  [[nodiscard]] Operand& operator[](TensorId id) noexcept { return operands_[id]; }
  [[nodiscard]] const Operand& operator[](TensorId id) const noexcept { return operands_[id]; }
  [[nodiscard]] Operands inputs_of(std::size_t node) const noexcept {
    return Operands(inputs_of_nodes_).subspan(nodes_[node].first, nodes_[node].second);
  }

  /// Begins a run: takes the sizes of all inputs among `args`, and infers all others where an
  /// input's have changed.
  ///
  /// errors: InvalidArgument for a number or sizes of arguments that do not fit; InvalidType
  [[nodiscard]] tenon::Status take_inputs(const tenon::Args& args);

  /// Gives the outputs among `args` their sizes.
  [[nodiscard]] tenon::Status resize_outputs(const tenon::Args& args) const;

 private:
  tenon::Status take_input(const tenon::Args& args, std::size_t index);
  tenon::Status take_sizes(std::size_t index, const blob::TensorT& expected,
                           const tenon::TensorView& found);
  tenon::Status infer_all();

  std::shared_ptr<const Graph> graph_;
  std::vector<Operand> operands_;                           ///< By tensor.
  std::vector<std::pair<std::size_t, std::size_t>> nodes_;  ///< First and count of its inputs.
  std::vector<const Operand*> inputs_of_nodes_;
  std::vector<std::int64_t> symbol_sizes_;  ///< By symbol; -1 before it was seen in this run.
  bool are_current_ = false;                ///< `operands_` have the sizes of these inputs.
};

/// Finds the constants of a graph that are named data: they are used in place, as long as what is
/// returned lives.
///
/// errors: NotFound, InvalidExternalData
[[nodiscard]] tenon::Result<std::vector<tenon::NamedData>> find_constants(
    Graph& graph, const tenon::InitContext& context);

}  // namespace graph_backend
