// SPDX-License-Identifier: MIT
//
// Operators that move elements or see them in other sizes.
#include <algorithm>
#include <charconv>
#include <cstring>
#include <numeric>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include "aot/operators.hpp"

namespace graph_backend {

using namespace tenon;
using namespace tenon::aot;

namespace {

/// k when `expression` is k times `unit`, as PyTorch writes it ("2*s77"), 1 when they are equal.
std::optional<std::int32_t> multiple_of(std::string_view expression, std::string_view unit) {
  if (expression == unit) return 1;
  std::int32_t factor = 0;
  const char* end = expression.data() + expression.size();
  const auto [stop, failed] = std::from_chars(expression.data(), end, factor);
  if (failed != std::errc() || stop == end || *stop != '*' || factor < 1) return std::nullopt;
  return std::string_view(stop + 1, end) == unit ? std::optional(factor) : std::nullopt;
}

/// How the sizes of `out` follow from the sizes of `x` at each run. The numbers that the operator
/// was given are not needed for that: the exporter wrote what every size is.
Result<blob::ReshapeT> follow_sizes(const EdgeValue& x, const EdgeValue& out) {
  constexpr std::int32_t is_known = -1;
  constexpr std::int32_t is_rest = -2;
  blob::ReshapeT op;
  bool has_rest = false;
  bool has_others = false;
  for (std::size_t i = 0; i < out.rank(); ++i) {
    const EdgeSize size = out.size(i);
    if (size.is_static()) {
      op.sizes.emplace_back(static_cast<std::int32_t>(size.max), is_known);
      has_others = has_others || size.max == 0;
      continue;
    }
    std::optional<blob::ReshapeSize> found;
    for (std::size_t dim = 0; !found && dim < x.rank(); ++dim) {
      if (x.size(dim).is_static()) continue;
      if (const auto factor = multiple_of(size.expression, x.size(dim).expression)) {
        found.emplace(*factor, static_cast<std::int32_t>(dim));
      }
    }
    if (found) {
      has_others = true;
    } else if (!std::exchange(has_rest, true)) {
      found.emplace(1, is_rest);
    } else {
      return error(Error::NotSupported, "size ", i, " (", size.expression,
                   ") does not follow from the sizes of '", x.name(), "'");
    }
    op.sizes.push_back(*found);
  }
  // The size that is left of an empty tensor is ambiguous.
  if (has_rest && has_others) {
    return error(Error::NotSupported, "sizes of '", out.name(),
                 "' do not follow from the sizes of '", x.name(), "' when one of them is 0");
  }
  return op;
}

Status reshape(const Call& call) {
  TENON_TRY(const TensorId x, call.tensor("self"));
  TENON_TRY(const EdgeValue self, call.described("self"));
  TENON_TRY(auto op, follow_sizes(self, call.result()));
  return call.make(make_operator(std::move(op)), {x});
}

/// The result is its argument.
Status same(const Call& call) {
  TENON_TRY(const TensorId x, call.tensor("self"));
  return call.finish(x);
}

/// Whether the elements of `value` are known ahead of time and no run changes them.
bool is_fixed(const EdgeProgram& program, ValueId value) {
  return program.value(value).has_fqn() &&
         tenon::aot::find_mutations(program)[value] == tenon::aot::no_value;
}

/// The result is its argument (`finish` rounds it where its dtype is shorter), except that a bool
/// becomes 1 or 0, and constants of int64 become float32 here: ExecuTorch's exporter makes such
/// constants, and this conversion, of a model's numbers ("x + 3").
Status to_copy(const Call& call) {
  TENON_TRY(const ValueId id, call.EdgeCall::tensor("self"));
  const EdgeValue value = call.program().value(id);
  const ScalarType to = call.result().scalar_type();
  if (value.scalar_type() == ScalarType::Bool && (to == ScalarType::Float || is_short(to))) {
    TENON_TRY(const TensorId condition, call.tensor("self"));
    return call.make(make_operator(blob::WhereT()),
                     {condition, call.builder().scalar(1), call.builder().scalar(0)});
  }
  if (value.scalar_type() != ScalarType::Long || !is_fixed(call.program(), id) ||
      to != ScalarType::Float) {
    return same(call);
  }
  std::vector<std::int32_t> sizes;
  for (std::size_t i = 0; i < value.rank(); ++i) {
    sizes.push_back(static_cast<std::int32_t>(value.size(i).max));
  }
  const tenon::Bytes data = value.data();  // None while the node alone is judged.
  if (call.builder().purpose() == GraphBuilder::Purpose::Compile &&
      data.size() != static_cast<std::size_t>(value.max_numel()) * sizeof(std::int64_t)) {
    return error(Error::InvalidProgram, "value '", value.name(), "' has no data");
  }
  std::vector<float> elements(static_cast<std::size_t>(value.max_numel()));
  for (std::size_t i = 0; i < elements.size() && !data.empty(); ++i) {
    std::int64_t element = 0;
    std::memcpy(&element, data.data() + i * sizeof element, sizeof element);
    elements[i] = static_cast<float>(element);
  }
  return call.finish(call.builder().constant(std::string(value.fqn()), sizes, elements));
}

Status dropout(const Call& call) {
  TENON_TRY(const bool train, call.boolean("train", true));
  if (train) return error(Error::NotSupported, "it drops elements at random (train=True)");
  TENON_TRY(const TensorId x, call.tensor("input"));
  return call.finish(x);
}

Status permute_to(const Call& call, std::vector<std::uint8_t> dims) {
  TENON_TRY(const TensorId x, call.tensor("self"));
  blob::PermuteT op;
  op.dims = std::move(dims);
  return call.make(make_operator(std::move(op)), {x});
}

Status permute(const Call& call) {
  TENON_TRY(const TensorId x, call.tensor("self"));
  TENON_TRY(const auto dims, call.dims("dims", call.rank(x)));
  return permute_to(call, std::vector<std::uint8_t>(dims.begin(), dims.end()));
}

/// All dimensions in their order.
std::vector<std::uint8_t> in_order(std::size_t rank) {
  std::vector<std::uint8_t> out(rank);
  std::iota(out.begin(), out.end(), std::uint8_t{0});
  return out;
}

Status transpose(const Call& call) {
  TENON_TRY(const TensorId x, call.tensor("self"));
  auto dims = in_order(call.rank(x));
  TENON_TRY(const std::int64_t first, call.dim("dim0", dims.size()));
  TENON_TRY(const std::int64_t second, call.dim("dim1", dims.size()));
  std::swap(dims[static_cast<std::size_t>(first)], dims[static_cast<std::size_t>(second)]);
  return permute_to(call, std::move(dims));
}

/// At most two dimensions.
Status t(const Call& call) {
  TENON_TRY(const TensorId x, call.tensor("self"));
  auto dims = in_order(call.rank(x));
  std::ranges::reverse(dims);
  return permute_to(call, std::move(dims));
}

Status cat(const Call& call) {
  TENON_TRY(auto parts, call.tensors("tensors"));
  if (parts.empty()) return call.refuse_argument("tensors", "one or more");
  TENON_TRY(const std::int64_t dim, call.dim("dim", call.rank(parts[0]), 0));
  blob::CatT op;
  op.dim = static_cast<std::uint8_t>(dim);
  return call.make(make_operator(op), std::move(parts));
}

Status embedding(const Call& call) {
  TENON_TRY(const TensorId weight, call.tensor("weight"));
  TENON_TRY(const TensorId indices, call.tensor("indices"));
  return call.make(make_operator(blob::EmbeddingT()), {weight, indices});
}

constexpr OperatorRow shape_rows[] = {
    {"aten.view.default", &reshape},
    {"aten.reshape.default", &reshape},
    {"aten._unsafe_view.default", &reshape},
    {"aten.flatten.using_ints", &reshape},
    {"aten.unsqueeze.default", &reshape},
    {"aten.squeeze.default", &reshape},
    {"aten.squeeze.dim", &reshape},
    {"aten.squeeze.dims", &reshape},
    {"aten.permute.default", &permute},
    {"aten.transpose.int", &transpose},
    {"aten.t.default", &t},
    {"aten.cat.default", &cat},
    {"aten.embedding.default", &embedding},
    // `finish` compares dtypes, and other orders in memory are refused wherever they appear.
    {"aten.clone.default", &same},
    {"aten._to_copy.default", &to_copy},
    {"aten.contiguous.default", &same},
    {"aten.alias.default", &same},
    {"aten.detach.default", &same},
    {"aten.dropout.default", &dropout},
};

}  // namespace

std::span<const OperatorRow> shape_operators() noexcept { return shape_rows; }

}  // namespace graph_backend
