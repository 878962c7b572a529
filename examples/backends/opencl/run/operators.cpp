// SPDX-License-Identifier: MIT
#include "run/operators.hpp"

#include <algorithm>
#include <utility>

#include "run/kernel_source.hpp"

namespace opencl_backend {

namespace blob = graph_backend::blob;
using graph_backend::Operand;
using graph_backend::Shape;
using tenon::Status;

namespace {

constexpr Strided one_element() {
  Strided out{};
  for (std::int64_t& size : out.size) size = 1;
  return out;
}

/// `shape`, with its last dimension at the end.
Strided strided(const Shape& shape) {
  Strided out = one_element();
  const std::size_t first = Shape::max_rank - shape.rank();
  for (std::size_t i = 0; i < shape.rank(); ++i) out.size[first + i] = shape[i];
  return out;
}

/// Distances in a tensor that is broadcast to `in`.
void broadcast(const Shape& shape, std::int64_t (&strides)[Shape::max_rank]) {
  std::int64_t stride = 1;
  for (std::size_t i = 1; i <= shape.rank(); ++i) {
    strides[Shape::max_rank - i] = shape.last(i) == 1 ? 0 : stride;
    stride *= shape.last(i);
  }
}

Window window_of(const Operand& x, const Operand& out) {
  Window w{};
  w.height = x.shape.last(2);
  w.width = x.shape.last(1);
  w.out_height = out.shape.last(2);
  w.out_width = out.shape.last(1);
  w.dilation_h = w.dilation_w = 1;
  return w;
}

template <class Op>
Window window_of(const Op& op, const Operand& x, const Operand& out) {
  Window w = window_of(x, out);
  w.stride_h = op.stride.h();
  w.stride_w = op.stride.w();
  w.padding_h = op.padding.h();
  w.padding_w = op.padding.w();
  return w;
}

class Enqueue {
 public:
  Enqueue(Launcher& launch, const graph_backend::RunShapes& shapes, std::size_t node,
          const Place& place)
      : launch_(launch),
        in_(shapes.inputs_of(node)),
        out_(shapes[shapes.graph().nodes[node].output]),
        ids_(shapes.graph().nodes[node].inputs),
        out_id_(shapes.graph().nodes[node].output),
        node_(node),
        place_(place) {}

  Status operator()(const blob::BinaryT& op) const {
    const std::int64_t count = numel();
    const auto kind = static_cast<cl_int>(op.kind);
    const auto step = [&](std::size_t i) -> std::int64_t {
      return in_[i]->shape.numel() == 1 ? 0 : 1;
    };
    const auto is_simple = [&](std::size_t i) {
      return step(i) == 0 || in_[i]->shape.numel() == count;
    };
    if (is_simple(0) && is_simple(1)) {
      return run(Kernel::Binary, count, kind, op.alpha, in(0), step(0), in(1), step(1), out());
    }
    Strided shape = strided(out_.shape);
    broadcast(in_[0]->shape, shape.a);
    broadcast(in_[1]->shape, shape.b);
    return run(Kernel::BinaryStrided, count, kind, op.alpha, in(0), in(1), out(), shape);
  }

  Status operator()(const blob::CompareT& op) const {
    Strided shape = strided(out_.shape);
    broadcast(in_[0]->shape, shape.a);
    broadcast(in_[1]->shape, shape.b);
    return run(Kernel::Compare, numel(), static_cast<cl_int>(op.kind), in(0), in(1), out(), shape);
  }

  Status operator()(const blob::WhereT&) const {
    Strided shape = strided(out_.shape);
    broadcast(in_[1]->shape, shape.a);
    broadcast(in_[2]->shape, shape.b);
    Strided of_condition = strided(out_.shape);
    broadcast(in_[0]->shape, of_condition.a);
    return run(Kernel::Where, numel(), in(0), in(1), in(2), out(), shape, of_condition);
  }

  Status operator()(const blob::ConvertT&) const {
    const auto from = in_[0]->scalar_type;
    return graph_backend::is_short(from)
               ? run(Kernel::Widen, numel(), static_cast<cl_int>(from), in(0), out())
               : run(Kernel::Shorten, numel(), static_cast<cl_int>(out_.scalar_type), in(0), out());
  }

  Status operator()(const blob::UnaryT& op) const {
    return run(Kernel::Unary, numel(), static_cast<cl_int>(op.kind), op.min, op.max, in(0), out());
  }

