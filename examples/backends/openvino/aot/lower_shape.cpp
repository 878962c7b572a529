// SPDX-License-Identifier: MIT
//
// Operators that see elements in other sizes, and arithmetic on sizes.
#include <algorithm>
#include <numeric>
#include <optional>

#include "aot/operators.hpp"

namespace openvino_backend {

namespace {

/// The sizes of the result as the second input of Reshape, where 0 is the size of the argument at
/// the same place, and -1 what remains.
Result<Output> reshape_pattern(const Call& call, const EdgeValue& x, const EdgeValue& out) {
  IrBuilder& builder = call.builder();
  const auto given = call.node().find("size");
  const auto symbols = given ? given->symbols() : std::span<const ValueId>();
  std::vector<std::int64_t> known(out.rank(), 0);
  std::vector<std::optional<ValueId>> unknown(out.rank());
  bool has_rest = false;
  bool has_unknown = false;
  for (std::size_t i = 0; i < out.rank(); ++i) {
    const EdgeSize size = out.size(i);
    if (size.is_static()) {
      if (size.max == 0)
        return error(Error::NotSupported, "the result has no elements: dimension ", i, " is 0");
      known[i] = size.max;
    } else if (i < x.rank() && x.size(i) == size) {
      known[i] = 0;
    } else if (!has_rest) {
      has_rest = true;
      known[i] = -1;
    } else if (i < symbols.size() && symbols[i] != tenon::aot::no_value) {
      has_unknown = true;
      unknown[i] = symbols[i];
    } else {
      return error(Error::NotSupported, "size ", i, " (", size.expression,
                   ") does not follow from the sizes of '", x.name(), "'");
    }
  }
  if (!has_unknown) return builder.integers(known);
  std::vector<Output> parts;
  for (std::size_t i = 0; i < known.size(); ++i) {
    if (!unknown[i]) {
      parts.push_back(builder.integers({known[i]}));
      continue;
    }
    TENON_TRY(const Output part, builder.symbol(*unknown[i]));
    parts.push_back(part);
  }
  return builder.add({.type = "Concat",
                      .inputs = std::move(parts),
                      .attributes = {{"axis", "0"}},
                      .dtype = ScalarType::Long});
}

Status reshape(const Call& call) {
  TENON_TRY(const EdgeValue described, call.described("self"));
  TENON_TRY(const Output x, call.tensor("self"));
  TENON_TRY(const Output pattern, reshape_pattern(call, described, call.result()));
  return call.make(
      {.type = "Reshape", .inputs = {x, pattern}, .attributes = {{"special_zero", "true"}}});
}

Status unsqueeze(const Call& call) {
  TENON_TRY(const Output x, call.tensor("self"));
  TENON_TRY(const std::int64_t dim, call.dim("dim", call.result().rank()));
  return call.make({.type = "Unsqueeze", .inputs = {x, call.builder().integers({dim})}});
}

/// Removes the given dimensions that have size 1, as PyTorch does.
Status squeeze(const Call& call) {
  TENON_TRY(const EdgeValue described, call.described("self"));
  TENON_TRY(const Output x, call.tensor("self"));
  TENON_TRY(const auto given, call.dims(call.has("dims") ? "dims" : "dim", described.rank()));
  std::vector<std::int64_t> dims;
  for (const std::int64_t dim : given) {
    const EdgeSize size = described.size(static_cast<std::size_t>(dim));
    if (size.is_static() && size.max == 1) dims.push_back(dim);
  }
  if (described.rank() - dims.size() != call.result().rank()) {
    return error(Error::NotSupported, "a size that may be 1 is removed or not at run time");
  }
  if (dims.empty()) return call.finish(x);
  return call.make({.type = "Squeeze", .inputs = {x, call.builder().integers(dims)}});
}

Status permute_to(const Call& call, const std::vector<std::int64_t>& dims) {
  TENON_TRY(const Output x, call.tensor("self"));
  return call.make({.type = "Transpose", .inputs = {x, call.builder().integers(dims)}});
}

Status permute(const Call& call) {
  TENON_TRY(const EdgeValue x, call.described("self"));
  TENON_TRY(const auto dims, call.dims("dims", x.rank()));
  return permute_to(call, dims);
}

std::vector<std::int64_t> in_order(std::size_t rank) {
  std::vector<std::int64_t> out(rank);
  std::iota(out.begin(), out.end(), 0);
  return out;
}

Status transpose(const Call& call) {
  TENON_TRY(const EdgeValue x, call.described("self"));
  TENON_TRY(const std::int64_t first, call.dim("dim0", x.rank()));
  TENON_TRY(const std::int64_t second, call.dim("dim1", x.rank()));
  auto dims = in_order(x.rank());
  std::swap(dims[static_cast<std::size_t>(first)], dims[static_cast<std::size_t>(second)]);
  return permute_to(call, dims);
}

/// At most two dimensions.
Status t(const Call& call) {
  TENON_TRY(const EdgeValue x, call.described("self"));
  auto dims = in_order(x.rank());
  std::ranges::reverse(dims);
  return permute_to(call, dims);
}

/// -1 keeps a size; new dimensions come first.
Status expand(const Call& call) {
  IrBuilder& builder = call.builder();
  TENON_TRY(const EdgeValue described, call.described("self"));
  TENON_TRY(const Output x, call.tensor("self"));
  const EdgeValue out = call.result();
  const auto given = call.node().find("size");
  const auto symbols = given ? given->symbols() : std::span<const ValueId>();
  const std::size_t added = out.rank() - std::min(out.rank(), described.rank());
  std::vector<Output> parts;
  bool is_same = added == 0;
  for (std::size_t i = 0; i < out.rank(); ++i) {
    const EdgeSize size = out.size(i);
    const bool is_kept = i >= added && described.size(i - added) == size;
    is_same = is_same && is_kept;
    if (is_kept) {
      parts.push_back(builder.integers({1}));
    } else if (size.is_static()) {
      parts.push_back(builder.integers({size.max}));
    } else if (i < symbols.size() && symbols[i] != tenon::aot::no_value) {
      TENON_TRY(const Output part, builder.symbol(symbols[i]));
      parts.push_back(part);
    } else {
      return error(Error::NotSupported, "size ", i, " (", size.expression, ") is not given");
    }
  }
  if (is_same) return call.finish(x);
  const Output target = builder.add({.type = "Concat",
                                     .inputs = std::move(parts),
                                     .attributes = {{"axis", "0"}},
                                     .dtype = ScalarType::Long});
  return call.make({.type = "Broadcast",
                    .opset = "opset3",
                    .inputs = {x, target},
                    .attributes = {{"mode", "bidirectional"}}});
}

Status sym_size(const Call& call) {
  IrBuilder& builder = call.builder();
  TENON_TRY(const EdgeValue described, call.described("self"));
  TENON_TRY(const Output x, call.tensor("self"));
  TENON_TRY(const std::int64_t dim, call.dim("dim", described.rank()));
  const Output shape = builder.add({.type = "ShapeOf",
                                    .opset = "opset3",
                                    .inputs = {x},
                                    .attributes = {{"output_type", "i64"}},
                                    .dtype = ScalarType::Long});
  builder.bind_symbol(call.node().outputs()[0],
                      builder.add({.type = "Gather",
                                   .opset = "opset8",
                                   .inputs = {shape, builder.integers({dim}), builder.integer(0)},
                                   .attributes = {{"batch_dims", "0"}},
                                   .dtype = ScalarType::Long}));
  return tenon::ok();
}

/// Functions of Python on sizes, which have no names for their arguments.
Status size_arithmetic(const Call& call, std::string_view type) {
  IrBuilder& builder = call.builder();
  const auto& node = call.node();
  if (node.num_arguments() != 2)
    return error(Error::NotSupported, "expected 2 arguments, found ", node.num_arguments());
  std::vector<Output> operands;
  for (std::size_t i = 0; i < 2; ++i) {
    const auto argument = node.argument(i);
    if (const auto known = argument.integer()) {
      operands.push_back(builder.integers({*known}));
    } else if (const auto value = argument.value()) {
      TENON_TRY(const Output operand, builder.symbol(*value));
      operands.push_back(operand);
    } else {
      return error(Error::NotSupported, "argument ", i, ": expected an integer");
    }
  }
  builder.bind_symbol(
      node.outputs()[0],
      builder.add({.type = type, .inputs = std::move(operands), .dtype = ScalarType::Long}));
  return tenon::ok();
}
Status size_add(const Call& call) { return size_arithmetic(call, "Add"); }
Status size_sub(const Call& call) { return size_arithmetic(call, "Subtract"); }
Status size_mul(const Call& call) { return size_arithmetic(call, "Multiply"); }
/// Divide of integers rounds down, as Python does.
Status size_floordiv(const Call& call) { return size_arithmetic(call, "Divide"); }

constexpr OperatorRow shape_rows[] = {
    {"aten.view.default", &reshape},
    {"aten.reshape.default", &reshape},
    {"aten._unsafe_view.default", &reshape},
    {"aten.flatten.using_ints", &reshape},
    {"aten.unflatten.int", &reshape},
    {"aten.unsqueeze.default", &unsqueeze},
    {"aten.squeeze.default", &squeeze},
    {"aten.squeeze.dim", &squeeze},
    {"aten.squeeze.dims", &squeeze},
    {"aten.permute.default", &permute},
    {"aten.transpose.int", &transpose},
    {"aten.t.default", &t},
    {"aten.expand.default", &expand},
    {"aten.sym_size.int", &sym_size, Elements::Any, Reads::Sizes},
    {"_operator.add", &size_add},
    {"_operator.sub", &size_sub},
    {"_operator.mul", &size_mul},
    {"_operator.floordiv", &size_floordiv},
};

}  // namespace

std::span<const OperatorRow> shape_operators() noexcept { return shape_rows; }

}  // namespace openvino_backend
