// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/aot/edge_program_builder.hpp"
#include "tenon/aot/owned_edge_program.hpp"
#include "tenon/aot/shared_bytes.hpp"
#include "tenon/core/result.hpp"

/// Programs that every compiler of float32 may be given, and what they compute.
namespace tenon::conformance {

/// One run: the number of rows, which is what changes in a program with a dynamic size, the
/// elements of each input, and those of the output as PyTorch would compute them.
struct SmallRun {
  std::int64_t rows = 0;
  std::vector<std::vector<float>> inputs;
  std::vector<float> expected;
};

/// A program with one output. Inputs and output have two dimensions; all inputs have one shape.
struct SmallProgram {
  std::string name;
  aot::OwnedEdgeProgram program;
  std::int64_t input_columns = 0;
  std::int64_t output_columns = 0;
  std::vector<SmallRun> runs;
};

namespace detail {

inline constexpr std::int64_t small_columns = 3;
inline constexpr std::int64_t small_outputs = 4;

/// Numbers between -2 and 2 that float32 holds exactly.
inline std::vector<float> small_numbers(std::int64_t count, std::size_t salt) {
  std::vector<float> out;
  for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
    out.push_back(static_cast<float>((i * 7 + salt * 5) % 17) * 0.25f - 2.0f);
  }
  return out;
}

/// out[i, j] = bias[j] + sum over k of a[i, k] * weight[k, j]; `bias` may be empty.
inline std::vector<float> matrix_product(std::span<const float> a, std::span<const float> weight,
                                         std::span<const float> bias) {
  constexpr auto inner = static_cast<std::size_t>(small_columns);
  constexpr auto columns = static_cast<std::size_t>(small_outputs);
  std::vector<float> out(a.size() / inner * columns);
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i] = bias.empty() ? 0.0f : bias[i % columns];
    for (std::size_t k = 0; k < inner; ++k) {
      out[i] += a[i / columns * inner + k] * weight[k * columns + i % columns];
    }
  }
  return out;
}

inline std::vector<float> softmax_of_rows(std::span<const float> a) {
  constexpr auto columns = static_cast<std::size_t>(small_columns);
  std::vector<float> out(a.begin(), a.end());
  for (std::size_t row = 0; row < out.size(); row += columns) {
    const std::span<float> part(out.data() + row, columns);
    float sum = 0.0f;
    for (float& value : part) sum += value = std::exp(value);
    for (float& value : part) value /= sum;
  }
  return out;
}

/// Makes the programs, each with inputs and parameters of names that no text has by chance.
class SmallProgramMaker {
 public:
  using Arguments = std::vector<aot::EdgeProgramBuilder::Argument>;

  /// `rows` is the first size; with other numbers than one it is dynamic, up to the largest.
  SmallProgramMaker(std::string name, std::size_t num_inputs, std::vector<std::int64_t> rows)
      : name_(std::move(name)), rows_(std::move(rows)) {
    for (std::size_t i = 0; i < num_inputs; ++i) {
      inputs_.push_back(graph_.user_input(concat("kit_input_", i), tensor(small_columns)));
    }
  }

  [[nodiscard]] aot::EdgeRef input(std::size_t index) const { return {inputs_[index]}; }
  /// Of `rows` x `small_outputs`, or of `small_outputs` alone.
  [[nodiscard]] aot::EdgeRef parameter(std::string_view name, std::int64_t rows,
                                       const std::vector<float>& values) {
    aot::EdgeTensor shape{ScalarType::Float, {}};
    if (rows != 0) shape.sizes.emplace_back(rows);
    shape.sizes.emplace_back(small_outputs);
    return {graph_.stored(aot::EdgeOrigin::Parameter, concat("kit_p_", name), name, shape,
                          aot::SharedBytes::copy_of(std::as_bytes(std::span(values))))};
  }
  /// The result has `columns` columns; its node is named `node`.
  [[nodiscard]] aot::EdgeRef call(std::string_view target, const Arguments& arguments,
                                  std::int64_t columns, std::string_view node) {
    return {graph_.node(target, arguments, tensor(columns), node)};
  }

  /// `compute(inputs)` gives the elements of the output for the elements of the inputs.
  template <class Compute>
  [[nodiscard]] SmallProgram make(aot::EdgeRef output, std::int64_t columns,
                                  const Compute& compute) && {
    graph_.user_output(output.id);
    std::vector<SmallRun> runs;
    for (const std::int64_t rows : rows_) {
      SmallRun run{rows, {}, {}};
      for (std::size_t i = 0; i < inputs_.size(); ++i) {
        run.inputs.push_back(small_numbers(rows * small_columns, i + 1));
      }
      run.expected = compute(run.inputs);
      runs.push_back(std::move(run));
    }
    auto built = std::move(graph_).build();
    return {std::move(name_), *std::move(built), small_columns, columns, std::move(runs)};
  }

 private:
  [[nodiscard]] aot::EdgeTensor tensor(std::int64_t columns) const {
    const std::int64_t most = *std::ranges::max_element(rows_);
    aot::EdgeTensor out{ScalarType::Float, {}};
    if (rows_.size() == 1) {
      out.sizes.emplace_back(most);
    } else {
      out.sizes.emplace_back(std::int64_t{1}, most, "s0");
    }
    out.sizes.emplace_back(columns);
    return out;
  }