  Status operator()(const blob::MatMulT& op) const {
    if (numel() == 0) return tenon::ok();
    const bool has_bias = in_.size() == 3 && op.beta != 0;
    if (has_bias) {
      Strided shape = strided(out_.shape);
      broadcast(in_[2]->shape, shape.a);
      TENON_RETURN_IF_ERROR(run(Kernel::CopyStrided, numel(), op.beta, in(2), out(), shape));
    }
    const Shape& b = in_[1]->shape;
    const std::int64_t k = in_[0]->shape.last();
    const std::int64_t n = out_.shape.last();
    const std::int64_t batch = b.product(0, b.rank() - 2);
    const std::int64_t m = numel() / n / batch;
    return run(Kernel::MatMul, batch * ((m + 3) / 4) * n, op.alpha, cl_int{has_bias}, in(0), in(1),
               out(), m, k, n, op.transposed ? std::int64_t{1} : n,
               op.transposed ? k : std::int64_t{1});
  }

  Status operator()(const blob::PermuteT& op) const {
    Strided shape = strided(out_.shape);
    const std::size_t first = Shape::max_rank - op.dims.size();
    const Shape& x = in_[0]->shape;
    for (std::size_t i = 0; i < op.dims.size(); ++i) {
      shape.a[first + i] = x.product(op.dims[i] + std::size_t{1}, x.rank());
    }
    return run(Kernel::CopyStrided, numel(), 1.0F, in(0), out(), shape);
  }

  Status operator()(const blob::ReshapeT&) const {
    const Slice& from = place_.tensors[ids_[0]];
    const Slice& to = place_.tensors[out_id_];
    if ((from.buffer == to.buffer && from.offset == to.offset) || out_.nbytes() == 0) {
      return tenon::ok();
    }
    // By kernels: command buffers of different versions copy buffers by functions of different
    // types.
    if (tenon::size_of(out_.scalar_type) < sizeof(float)) {
      return run(Kernel::CopyBytes, static_cast<std::int64_t>(out_.nbytes()),
                 ElementSlice{from.buffer, from.offset}, ElementSlice{to.buffer, to.offset});
    }
    const auto length = static_cast<std::int64_t>(out_.nbytes() / sizeof(float));
    const auto floats = [](const Slice& slice) {
      return ElementSlice{slice.buffer, slice.offset / sizeof(float)};
    };
    return run(Kernel::Cat, length, floats(from), floats(to), length, length);
  }

  Status operator()(const blob::ConvolutionT& op) const {
    Window w = window_of(op, *in_[0], out_);
    const Shape& weight = in_[1]->shape;
    w.kernel_h = weight[2];
    w.kernel_w = weight[3];
    w.dilation_h = op.dilation.h();
    w.dilation_w = op.dilation.w();
    const bool has_bias = in_.size() == 3;
    return run(Kernel::Convolution, numel(), in(0), in(1), has_bias ? in(2) : ElementSlice{},
               cl_int{has_bias}, out(), w, in_[0]->shape[1], weight[0], weight[0] / op.groups,
               weight[1]);
  }

  Status operator()(const blob::MaxPoolT& op) const {
    Window w = pool_window(op);
    w.dilation_h = op.dilation.h();
    w.dilation_w = op.dilation.w();
    return run(Kernel::MaxPool, numel(), in(0), out(), w);
  }

  Status operator()(const blob::AveragePoolT& op) const {
    return run(Kernel::AveragePool, numel(), in(0), out(), pool_window(op),
               cl_int{op.count_include_pad}, std::int64_t{op.divisor});
  }

  Status operator()(const blob::AdaptiveAveragePoolT&) const {
    return run(Kernel::AdaptiveAveragePool, numel(), in(0), out(), window_of(*in_[0], out_));
  }

  Status operator()(const blob::ReduceT& op) const {
    Strided kept = one_element();
    Strided summed = one_element();
    const Shape& x = in_[0]->shape;
    std::int64_t length = 1;
    std::int64_t stride = 1;
    const std::size_t first = Shape::max_rank - x.rank();
    for (std::size_t i = x.rank(); i-- > 0;) {
      const bool is_summed = (op.dims >> i & 1U) != 0;
      Strided& to = is_summed ? summed : kept;
      to.size[first + i] = x[i];
      to.a[first + i] = stride;
      stride *= x[i];
      if (is_summed) length *= x[i];
    }
    const cl_int is_mean = op.kind == blob::ReduceKind::Mean;
    return run(Kernel::Reduce, numel(), is_mean, in(0), out(), kept, summed, length);
  }

  Status operator()(const blob::SoftmaxT& op) const {
    const Shape& shape = in_[0]->shape;
    const std::int64_t size = shape[op.dim];
    const std::int64_t step = shape.product(op.dim + std::size_t{1}, shape.rank());
    const std::int64_t rows = size == 0 ? 0 : shape.product(0, op.dim) * step;
    return run(Kernel::Softmax, rows, cl_int{op.log}, in(0), out(), size, step);
  }

