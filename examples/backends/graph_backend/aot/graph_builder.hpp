// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <tenon/aot.hpp>
#include <utility>
#include <vector>

#include "common/graph.hpp"
#include "common/shape.hpp"

namespace graph_backend {

/// A graph on its way from an edge program to a blob. Tensors have no place yet, except inputs and
/// constants.
struct Draft {
  Graph graph;
  /// By node: the debug handles of all nodes of the program that it replaces.
  std::vector<std::vector<std::uint32_t>> handles;
};

/// A node of a draft.
[[nodiscard]] inline OperatorUnion make_operator(auto attributes) {
  OperatorUnion out;
  out.Set(std::move(attributes));
  return out;
}

/// Fills a draft node by node.
class GraphBuilder {
 public:
  enum class Purpose {
    Compile,  ///< All nodes in their order; constants have their data.
    Judge,    ///< One node alone: what it reads is taken as given.
  };

  GraphBuilder(const tenon::aot::EdgeProgram& program, Purpose purpose)
      : program_(program), purpose_(purpose) {}

  [[nodiscard]] const tenon::aot::EdgeProgram& program() const noexcept { return program_; }
  [[nodiscard]] Purpose purpose() const noexcept { return purpose_; }

  /// Declares what `execute` will get.
  [[nodiscard]] tenon::Status add_inputs();
  [[nodiscard]] tenon::Status add_outputs();

  /// The tensor that a value of the program became. Values of float16 and bfloat16 are float32 in a
  /// graph, rounded to the dtype: operators compute in float32, as PyTorch's do on a CPU.
  ///
  /// errors: NotSupported for a dtype, layout, rank, device or size that the backend does not
  /// support
  [[nodiscard]] tenon::Result<TensorId> tensor(tenon::aot::ValueId value);

  /// A constant that is not in the program.
  [[nodiscard]] TensorId constant(std::string name, std::span<const std::int32_t> sizes,
                                  std::span<const float> elements);
  [[nodiscard]] TensorId scalar(float value) { return constant("scalar", {}, {&value, 1}); }

  /// Adds a node and returns the tensor that it makes. It has the debug handle of the program's
  /// node that was announced last, and none before the first.
  [[nodiscard]] tenon::Result<TensorId> add(OperatorUnion op, std::vector<TensorId> inputs);
  void announce(const tenon::aot::EdgeNode& node) { handles_ = {node.debug_handle()}; }

  /// Says that `value` is this tensor, after comparing what is known of both, and rounds it where
  /// the value's dtype is shorter.
  [[nodiscard]] tenon::Status bind(tenon::aot::ValueId value, TensorId tensor);

  [[nodiscard]] Operand operand(TensorId id) const;
  [[nodiscard]] Draft take() && { return std::move(draft_); }

 private:
  tenon::Result<blob::TensorT> describe(tenon::aot::ValueId value) const;
  tenon::Result<TensorId> convert(TensorId tensor, tenon::ScalarType to);
  TensorId add_tensor(blob::TensorT tensor);

  tenon::aot::EdgeProgram program_;
  Purpose purpose_;
  Draft draft_;
  std::map<tenon::aot::ValueId, TensorId> tensors_;
  /// By tensor: a dtype that holds its elements exactly.
  std::vector<tenon::ScalarType> exact_;
  std::map<std::string, std::uint32_t, std::less<>> symbols_;
  std::vector<std::uint32_t> handles_;
};

/// Computes ahead of time every node whose inputs are constants, with the kernels of the run time:
/// statistics of a batch norm.
[[nodiscard]] tenon::Status fold_constants(Draft& draft);

/// Merges a product with, or a sum of, one number a channel into the convolution before it, where
/// no other node reads the convolution's result. After `fold_constants` a batch norm has that form.
/// The remaining node replaces both, also in its debug handles.
void fold_into_convolutions(Draft& draft);

/// Reads the second matrix of a product in its own order where a node only turns it, so that no run
/// turns weights that are inputs. The turning node stays until `drop_unused`.
void merge_turns(Draft& draft);

/// Drops nodes, tensors and constants that no output depends on. Inputs stay.
void drop_unused(Draft& draft);

/// Gives each tensor its place. Results that are outputs are computed in the output, a
/// reshaped tensor shares the memory of the original, and all others share one piece of scratch
/// memory: the largest first, each at the lowest offset that no other tensor uses at the same time.
/// Sizes are the largest ones, so the plan holds for all.
///
/// Adds a copy where one tensor is to be several outputs, or an input or a constant is an output.
void plan_memory(Draft& draft);

}  // namespace graph_backend
