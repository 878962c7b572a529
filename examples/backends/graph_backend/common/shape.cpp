// SPDX-License-Identifier: MIT
#include "common/shape.hpp"

#include <string_view>

namespace graph_backend {

using tenon::Error;
using tenon::Result;
using tenon::ScalarType;
using tenon::Status;

Status check_shape(const Shape& shape) {
  std::int64_t numel = 1;
  for (const std::int64_t size : shape.sizes()) {
    if (size < 0 || size > Shape::max_size) {
      return error(Error::InvalidProgram, "a size is ", size, ", expected 0 to ", Shape::max_size);
    }
    numel *= std::max<std::int64_t>(size, 1);
    if (numel > Shape::max_numel) {
      return error(Error::InvalidProgram, "sizes ", text_of(shape), ": expected at most ",
                   Shape::max_numel, " elements");
    }
  }
  return tenon::ok();
}

namespace {

Status expect_inputs(Operands inputs, std::size_t min, std::size_t max) {
  if (inputs.size() < min || inputs.size() > max) {
    return error(Error::InvalidProgram, "expected ", min, " to ", max, " inputs, found ",
                 inputs.size());
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i]->scalar_type != ScalarType::Float) {
      return error(Error::InvalidProgram, "input ", i, ": expected dtype Float, found ",
                   name_of(inputs[i]->scalar_type));
    }
  }
  return tenon::ok();
}

Status expect_rank(const Operand& operand, std::size_t min, std::string_view what) {
  if (operand.shape.rank() >= min) return tenon::ok();
  return error(Error::InvalidProgram, what, ": expected ", min, " or more dimensions, found ",
               text_of(operand.shape));
}

Status misfit(std::string_view what, const Shape& found, const Shape& other) {
  return error(Error::InvalidArgument, what, " ", text_of(found), " does not fit ", text_of(other));
}

/// The sizes that a and b have together, as PyTorch broadcasts them.
Result<Shape> broadcast(const Shape& a, const Shape& b) {
  const Shape& longer = a.rank() >= b.rank() ? a : b;
  const Shape& shorter = a.rank() >= b.rank() ? b : a;
  Shape out = longer;
  for (std::size_t i = 1; i <= shorter.rank(); ++i) {
    if (out.last(i) == 1) out.last(i) = shorter.last(i);
    if (shorter.last(i) != 1 && shorter.last(i) != out.last(i)) {
      return misfit("a tensor of sizes", b, a);
    }
  }
  return out;
}

/// Sizes of a window that moves over `size` elements.
struct Window {
  std::int64_t kernel, stride, padding, dilation;
};

Result<std::int64_t> positions(std::int64_t size, const Window& window, bool ceil_mode) {
  if (window.kernel < 1 || window.stride < 1 || window.padding < 0 || window.dilation < 1) {
    return error(Error::InvalidProgram, "a window has kernel ", window.kernel, ", stride ",
                 window.stride, ", padding ", window.padding, ", dilation ", window.dilation);
  }
  const std::int64_t free = size + 2 * window.padding - window.dilation * (window.kernel - 1) - 1;
  if (free < 0) {
    return error(Error::InvalidArgument, "a window of ", window.kernel, " elements, dilation ",
                 window.dilation, ", does not fit a size of ", size, " with padding ",
                 window.padding);
  }
  std::int64_t out = (free + (ceil_mode ? window.stride - 1 : 0)) / window.stride + 1;
  // As in PyTorch, the last window begins inside the tensor or its left padding.
  if (ceil_mode && (out - 1) * window.stride >= size + window.padding) --out;
  return out;
}

/// `x` with its last two sizes replaced.
Result<Shape> move_windows(const Operand& x, const Window& h, const Window& w, bool ceil_mode) {
  TENON_RETURN_IF_ERROR(expect_rank(x, 3, "x"));
  Shape out = x.shape;
  TENON_TRY(out.last(2), positions(x.shape.last(2), h, ceil_mode));
  TENON_TRY(out.last(1), positions(x.shape.last(1), w, ceil_mode));
  return out;
}

/// Windows of pooling must not be in the padding alone.
Status check_padding(const blob::Pair& padding, const blob::Pair& kernel) {
  if (padding.h() <= kernel.h() / 2 && padding.w() <= kernel.w() / 2) return tenon::ok();
  return error(Error::InvalidProgram, "padding (", padding.h(), ", ", padding.w(),
               "): expected at most half of the kernel (", kernel.h(), ", ", kernel.w(), ")");
}