  Status operator()(const blob::CatT& op) const {
    if (numel() == 0) return tenon::ok();
    const std::int64_t out_length = out_.shape.product(op.dim, out_.shape.rank());
    ElementSlice to = out();
    for (std::size_t i = 0; i < in_.size(); ++i) {
      const Shape& part = in_[i]->shape;
      const std::int64_t length = part.product(op.dim, part.rank());
      TENON_RETURN_IF_ERROR(run(Kernel::Cat, part.numel(), in(i), to, length, out_length));
      to.first += static_cast<cl_ulong>(length);
    }
    return tenon::ok();
  }

  Status operator()(const blob::AttentionT& op) const {
    const Shape& query = in_[0]->shape;
    const bool has_mask = in_.size() == 4;
    Shape scores = query;
    scores.last() = in_[1]->shape.last(2);
    Strided shape = strided(scores);
    if (has_mask) broadcast(in_[3]->shape, shape.a);
    const std::int64_t rows = query.product(0, 3);
    return run(Kernel::Attention, numel() == 0 ? 0 : rows, op.scale, cl_int{op.causal},
               cl_int{has_mask}, in(0), in(1), in(2), has_mask ? in(3) : ElementSlice{}, out(),
               shape, query.last(2), scores.last(), query.last());
  }

  Status operator()(const blob::SliceT& op) const {
    const Shape& x = in_[0]->shape;
    Strided shape = strided(out_.shape);
    const std::size_t first = Shape::max_rank - x.rank();
    for (std::size_t i = 0; i < x.rank(); ++i) shape.a[first + i] = x.product(i + 1, x.rank());
    ElementSlice from = in(0);
    from.first += static_cast<cl_ulong>(op.start * shape.a[first + op.dim]);
    shape.a[first + op.dim] *= op.step;
    return run(Kernel::CopyStrided, numel(), 1.0F, from, out(), shape);
  }

  Status operator()(const blob::ExpandT&) const {
    Strided shape = strided(out_.shape);
    broadcast(in_[0]->shape, shape.a);
    return run(Kernel::CopyStrided, numel(), 1.0F, in(0), out(), shape);
  }

  Status operator()(const blob::EmbeddingT& op) const {
    const Shape& table = in_[0]->shape;
    return run(Kernel::Embedding, numel(), in(0), in(1), out(), place_.failure, cl_int{op.wraps},
               table[0], table[1], static_cast<std::int64_t>(node_));
  }

  Status operator()(const blob::LayerNormT& op) const {
    const Shape& x = in_[0]->shape;
    const std::int64_t size = x.product(x.rank() - op.dims, x.rank());
    const std::int64_t rows = size == 0 ? 0 : x.product(0, x.rank() - op.dims);
    const bool has_weight = in_.size() == 3;
    return run(Kernel::LayerNorm, rows, in(0), has_weight ? in(1) : ElementSlice{},
               has_weight ? in(2) : ElementSlice{}, cl_int{has_weight}, out(), op.eps, size);
  }

 private:
  template <class... Arguments>
  Status run(Kernel which, std::int64_t count, const Arguments&... arguments) const {
    return launch_(place_.target, which, count, arguments...);
  }

  [[nodiscard]] std::int64_t numel() const noexcept { return out_.shape.numel(); }

  [[nodiscard]] ElementSlice elements(graph_backend::TensorId id, const Operand& operand) const {
    const Slice& slice = place_.tensors[id];
    return {slice.buffer, slice.offset / tenon::size_of(operand.scalar_type)};
  }
  [[nodiscard]] ElementSlice in(std::size_t i) const { return elements(ids_[i], *in_[i]); }
  [[nodiscard]] ElementSlice out() const { return elements(out_id_, out_); }

  template <class Op>
  [[nodiscard]] Window pool_window(const Op& op) const {
    Window w = window_of(op, *in_[0], out_);
    w.kernel_h = op.kernel.h();
    w.kernel_w = op.kernel.w();
    return w;
  }

  Launcher& launch_;
  graph_backend::Operands in_;
  const Operand& out_;
  const std::vector<graph_backend::TensorId>& ids_;
  graph_backend::TensorId out_id_;
  std::size_t node_;
  const Place& place_;
};

}  // namespace

Status enqueue_node(Launcher& launch, const graph_backend::RunShapes& shapes, std::size_t node,
                    const Place& place) {
  return graph_backend::visit(shapes.graph().nodes[node].op, Enqueue(launch, shapes, node, place));
}

}  // namespace opencl_backend
