// SPDX-License-Identifier: MIT
#include "common/check_graph.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace graph_backend {

using blob::Place;
using tenon::Error;
using tenon::ScalarType;
using tenon::Status;

namespace {

bool same_place(const blob::TensorT& a, const blob::TensorT& b) {
  return a.place == b.place && a.index == b.index && a.offset == b.offset;
}

class Check {
 public:
  explicit Check(const Graph& graph) : graph_(graph), known_(graph.tensors.size()) {}

  Status all() {
    std::uint64_t needed = 0;
    for (TensorId id = 0; id < graph_.tensors.size(); ++id) {
      const Status checked = tensor(graph_.tensors[id], needed);
      if (!checked.ok()) return error(checked.error(), "tensor ", id, ": ", checked.text());
    }
    if (graph_.scratch_bytes > needed) {
      return error(Error::InvalidProgram, "scratch memory of ", graph_.scratch_bytes,
                   " bytes, expected at most the ", needed, " of all tensors in it");
    }
    TENON_RETURN_IF_ERROR(inputs());
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      const Status checked = node(graph_.nodes[i]);
      if (!checked.ok()) {
        return error(checked.error(), "node ", i, " (", name_of(graph_.nodes[i].op),
                     "): ", checked.text());
      }
    }
    return outputs();
  }

 private:
  Status tensor(const blob::TensorT& tensor, std::uint64_t& scratch_needed) {
    const auto type = static_cast<ScalarType>(tensor.scalar_type);
    if (!is_taken(type)) {
      return error(Error::InvalidProgram,
                   "expected dtype Float, Long, Bool, Half or BFloat16, found number ",
                   static_cast<int>(tensor.scalar_type));
    }
    if (tensor.sizes.size() > Shape::max_rank ||
        (!tensor.symbols.empty() && tensor.symbols.size() != tensor.sizes.size())) {
      return error(Error::InvalidProgram, tensor.sizes.size(), " sizes and ", tensor.symbols.size(),
                   " symbols, expected at most ", Shape::max_rank);
    }
    for (const std::uint32_t symbol : tensor.symbols) {
      if (symbol > Shape::max_rank * graph_.inputs.size()) {
        return error(Error::InvalidProgram, "symbol ", symbol, " for ", graph_.inputs.size(),
                     " inputs");
      }
    }
    const Operand operand = largest(tensor);
    TENON_RETURN_IF_ERROR(check_shape(operand.shape));
    const std::uint64_t nbytes = operand.nbytes();
    switch (tensor.place) {
      case Place::Input:
        return in_range(tensor.index, graph_.inputs.size(), "input");
      case Place::Output:
        return in_range(tensor.index, graph_.outputs.size(), "output");
      case Place::Constant:
        TENON_RETURN_IF_ERROR(in_range(tensor.index, graph_.constants.size(), "constant"));
        return constant(tensor, nbytes, graph_.constants[tensor.index]);
      case Place::Scratch:
        scratch_needed += align_up(nbytes);
        if (tensor.offset % scratch_alignment == 0 && tensor.offset <= graph_.scratch_bytes &&
            nbytes <= graph_.scratch_bytes - tensor.offset) {
          return tenon::ok();
        }
        return error(Error::InvalidProgram, nbytes, " bytes at offset ", tensor.offset, " of ",
                     graph_.scratch_bytes, " in scratch memory");
    }
    return error(Error::InvalidProgram, "place ", static_cast<int>(tensor.place));
  }

  static Status in_range(std::uint32_t index, std::size_t count, std::string_view what) {
    if (index < count) return tenon::ok();
    return error(Error::InvalidProgram, what, " ", index, " of ", count);
  }

  static Status constant(const blob::TensorT& tensor, std::uint64_t nbytes,
                         const Constant& constant) {
    if (constant.nbytes != nbytes || !tensor.symbols.empty()) {
      return error(Error::InvalidProgram, "a constant of ", constant.nbytes, " bytes for ", nbytes);
    }
    return tenon::ok();
  }