  std::string name_;
  std::vector<std::int64_t> rows_;
  aot::EdgeProgramBuilder graph_;
  std::vector<aot::ValueId> inputs_;
};

using SmallInputs = std::vector<std::vector<float>>;

inline SmallProgram small_add(std::string name, std::vector<std::int64_t> rows) {
  SmallProgramMaker make(std::move(name), 2, std::move(rows));
  const auto out = make.call("aten.add.Tensor", {{"self", make.input(0)}, {"other", make.input(1)}},
                             small_columns, "kit_add");
  return std::move(make).make(out, small_columns, [](const SmallInputs& inputs) {
    std::vector<float> sums = inputs[0];
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += inputs[1][i];
    return sums;
  });
}

inline SmallProgram small_relu_of_product() {
  SmallProgramMaker make("relu of a product of elements", 2, {2});
  const auto product =
      make.call("aten.mul.Tensor", {{"self", make.input(0)}, {"other", make.input(1)}},
                small_columns, "kit_mul");
  const auto out = make.call("aten.relu.default", {{"self", product}}, small_columns, "kit_relu");
  return std::move(make).make(out, small_columns, [](const SmallInputs& inputs) {
    std::vector<float> values = inputs[0];
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = std::max(values[i] * inputs[1][i], 0.0f);
    }
    return values;
  });
}

inline SmallProgram small_mm() {
  SmallProgramMaker make("mm", 1, {2});
  const auto weight = small_numbers(small_columns * small_outputs, 3);
  const auto out = make.call(
      "aten.mm.default",
      {{"self", make.input(0)}, {"mat2", make.parameter("weight", small_columns, weight)}},
      small_outputs, "kit_mm");
  return std::move(make).make(out, small_outputs, [&](const SmallInputs& inputs) {
    return matrix_product(inputs[0], weight, {});
  });
}

inline SmallProgram small_addmm(std::string name, std::vector<std::int64_t> rows) {
  SmallProgramMaker make(std::move(name), 1, std::move(rows));
  const auto weight = small_numbers(small_columns * small_outputs, 3);
  const auto bias = small_numbers(small_outputs, 4);
  const auto out = make.call("aten.addmm.default",
                             {{"self", make.parameter("bias", 0, bias)},
                              {"mat1", make.input(0)},
                              {"mat2", make.parameter("weight", small_columns, weight)}},
                             small_outputs, "kit_addmm");
  return std::move(make).make(out, small_outputs, [&](const SmallInputs& inputs) {
    return matrix_product(inputs[0], weight, bias);
  });
}

inline SmallProgram small_softmax() {
  SmallProgramMaker make("softmax", 1, {2});
  const auto out =
      make.call("aten._softmax.default",
                {{"self", make.input(0)}, {"dim", std::int64_t{-1}}, {"half_to_float", false}},
                small_columns, "kit_softmax");
  return std::move(make).make(out, small_columns,
                              [](const SmallInputs& inputs) { return softmax_of_rows(inputs[0]); });
}

}  // namespace detail

/// Programs of element-wise operators, products of matrices and softmax; with static sizes and with
/// a first size that changes.
[[nodiscard]] inline std::vector<SmallProgram> small_programs() {
  std::vector<SmallProgram> out;
  out.push_back(detail::small_add("add", {2}));
  out.push_back(detail::small_add("add of changing sizes", {4, 1, 3}));
  out.push_back(detail::small_relu_of_product());
  out.push_back(detail::small_mm());
  out.push_back(detail::small_addmm("addmm", {2}));
  out.push_back(detail::small_addmm("addmm of changing sizes", {4, 1, 3}));
  out.push_back(detail::small_softmax());
  return out;
}

/// An operator that no backend can know, alone. Its node is "kit_unknown".
[[nodiscard]] inline aot::OwnedEdgeProgram unknown_operator() {
  detail::SmallProgramMaker make("unknown", 1, {2});
  const auto out = make.call("tenon_conformance.nobody_has_this.default", {{"self", make.input(0)}},
                             detail::small_columns, "kit_unknown");
  return std::move(make)
      .make(out, detail::small_columns, [](const auto& inputs) { return inputs[0]; })
      .program;
}

/// The same between two additions, which some backend may take.
[[nodiscard]] inline aot::OwnedEdgeProgram unknown_between_additions() {
  detail::SmallProgramMaker make("unknown between additions", 2, {2});
  const auto add = [&](aot::EdgeRef a, aot::EdgeRef b, std::string_view node) {
    return make.call("aten.add.Tensor", {{"self", a}, {"other", b}}, detail::small_columns, node);
  };
  const auto first = add(make.input(0), make.input(1), "kit_add");
  const auto unknown = make.call("tenon_conformance.nobody_has_this.default", {{"self", first}},
                                 detail::small_columns, "kit_unknown");
  const auto last = add(unknown, first, "kit_add_1");
  return std::move(make)
      .make(last, detail::small_columns, [](const auto& inputs) { return inputs[0]; })
      .program;
}

}  // namespace tenon::conformance
