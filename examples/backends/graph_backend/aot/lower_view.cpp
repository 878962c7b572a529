// SPDX-License-Identifier: MIT
//
// Operators whose result is a part of their argument, or repeats it. The nodes copy: each tensor of
// a blob has its elements in order.
#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include "aot/operators.hpp"

namespace graph_backend {

using namespace tenon;
using namespace tenon::aot;

namespace {

/// The size of dimension `dim`, which must not change.
Result<std::int64_t> static_size(const EdgeValue& x, std::int64_t dim) {
  const EdgeSize size = x.size(static_cast<std::size_t>(dim));
  if (size.is_static()) return size.max;
  return error(Error::NotSupported, "size ", dim, " of '", x.name(), "' changes (", size.expression,
               ")");
}

Result<TensorId> cut(const Call& call, TensorId x, std::int64_t dim, std::int64_t start,
                     std::int64_t count, std::int64_t step = 1) {
  blob::SliceT op;
  op.dim = static_cast<std::uint8_t>(dim);
  op.start = static_cast<std::int32_t>(start);
  op.count = static_cast<std::int32_t>(count);
  op.step = static_cast<std::int32_t>(step);
  return call.add(make_operator(op), {x});
}

Status slice(const Call& call) {
  TENON_TRY(const TensorId x, call.tensor("self"));
  TENON_TRY(const EdgeValue self, call.described("self"));
  TENON_TRY(const std::int64_t dim, call.dim("dim", self.rank(), 0));
  TENON_TRY(const std::int64_t step, call.integer("step", 1));
  TENON_TRY(std::int64_t start, call.integer("start", 0));
  if (step < 1 || step > Shape::max_size) {
    return call.refuse_argument("step", concat("1 to ", Shape::max_size));
  }
  const EdgeSize size = self.size(static_cast<std::size_t>(dim));
  const EdgeSize left = call.result().size(static_cast<std::size_t>(dim));
  if (!size.is_static() && left.expression == size.expression) return call.finish(x);
  TENON_TRY(const std::int64_t before, static_size(self, dim));
  TENON_TRY(const std::int64_t count, static_size(call.result(), dim));
  if (count == before && step == 1) return call.finish(x);
  if (start < 0) start += before;
  TENON_TRY(const TensorId out,
            cut(call, x, dim, std::clamp<std::int64_t>(start, 0, before), count, step));
  return call.finish(out);
}

/// Place `index` of a dimension, which the result does not have.
Status take_place(const Call& call, TensorId x, const EdgeValue& self, std::int64_t dim,
                  std::int64_t index, std::size_t result) {
  TENON_TRY(const TensorId part, cut(call, x, dim, index, 1));
  blob::ReshapeT drop;
  for (std::int32_t i = 0; i < static_cast<std::int32_t>(self.rank()); ++i) {
    if (i != dim) drop.sizes.emplace_back(1, i);
  }
  TENON_TRY(const TensorId out, call.add(make_operator(std::move(drop)), {part}));
  return call.finish(out, result);
}

Status select(const Call& call) {
  TENON_TRY(const TensorId x, call.tensor("self"));
  TENON_TRY(const EdgeValue self, call.described("self"));
  TENON_TRY(const std::int64_t dim, call.dim("dim", self.rank()));
  TENON_TRY(const std::int64_t index, call.integer("index"));
  TENON_TRY(const std::int64_t size, static_size(self, dim));
  return take_place(call, x, self, dim, index < 0 ? index + size : index, 0);
}

Status unbind(const Call& call) {
  TENON_TRY(const TensorId x, call.tensor("self"));
  TENON_TRY(const EdgeValue self, call.described("self"));
  TENON_TRY(const std::int64_t dim, call.dim("dim", self.rank(), 0));
  for (std::size_t i = 0; i < call.node().outputs().size(); ++i) {
    TENON_RETURN_IF_ERROR(take_place(call, x, self, dim, static_cast<std::int64_t>(i), i));
  }
  return tenon::ok();
}

/// Into parts one after the other, whose sizes the program has.
Status split(const Call& call) {
  TENON_TRY(const TensorId x, call.tensor("self"));
  TENON_TRY(const std::int64_t dim, call.dim("dim", call.rank(x), 0));
  std::int64_t start = 0;
  for (std::size_t i = 0; i < call.node().outputs().size(); ++i) {
    TENON_TRY(const std::int64_t count, static_size(call.result(i), dim));
    TENON_TRY(const TensorId part, cut(call, x, dim, start, count));
    TENON_RETURN_IF_ERROR(call.finish(part, i));
    start += count;
  }
  return tenon::ok();
}

Status expand(const Call& call) {
  TENON_TRY(const TensorId x, call.tensor("self"));
  TENON_TRY(const EdgeValue self, call.described("self"));
  const EdgeValue out = call.result();
  if (out.rank() < self.rank()) return error(Error::InvalidProgram, "it drops dimensions");
  const std::size_t added = out.rank() - self.rank();
  blob::ExpandT op;
  bool is_same = added == 0;
  for (std::size_t i = 0; i < out.rank(); ++i) {
    const EdgeSize to = out.size(i);
    if (to.is_static()) {
      op.sizes.emplace_back(static_cast<std::int32_t>(to.max), -1);
      is_same = is_same && self.size(i).is_static() && self.size(i).max == to.max;
    } else if (i >= added && self.size(i - added).expression == to.expression) {
      op.sizes.emplace_back(1, static_cast<std::int32_t>(i - added));
    } else {
      return error(Error::NotSupported, "size ", i, " (", to.expression,
                   ") does not follow from the sizes of '", self.name(), "'");
    }
  }
  return is_same ? call.finish(x) : call.make(make_operator(std::move(op)), {x});
}

/// x[indices], with one tensor of indices and for the first dimension: rows of a table.
Status index(const Call& call) {
  const auto argument = call.node().find("indices");
  const auto values = argument ? argument->values() : std::nullopt;
  if (!values || values->size() != 1 || (*values)[0] == no_value) {
    return call.refuse_argument("indices", "one tensor, of the first dimension");
  }
  TENON_TRY(const TensorId x, call.tensor("self"));
  TENON_TRY(const TensorId indices, call.builder().tensor((*values)[0]));
  const Shape shape = call.builder().operand(x).shape;
  TENON_TRY(const EdgeValue self, call.described("self"));
  if (!self.is_static()) return error(Error::NotSupported, "sizes of '", self.name(), "' change");
  if (shape.rank() == 0) return call.refuse_argument("self", "one dimension or more");
  blob::ReshapeT flat;
  flat.sizes.emplace_back(static_cast<std::int32_t>(shape[0]), -1);
  flat.sizes.emplace_back(static_cast<std::int32_t>(shape.product(1, shape.rank())), -1);
  TENON_TRY(const TensorId table, call.add(make_operator(std::move(flat)), {x}));
  blob::EmbeddingT op;
  op.wraps = true;
  TENON_TRY(const TensorId rows, call.add(make_operator(op), {table, indices}));
  blob::ReshapeT back;
  for (std::int32_t i = 0; i < static_cast<std::int32_t>(call.rank(indices)); ++i) {
    back.sizes.emplace_back(1, i);
  }
  for (std::size_t i = 1; i < shape.rank(); ++i) {
    back.sizes.emplace_back(static_cast<std::int32_t>(shape[i]), -1);
  }
  return call.make(make_operator(std::move(back)), {rows});
}

/// Moves the elements of dimensions around: the end of each comes before its beginning.
Status roll(const Call& call) {
  TENON_TRY(TensorId x, call.tensor("self"));
  TENON_TRY(const EdgeValue self, call.described("self"));
  TENON_TRY(const auto shifts, call.integers("shifts"));
  TENON_TRY(const auto listed, call.integers("dims"));
  if (listed.empty() || listed.size() != shifts.size()) {
    return call.refuse_argument("dims", "as many dimensions as shifts");
  }
  TENON_TRY(const auto dims, call.dims("dims", self.rank()));
  for (std::size_t i = 0; i < dims.size(); ++i) {
    TENON_TRY(const std::int64_t size, static_size(self, dims[i]));
    const std::int64_t shift = size == 0 ? 0 : (shifts[i] % size + size) % size;
    if (shift == 0) continue;
    TENON_TRY(const TensorId end, cut(call, x, dims[i], size - shift, shift));
    TENON_TRY(const TensorId begin, cut(call, x, dims[i], 0, size - shift));
    blob::CatT op;
    op.dim = static_cast<std::uint8_t>(dims[i]);
    TENON_TRY(x, call.add(make_operator(op), {end, begin}));
  }
  return call.finish(x);
}

/// A number everywhere. Its sizes are known ahead of time.
Status fill(const Call& call, double value) {
  blob::ExpandT op;
  const EdgeValue out = call.result();
  for (std::size_t i = 0; i < out.rank(); ++i) {
    TENON_TRY(const std::int64_t size, static_size(out, static_cast<std::int64_t>(i)));
    op.sizes.emplace_back(static_cast<std::int32_t>(size), -1);
  }
  const TensorId number = call.builder().scalar(static_cast<float>(value));
  return call.make(make_operator(std::move(op)), {number});
}

Status full(const Call& call) {
  TENON_TRY(const double value, call.number("fill_value"));
  return fill(call, value);
}
Status scalar_tensor(const Call& call) {
  TENON_TRY(const double value, call.number("s"));
  return fill(call, value);
}
Status zeros(const Call& call) { return fill(call, 0); }
Status ones(const Call& call) { return fill(call, 1); }

constexpr OperatorRow view_rows[] = {
    {.target = "aten.slice.Tensor", .lower = &slice},
    {.target = "aten.select.int", .lower = &select},
    {.target = "aten.unbind.int", .lower = &unbind, .makes_all = true},
    {.target = "aten.split.Tensor", .lower = &split, .makes_all = true},
    {.target = "aten.split_with_sizes.default", .lower = &split, .makes_all = true},
    {.target = "aten.expand.default", .lower = &expand},
    {.target = "aten.index.Tensor", .lower = &index},
    {.target = "aten.roll.default", .lower = &roll, .keep = true},
    {.target = "aten.full.default", .lower = &full},
    {.target = "aten.full_like.default", .lower = &full},
    {.target = "aten.scalar_tensor.default", .lower = &scalar_tensor},
    {.target = "aten.zeros_like.default", .lower = &zeros},
    {.target = "aten.ones_like.default", .lower = &ones},
};

}  // namespace

std::span<const OperatorRow> view_operators() noexcept { return view_rows; }

}  // namespace graph_backend