  Status inputs() {
    for (std::size_t i = 0; i < graph_.inputs.size(); ++i) {
      const TensorId id = graph_.inputs[i];
      if (id == no_tensor) continue;
      if (id >= known_.size() || known_[id] || graph_.tensors[id].place != Place::Input ||
          graph_.tensors[id].index != i) {
        return error(Error::InvalidProgram, "input ", i, " is tensor ", id,
                     ", which is stored elsewhere");
      }
      known_[id] = true;
    }
    for (std::size_t id = 0; id < known_.size(); ++id) {
      // The output of a Reshape of a constant is not known before that node.
      if (graph_.tensors[id].place == Place::Constant && !is_output_of_node(id)) known_[id] = true;
    }
    return tenon::ok();
  }

  bool is_output_of_node(std::size_t id) {
    if (made_.empty()) {
      made_.resize(known_.size());
      for (const blob::NodeT& node : graph_.nodes) {
        if (node.output < made_.size()) made_[node.output] = true;
      }
    }
    return made_[id];
  }

  Status node(const blob::NodeT& node) {
    operands_.clear();
    for (const TensorId id : node.inputs) {
      if (id >= known_.size() || !known_[id]) {
        return error(Error::InvalidProgram, "reads tensor ", id, ", which nothing made before");
      }
      operands_.push_back(largest(graph_.tensors[id]));
    }
    pointers_.clear();
    for (const Operand& operand : operands_) pointers_.push_back(&operand);
    if (node.output >= known_.size() || known_[node.output]) {
      return error(Error::InvalidProgram, "makes tensor ", node.output, " of ", known_.size(),
                   ", or makes it again");
    }
    TENON_TRY(const Shape shape, infer(node.op, pointers_));
    const blob::TensorT& out = graph_.tensors[node.output];
    const bool moves = node.op.type == blob::Operator::Reshape;
    const auto type = dtype_of(node.op, operands_[0].scalar_type);
    if (shape != largest(out).shape || type != static_cast<ScalarType>(out.scalar_type)) {
      return error(Error::InvalidProgram, "makes ", name_of(type), " ", text_of(shape),
                   ", but tensor ", node.output, " is ",
                   name_of(static_cast<ScalarType>(out.scalar_type)), " ",
                   text_of(largest(out).shape));
    }
    known_[node.output] = true;
    if (moves && same_place(out, graph_.tensors[node.inputs[0]])) return tenon::ok();
    if (out.place == Place::Input || out.place == Place::Constant) {
      return error(Error::InvalidProgram, "writes to an input or a constant");
    }
    return apart(node, out);
  }

  /// Kernels do not expect to overwrite what they read.
  Status apart(const blob::NodeT& node, const blob::TensorT& out) const {
    for (const TensorId id : node.inputs) {
      const blob::TensorT& in = graph_.tensors[id];
      if (in.place != out.place) continue;
      const bool overlaps = out.place == Place::Output
                                ? in.index == out.index
                                : in.offset < out.offset + largest(out).nbytes() &&
                                      out.offset < in.offset + largest(in).nbytes();
      if (overlaps) {
        return error(Error::InvalidProgram, "tensor ", node.output, " overwrites tensor ", id,
                     ", of which it is made");
      }
    }
    return tenon::ok();
  }

  Status outputs() const {
    for (std::size_t i = 0; i < graph_.outputs.size(); ++i) {
      const TensorId id = graph_.outputs[i];
      if (id >= known_.size() || !known_[id] || graph_.tensors[id].place != Place::Output ||
          graph_.tensors[id].index != i) {
        return error(Error::InvalidProgram, "output ", i, " is tensor ", id,
                     ", which is stored elsewhere or is never made");
      }
    }
    return tenon::ok();
  }

  const Graph& graph_;
  std::vector<bool> known_;  ///< By tensor: it has its elements when the next node runs.
  std::vector<bool> made_;
  std::vector<Operand> operands_;
  std::vector<const Operand*> pointers_;
};

}  // namespace

Status check_graph(const Graph& graph) { return Check(graph).all(); }

}  // namespace graph_backend
