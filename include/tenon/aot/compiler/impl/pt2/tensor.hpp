// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tenon/aot/compiler/impl/pt2/layout.hpp"
#include "tenon/aot/compiler/impl/pt2/numbers.hpp"
#include "tenon/aot/compiler/pt2/sym_expression.hpp"
#include "tenon/aot/compiler/pt2/sym_range.hpp"
#include "tenon/aot/edge_description.hpp"
#include "tenon/core/json.hpp"
#include "tenon/core/result.hpp"
#include "tenon/core/scalar_type.hpp"
#include "tenon/core/tensor.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace aot::detail {

/// The symbols of an archive.
struct Pt2Symbols {
  SymRanges ranges;
  /// One number for each symbol, to compare strides that are expressions.
  SymRanges examples;

  /// `range_constraints`: {"s77": {"min_val": 1, "max_val": 16}}, null means no bound.
  [[nodiscard]] static Result<Pt2Symbols> read(const JsonAt& constraints) {
    Pt2Symbols out;
    const auto read_range = [&](const std::string& name, const JsonAt& at) -> Status {
      TENON_RETURN_IF_ERROR(at.check_object());
      SymRange range;
      if (const auto min = at.find_set("min_val")) {
        TENON_TRY(range.min, min->integer());
      }
      if (const auto max = at.find_set("max_val")) {
        TENON_TRY(range.max, max->integer());
      }
      if (range.min > range.max) return at.wrong("is empty: ", range.min, " to ", range.max);
      out.ranges.emplace(name, range);
      // A range of an expression is not an example of its symbols.
      if (name.find_first_of(" */%(") != std::string::npos) return ok();
      constexpr std::int64_t smallest_with_strides = 2;
      const std::int64_t example = std::min(std::max(range.min, smallest_with_strides), range.max);
      out.examples.emplace(name, SymRange::only(example));
      return ok();
    };
    TENON_RETURN_IF_ERROR(constraints.each_member(read_range));
    return out;
  }
};

/// A number, or an expression.
struct Pt2Int {
  EdgeTensor::Size size;
  std::optional<std::int64_t> example;
};

/// {"as_int": 3} or {"as_expr": {"expr_str": "Symbol(...)", "hint": ...}}.
[[nodiscard]] inline Result<Pt2Int> read_sym_int(const JsonAt& at, const Pt2Symbols& symbols) {
  TENON_TRY(const auto member, at.only_member());
  const auto& [kind, value] = member;
  if (kind == "as_int") {
    TENON_TRY(const std::int64_t number, value.integer());
    return Pt2Int{number, number};
  }
  if (kind != "as_expr")
    return at.wrong("has ", host::quoted(kind), ", expected 'as_int' or 'as_expr'");
  TENON_TRY(const JsonAt text_at, value.member("expr_str"));
  TENON_TRY(const std::string text, text_at.text());
  auto expression = SymExpression::parse(text);
  if (!expression.ok()) return std::move(expression).status().with_context(text_at.where());
  const SymRange range = expression->range(symbols.ranges);
  if (range.min > range.max)
    return text_at.wrong("can have no value: its ranges exclude each other");
  const SymRange example = expression->range(symbols.examples);
  Pt2Int out{{range.min, range.max, expression->text()}, std::nullopt};
  if (example.is_one_number()) out.example = example.min;
  return out;
}

/// The places of elements in memory. Strides and the offset count elements.
struct Pt2Place {
  std::vector<std::int64_t> sizes;  ///< Each 0 or more.
  std::vector<std::int64_t> strides;
  std::int64_t offset = 0;
};

/// The description of a tensor in an archive (schema.py: TensorMeta).
struct Pt2Tensor {
  /// `dim_order` follows from the strides when they are dense, else it is empty.
  EdgeTensor tensor;
  bool is_dense = true;
  std::optional<Pt2Place> place;  ///< When all of it is known.
};

/// The numbers of a list of them; nothing when one of them has no example.
[[nodiscard]] inline std::optional<std::vector<std::int64_t>> examples(
    const std::vector<Pt2Int>& list) {
  std::vector<std::int64_t> out;
  for (const Pt2Int& item : list) {
    if (!item.example) return std::nullopt;
    out.push_back(*item.example);
  }
  return out;
}

[[nodiscard]] inline Result<std::vector<Pt2Int>> read_sym_ints(const JsonAt& at,
                                                               const Pt2Symbols& symbols) {
  TENON_RETURN_IF_ERROR(at.check_array());
  if (at.size() > max_rank) {
    return at.wrong("has ", at.size(), " entries, expected a rank of at most ", max_rank);
  }
  return at.list<Pt2Int>([&](const JsonAt& one) { return read_sym_int(one, symbols); });
}

/// errors: InvalidProgram; NotSupported for sparse tensors, and for element types and devices that
///         programs do not support.
[[nodiscard]] inline Result<Pt2Tensor> read_tensor(const JsonAt& at, const Pt2Symbols& symbols) {
  Pt2Tensor out;
  TENON_TRY(const JsonAt dtype, at.member("dtype"));
  TENON_TRY(out.tensor.scalar_type, read_scalar_type(dtype));
  TENON_TRY(const JsonAt layout_at, at.member("layout"));
  TENON_TRY(const std::int64_t layout, read_layout(layout_at));
  if (layout != 0) return layout_at.not_supported("is a sparse layout, expected a strided one");
  TENON_TRY(const JsonAt device, at.member("device"));
  TENON_TRY(out.tensor.device, read_device(device));

  TENON_TRY(const JsonAt sizes_at, at.member("sizes"));
  TENON_TRY(std::vector<Pt2Int> sizes, read_sym_ints(sizes_at, symbols));
  TENON_TRY(const JsonAt strides_at, at.member("strides"));
  TENON_TRY(const std::vector<Pt2Int> strides, read_sym_ints(strides_at, symbols));
  TENON_TRY(const JsonAt offset_at, at.member("storage_offset"));
  TENON_TRY(const Pt2Int offset, read_sym_int(offset_at, symbols));
  if (strides.size() != sizes.size()) {
    return strides_at.wrong("has ", strides.size(), " entries, expected the rank, ", sizes.size());
  }
  bool is_static = offset.size.min == offset.size.max;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    EdgeTensor::Size& size = sizes[i].size;
    if (size.max < 0) return sizes_at[i].wrong("is ", size.max, ", expected 0 or more");
    size.min = std::max<std::int64_t>(size.min, 0);
    is_static = is_static && size.min == size.max && strides[i].size.min == strides[i].size.max;
    out.tensor.sizes.push_back(size);
  }
  if (is_static) {
    Pt2Place& place = out.place.emplace();
    for (const EdgeTensor::Size& size : out.tensor.sizes) place.sizes.push_back(size.min);
    for (const Pt2Int& stride : strides) place.strides.push_back(stride.size.min);
    place.offset = offset.size.min;
  }
  const auto size_examples = examples(sizes);
  const auto stride_examples = examples(strides);
  if (!size_examples || !stride_examples) return out;
  if (auto order = dense_order(*size_examples, *stride_examples)) {
    out.tensor.dim_order = std::move(*order);
  } else {
    out.is_dense = false;
  }
  return out;
}

}}}  // namespace tenon::TENON_RELEASE::aot::detail