Status check_dim(std::size_t dim, const Shape& shape) {
  if (dim < shape.rank()) return tenon::ok();
  return error(Error::InvalidProgram, "dimension ", dim, " of a tensor of sizes ", text_of(shape));
}

struct Infer {
  Operands in;

  Result<Shape> operator()(const blob::BinaryT&) const {
    TENON_RETURN_IF_ERROR(expect_inputs(in, 2, 2));
    return broadcast(in[0]->shape, in[1]->shape);
  }

  Result<Shape> operator()(const blob::CompareT&) const { return (*this)(blob::BinaryT()); }

  Result<Shape> operator()(const blob::WhereT&) const {
    if (in.size() != 3 || in[0]->scalar_type != ScalarType::Bool) {
      return error(Error::InvalidProgram, "expected a condition of bool and two tensors");
    }
    TENON_RETURN_IF_ERROR(expect_inputs(in.subspan(1), 2, 2));
    TENON_TRY(const Shape both, broadcast(in[1]->shape, in[2]->shape));
    return broadcast(in[0]->shape, both);
  }

  Result<Shape> operator()(const blob::ConvertT& op) const {
    const auto from = in.size() == 1 ? in[0]->scalar_type : ScalarType::Bool;
    const auto to = static_cast<ScalarType>(op.to);
    const bool widens = is_short(from) && to == ScalarType::Float;
    if (!widens && !(from == ScalarType::Float && is_short(to))) {
      return error(Error::InvalidProgram,
                   "expected one tensor of Float, and Half or BFloat16 as the result, or the "
                   "reverse, found ",
                   in.size(), " inputs, ", name_of(from), " and ", name_of(to));
    }
    return in[0]->shape;
  }

  Result<Shape> operator()(const blob::UnaryT&) const {
    TENON_RETURN_IF_ERROR(expect_inputs(in, 1, 1));
    return in[0]->shape;
  }

  Result<Shape> operator()(const blob::MatMulT& op) const {
    TENON_RETURN_IF_ERROR(expect_inputs(in, 2, 3));
    TENON_RETURN_IF_ERROR(expect_rank(*in[1], 2, "b"));
    const Shape& a = in[0]->shape;
    const Shape& b = in[1]->shape;
    TENON_RETURN_IF_ERROR(expect_rank(*in[0], b.rank() == 2 ? 1 : b.rank(), "a"));
    bool fits =
        a.last() == b.last(op.transposed ? 1 : 2) && (b.rank() == 2 || a.rank() == b.rank());
    for (std::size_t i = 0; fits && b.rank() > 2 && i + 2 < b.rank(); ++i) fits = a[i] == b[i];
    if (!fits) return misfit("a product: b of sizes", b, a);
    Shape out = a;
    out.last() = b.last(op.transposed ? 2 : 1);
    if (in.size() == 3) {
      TENON_TRY(const Shape all, broadcast(out, in[2]->shape));
      if (all != out) return misfit("a bias of sizes", in[2]->shape, out);
    }
    return out;
  }

  Result<Shape> operator()(const blob::PermuteT& permute) const {
    TENON_RETURN_IF_ERROR(expect_inputs(in, 1, 1));
    const Shape& x = in[0]->shape;
    std::uint32_t seen = 0;
    Shape out;
    for (const std::uint8_t dim : permute.dims) {
      TENON_RETURN_IF_ERROR(check_dim(dim, x));
      seen |= 1U << dim;
      out.push_back(x[dim]);
    }
    if (permute.dims.size() != x.rank() || seen + 1 != 1U << x.rank()) {
      return error(Error::InvalidProgram, "expected each dimension of ", text_of(x), " once");
    }
    return out;
  }

  Result<Shape> operator()(const blob::ReshapeT& reshape) const;

  Result<Shape> operator()(const blob::ConvolutionT& conv) const {
    TENON_RETURN_IF_ERROR(expect_inputs(in, 2, 3));
    TENON_RETURN_IF_ERROR(expect_rank(*in[0], 4, "x"));
    TENON_RETURN_IF_ERROR(expect_rank(*in[1], 4, "weight"));
    const Shape& x = in[0]->shape;
    const Shape& weight = in[1]->shape;
    const std::int64_t groups = conv.groups;
    if (x.rank() != 4 || weight.rank() != 4 || groups < 1 || weight[0] % groups != 0 ||
        weight[1] * groups != x[1] || x[1] == 0) {
      return misfit(tenon::concat("a convolution of ", groups, " groups with a weight of sizes"),
                    weight, x);
    }
    if (in.size() == 3 && !(in[2]->shape.rank() == 1 && in[2]->shape[0] == weight[0])) {
      return misfit("a bias of sizes", in[2]->shape, weight);
    }
    const Window h{weight[2], conv.stride.h(), conv.padding.h(), conv.dilation.h()};
    const Window w{weight[3], conv.stride.w(), conv.padding.w(), conv.dilation.w()};
    TENON_TRY(Shape out, move_windows(*in[0], h, w, false));
    out[1] = weight[0];
    return out;
  }

