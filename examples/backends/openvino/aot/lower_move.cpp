// SPDX-License-Identifier: MIT
//
// Operators that copy, cut, join and look up elements.
#include <algorithm>
#include <limits>

#include "aot/operators.hpp"

namespace openvino_backend {

namespace {

/// The result is the argument, in the result's element type. Every tensor is contiguous here, so a
/// copy in another memory format is refused where its value is described.
Status same(const Call& call) {
  TENON_TRY(const Output x, call.operand("self", call.dtype()));
  return call.finish(x);
}

Status dropout(const Call& call) {
  TENON_TRY(const bool train, call.boolean("train", true));
  if (train) return error(Error::NotSupported, "it drops elements at random (train=True)");
  TENON_TRY(const Output x, call.tensor("input"));
  return call.finish(x);
}

Result<std::int64_t> dim_of(const Call& call) {
  TENON_TRY(const EdgeValue x, call.described("self"));
  return call.dim("dim", x.rank(), 0);
}

Status cat(const Call& call) {
  TENON_TRY(const auto values, call.tensors("tensors"));
  const std::size_t rank = call.result().rank();
  TENON_TRY(const std::int64_t dim, call.dim("dim", rank, 0));
  std::vector<Output> parts;
  for (const auto value : values) {
    // PyTorch skips empty tensors of one dimension, whatever the others are.
    if (const std::size_t found = call.program().value(value).rank(); found != rank) {
      return error(Error::NotSupported, "a tensor of rank ", found, ", expected rank ", rank);
    }
    TENON_TRY(const Output part, call.builder().tensor(value));
    parts.push_back(call.builder().convert(part, call.dtype()));
  }
  if (parts.empty()) return call.refuse_argument("tensors", "one or more");
  return call.make(
      {.type = "Concat", .inputs = std::move(parts), .attributes = {{"axis", tenon::concat(dim)}}});
}

Status slice(const Call& call) {
  IrBuilder& builder = call.builder();
  TENON_TRY(const std::int64_t dim, dim_of(call));
  TENON_TRY(const std::int64_t step, call.integer("step", 1));
  if (step < 1) return call.refuse_argument("step", "1 or more");
  TENON_TRY(const Output x, call.tensor("self"));
  TENON_TRY(const Output start, call.size("start", 0));
  TENON_TRY(const Output end, call.size("end", std::numeric_limits<std::int64_t>::max()));
  return call.make({.type = "Slice",
                    .opset = "opset8",
                    .inputs = {x, start, end, builder.integers({step}), builder.integers({dim})}});
}

Status flip(const Call& call) {
  IrBuilder& builder = call.builder();
  TENON_TRY(const EdgeValue described, call.described("self"));
  TENON_TRY(const auto given, call.integers("dims"));
  TENON_TRY(const Output x, call.tensor("self"));
  if (given.empty()) return call.finish(x);
  TENON_TRY(const auto dims, call.dims("dims", described.rank()));
  const auto all = [&](std::int64_t number) {
    return builder.integers(std::vector<std::int64_t>(dims.size(), number));
  };
  return call.make({.type = "Slice",
                    .opset = "opset8",
                    .inputs = {x, all(-1), all(std::numeric_limits<std::int64_t>::min()), all(-1),
                               builder.integers(dims)}});
}

NewLayer gather(Output x, Output indices, Output dim) {
  return {.type = "Gather",
          .opset = "opset8",
          .inputs = {x, indices, dim},
          .attributes = {{"batch_dims", "0"}}};
}

Status select(const Call& call) {
  TENON_TRY(const std::int64_t dim, dim_of(call));
  TENON_TRY(const std::int64_t index, call.integer("index"));
  TENON_TRY(const Output x, call.tensor("self"));
  return call.make(gather(x, call.builder().integer(index), call.builder().integer(dim)));
}

/// Indices count from 0, or from the end below it, as in PyTorch; OpenVINO does not report those
/// that are outside.
Result<Output> indices_of(const Call& call, std::string_view name) {
  TENON_TRY(const Output indices, call.tensor(name));
  const ScalarType dtype = call.builder().dtype(indices);
  if (dtype == ScalarType::Long || dtype == ScalarType::Int) return indices;
  return call.refuse_argument(name, "dtype Long or Int", name_of(dtype));
}

Status embedding(const Call& call) {
  TENON_TRY(const Output weight, call.tensor("weight"));
  TENON_TRY(const Output indices, indices_of(call, "indices"));
  return call.make(gather(weight, indices, call.builder().integer(0)));
}

Status index_select(const Call& call) {
  TENON_TRY(const std::int64_t dim, dim_of(call));
  TENON_TRY(const EdgeValue index, call.described("index"));
  if (index.rank() != 1) {
    return call.refuse_argument("index", "1 dimension", tenon::concat(index.rank()));
  }
  TENON_TRY(const Output x, call.tensor("self"));
  TENON_TRY(const Output indices, indices_of(call, "index"));
  return call.make(gather(x, indices, call.builder().integer(dim)));
}

/// Pieces of the sizes that the program says; at most one of them may change.
Status split(const Call& call) {
  IrBuilder& builder = call.builder();
  TENON_TRY(const std::int64_t dim, dim_of(call));
  TENON_TRY(const Output x, call.tensor("self"));
  const std::size_t count = call.node().outputs().size();
  std::vector<std::int64_t> lengths;
  for (std::size_t i = 0; i < count; ++i) {
    const EdgeValue piece = call.result(i);
    if (piece.rank() <= static_cast<std::size_t>(dim)) {
      return error(Error::InvalidProgram, "result ", i, " has ", piece.rank(), " dimensions");
    }
    const EdgeSize size = piece.size(static_cast<std::size_t>(dim));
    lengths.push_back(size.is_static() ? size.max : -1);
  }
  if (count == 0 || std::ranges::count(lengths, -1) > 1) {
    return error(Error::NotSupported, "the sizes of more than one piece change");
  }
  const Output pieces = builder.add({.type = "VariadicSplit",
                                     .inputs = {x, builder.integer(dim), builder.integers(lengths)},
                                     .dtype = call.dtype(),
                                     .num_outputs = count});
  for (std::size_t i = 0; i < count; ++i) {
    TENON_RETURN_IF_ERROR(call.finish({pieces.layer, static_cast<std::uint32_t>(i)}, i));
  }
  return tenon::ok();
}

Status pad(const Call& call) {
  IrBuilder& builder = call.builder();
  TENON_TRY(const EdgeValue described, call.described("self"));
  TENON_TRY(const auto given, call.integers("pad"));
  TENON_TRY(const Output x, call.tensor("self"));
  TENON_TRY(const double value, call.number("value", 0));
  if (given.size() % 2 != 0 || given.size() / 2 > described.rank()) {
    return call.refuse_argument("pad", "two integers a dimension");
  }
  // PyTorch lists the last dimension first.
  std::vector<std::int64_t> begin(described.rank(), 0);
  std::vector<std::int64_t> end(described.rank(), 0);
  for (std::size_t i = 0; 2 * i < given.size(); ++i) {
    begin[described.rank() - 1 - i] = given[2 * i];
    end[described.rank() - 1 - i] = given[2 * i + 1];
  }
  return call.make({.type = "Pad",
                    .opset = "opset12",
                    .inputs = {x, builder.integers(begin), builder.integers(end),
                               builder.scalar(value, call.dtype())},
                    .attributes = {{"pad_mode", "constant"}}});
}

Status repeat(const Call& call) {
  TENON_TRY(const Output x, call.tensor("self"));
  TENON_TRY(const Output repeats, call.sizes("repeats"));
  return call.make({.type = "Tile", .inputs = {x, repeats}});
}

constexpr OperatorRow move_rows[] = {
    {"aten.clone.default", &same},
    {"aten._to_copy.default", &same},
    {"aten.to.dtype", &same},
    {"aten.contiguous.default", &same},
    {"aten.alias.default", &same},
    {"aten.detach.default", &same},
    {"aten.dropout.default", &dropout},
    {"aten.cat.default", &cat},
    {"aten.slice.Tensor", &slice},
    {"aten.flip.default", &flip},
    {"aten.select.int", &select},
    {"aten.embedding.default", &embedding, Elements::Any, Reads::Indices},
    {"aten.index_select.default", &index_select, Elements::Any, Reads::Indices},
    {"aten.split_with_sizes.default", &split},
    {"aten.split.Tensor", &split},
    {"aten.chunk.default", &split},
    {"aten.constant_pad_nd.default", &pad},
    {"aten.repeat.default", &repeat},
};

}  // namespace

std::span<const OperatorRow> move_operators() noexcept { return move_rows; }

}  // namespace openvino_backend