  Result<Shape> operator()(const blob::MaxPoolT& pool) const {
    TENON_RETURN_IF_ERROR(expect_inputs(in, 1, 1));
    TENON_RETURN_IF_ERROR(check_padding(pool.padding, pool.kernel));
    return move_windows(
        *in[0], {pool.kernel.h(), pool.stride.h(), pool.padding.h(), pool.dilation.h()},
        {pool.kernel.w(), pool.stride.w(), pool.padding.w(), pool.dilation.w()}, pool.ceil_mode);
  }

  Result<Shape> operator()(const blob::AveragePoolT& pool) const {
    TENON_RETURN_IF_ERROR(expect_inputs(in, 1, 1));
    TENON_RETURN_IF_ERROR(check_padding(pool.padding, pool.kernel));
    return move_windows(*in[0], {pool.kernel.h(), pool.stride.h(), pool.padding.h(), 1},
                        {pool.kernel.w(), pool.stride.w(), pool.padding.w(), 1}, pool.ceil_mode);
  }

  Result<Shape> operator()(const blob::AdaptiveAveragePoolT& pool) const {
    TENON_RETURN_IF_ERROR(expect_inputs(in, 1, 1));
    TENON_RETURN_IF_ERROR(expect_rank(*in[0], 3, "x"));
    Shape out = in[0]->shape;
    if (out.last(2) == 0 || out.last(1) == 0) {
      return error(Error::InvalidArgument, "no average of a plane of sizes ", text_of(out));
    }
    out.last(2) = pool.output.h();
    out.last(1) = pool.output.w();
    return out;
  }

  Result<Shape> operator()(const blob::ReduceT& reduce) const {
    TENON_RETURN_IF_ERROR(expect_inputs(in, 1, 1));
    const Shape& x = in[0]->shape;
    if (reduce.dims >> x.rank() != 0) return check_dim(31, x);
    Shape out;
    for (std::size_t i = 0; i < x.rank(); ++i) {
      const bool reduced = (reduce.dims >> i & 1U) != 0;
      if (!reduced || reduce.keepdim) out.push_back(reduced ? 1 : x[i]);
    }
    return out;
  }

  Result<Shape> operator()(const blob::SoftmaxT& softmax) const {
    TENON_RETURN_IF_ERROR(expect_inputs(in, 1, 1));
    TENON_RETURN_IF_ERROR(check_dim(softmax.dim, in[0]->shape));
    return in[0]->shape;
  }

  Result<Shape> operator()(const blob::CatT& cat) const {
    TENON_RETURN_IF_ERROR(expect_inputs(in, 1, SIZE_MAX));
    Shape out = in[0]->shape;
    TENON_RETURN_IF_ERROR(check_dim(cat.dim, out));
    for (const Operand* operand : in.subspan(1)) {
      Shape part = operand->shape;
      TENON_RETURN_IF_ERROR(check_dim(cat.dim, part));
      const std::int64_t size = part[cat.dim];
      part[cat.dim] = out[cat.dim];
      if (part != out) return misfit("a part of sizes", operand->shape, out);
      out[cat.dim] += size;
    }
    return out;
  }

  Result<Shape> operator()(const blob::AttentionT&) const {
    TENON_RETURN_IF_ERROR(expect_inputs(in, 3, 4));
    const Shape& query = in[0]->shape;
    const Shape& key = in[1]->shape;
    if (query.rank() != 4) return misfit("a query that is not [B, H, L, E]:", query, key);
    Shape expected = query;
    if (key.rank() == query.rank()) expected.last(2) = key.last(2);
    if (key != expected) return misfit("a key of sizes", key, query);
    if (in[2]->shape != key) return misfit("a value of sizes", in[2]->shape, key);
    if (in.size() == 4) {
      Shape scores = query;
      scores.last() = key.last(2);
      TENON_TRY(const Shape all, broadcast(scores, in[3]->shape));
      if (all != scores) return misfit("a mask of sizes", in[3]->shape, scores);
    }
    return query;
  }

  Result<Shape> operator()(const blob::SliceT& slice) const {
    TENON_RETURN_IF_ERROR(expect_inputs(in, 1, 1));
    Shape out = in[0]->shape;
    TENON_RETURN_IF_ERROR(check_dim(slice.dim, out));
    const std::int64_t last = slice.start + std::int64_t{slice.step} * (slice.count - 1);
    if (slice.start < 0 || slice.step < 1 || slice.count < 0 ||
        (slice.count > 0 && last >= out[slice.dim])) {
      return error(Error::InvalidProgram, slice.count, " places from ", slice.start, " on, ",
                   slice.step, " apart, of dimension ", slice.dim, " of sizes ", text_of(out));
    }
    out[slice.dim] = slice.count;
    return out;
  }

  Result<Shape> operator()(const blob::ExpandT& expand) const;

  Result<Shape> operator()(const blob::EmbeddingT&) const {
    if (in.size() != 2 || in[1]->scalar_type != ScalarType::Long) {
      return error(Error::InvalidProgram, "expected a table and indices of int64");
    }
    TENON_RETURN_IF_ERROR(expect_inputs(in.first(1), 1, 1));
    const Shape& weight = in[0]->shape;
    if (weight.rank() != 2 || in[1]->shape.rank() == Shape::max_rank) {
      return misfit("indices of sizes", in[1]->shape, weight);
    }
    Shape out = in[1]->shape;
    out.push_back(weight[1]);
    return out;
  }

  Result<Shape> operator()(const blob::LayerNormT& norm) const {
    TENON_RETURN_IF_ERROR(expect_inputs(in, 1, 3));
    const Shape& x = in[0]->shape;
    if (norm.dims < 1 || norm.dims > x.rank() || in.size() == 2) {
      return error(Error::InvalidProgram, "the last ", norm.dims, " of sizes ", text_of(x), ", ",
                   in.size(), " inputs");
    }
    const Shape normalized(x.sizes().last(norm.dims));
    for (const Operand* operand : in.subspan(1)) {
      if (operand->shape != normalized) return misfit("a weight of sizes", operand->shape, x);
    }
    return x;
  }
};

Result<Shape> Infer::operator()(const blob::ExpandT& expand) const {
  TENON_RETURN_IF_ERROR(expect_inputs(in, 1, 1));
  const Shape& x = in[0]->shape;
  Shape out;
  for (const blob::ReshapeSize& size : expand.sizes) {
    if (size.dim() == -1) {
      out.push_back(size.factor());
      continue;
    }
    TENON_RETURN_IF_ERROR(check_dim(static_cast<std::size_t>(size.dim()), x));
    out.push_back(x[static_cast<std::size_t>(size.dim())]);
  }
  TENON_RETURN_IF_ERROR(check_shape(out));
  TENON_TRY(const Shape all, broadcast(out, x));
  if (expand.sizes.size() > Shape::max_rank || all != out) return misfit("sizes", out, x);
  return out;
}

Result<Shape> Infer::operator()(const blob::ReshapeT& reshape) const {
  if (in.size() != 1 || reshape.sizes.size() > Shape::max_rank) {
    return error(Error::InvalidProgram, in.size(), " inputs, ", reshape.sizes.size(), " sizes");
  }
  const Shape& x = in[0]->shape;
  Shape out;
  std::size_t rest = Shape::max_rank;
  for (const blob::ReshapeSize& size : reshape.sizes) {
    std::int64_t found = size.factor();
    if (size.dim() == -2 && rest == Shape::max_rank) {
      rest = out.rank();
      found = 1;
    } else if (size.dim() != -1) {
      TENON_RETURN_IF_ERROR(check_dim(static_cast<std::size_t>(size.dim()), x));
      found *= x[static_cast<std::size_t>(size.dim())];
    }
    out.push_back(found);
  }
  TENON_RETURN_IF_ERROR(check_shape(out));
  const std::int64_t numel = x.numel();
  if (rest != Shape::max_rank) {
    const std::int64_t known = out.numel();
    out[rest] = known == 0 ? 0 : numel / known;
  }
  if (out.numel() != numel) return misfit("sizes", out, x);
  return out;
}

}  // namespace

Result<Shape> infer(const OperatorUnion& op, Operands inputs) {
  TENON_TRY(const Shape out, visit(op, Infer{inputs}));
  TENON_RETURN_IF_ERROR(check_shape(out));
  return out;
}

}  // namespace graph_backend
