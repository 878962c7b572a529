// SPDX-License-Identifier: MIT
//
// LSTM as one operation a layer. PyTorch keeps the gates in the order input, forget, cell, output;
// OpenVINO in the order forget, input, cell, output.
#include <array>
#include <cstring>
#include <span>

#include "aot/operators.hpp"

namespace openvino_backend {

namespace {

/// The tensors of a layer in one direction.
struct Direction {
  ValueId input_weight = tenon::aot::no_value;
  ValueId hidden_weight = tenon::aot::no_value;
  ValueId input_bias = tenon::aot::no_value;
  ValueId hidden_bias = tenon::aot::no_value;
};

struct Lstm {
  std::int64_t hidden = 0;
  std::int64_t num_layers = 0;
  std::int64_t num_directions = 1;
  bool has_biases = false;
  std::vector<Direction> directions;  ///< Layer by layer, forward first.
};

Result<Lstm> read(const Call& call) {
  Lstm out;
  TENON_TRY(const bool train, call.boolean("train", false));
  TENON_TRY(const double dropout, call.number("dropout", 0));
  if (train && dropout != 0) {
    return error(Error::NotSupported, "it drops elements at random (train=True)");
  }
  TENON_TRY(const bool bidirectional, call.boolean("bidirectional", false));
  out.num_directions = bidirectional ? 2 : 1;
  TENON_TRY(out.num_layers, call.integer("num_layers"));
  TENON_TRY(out.has_biases, call.boolean("has_biases", true));
  TENON_TRY(const auto params, call.tensors("params"));
  const std::size_t each = out.has_biases ? 4 : 2;
  if (out.num_layers < 1 ||
      params.size() != each * static_cast<std::size_t>(out.num_layers * out.num_directions)) {
    return call.refuse_argument(
        "params",
        tenon::concat(each, " tensors for each of ", out.num_layers, " layers in ",
                      out.num_directions, " directions (projections are not supported)"),
        tenon::concat(params.size()));
  }
  for (std::size_t i = 0; i < params.size(); i += each) {
    Direction one{params[i], params[i + 1]};
    if (out.has_biases) {
      one.input_bias = params[i + 2];
      one.hidden_bias = params[i + 3];
    }
    out.directions.push_back(one);
  }
  const auto& program = call.program();
  for (std::size_t i = 0; i < params.size(); ++i) {
    const EdgeValue value = program.value(params[i]);
    const bool is_bias = i % each >= 2;
    if (value.scalar_type() != ScalarType::Float || value.rank() != (is_bias ? 1U : 2U) ||
        !value.is_static()) {
      return error(Error::NotSupported, "value '", value.name(),
                   "': expected a weight of dtype Float and fixed sizes");
    }
    if (i == 1) out.hidden = value.size(1).max;
  }
  for (const ValueId id : params) {
    const EdgeValue value = program.value(id);
    if (out.hidden < 1 || value.size(0).max != 4 * out.hidden) {
      return error(Error::NotSupported, "value '", value.name(), "': expected four gates of ",
                   out.hidden, ", found ", value.size(0).max);
    }
  }
  return out;
}

/// Appends the gates of a weight or bias in OpenVINO's order.
void append_gates(std::vector<std::byte>& out, tenon::Bytes data) {
  const std::size_t gate = data.size() / 4;
  for (const std::size_t from : {1U, 0U, 2U, 3U}) {
    const auto part = data.subspan(from * gate, gate);
    out.insert(out.end(), part.begin(), part.end());
  }
}

Result<std::vector<std::byte>> summed(const IrBuilder& builder, const Direction& one) {
  TENON_TRY(const tenon::Bytes a, builder.data(one.input_bias));
  TENON_TRY(const tenon::Bytes b, builder.data(one.hidden_bias));
  std::vector<float> sum(std::min(a.size(), b.size()) / sizeof(float));
  std::vector<float> other(sum.size());
  if (!sum.empty()) {
    std::memcpy(sum.data(), a.data(), sum.size() * sizeof(float));
    std::memcpy(other.data(), b.data(), other.size() * sizeof(float));
  }
  for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += other[i];
  const auto bytes = std::as_bytes(std::span(sum));
  return std::vector<std::byte>(bytes.begin(), bytes.end());
}

struct Weights {
  Output input;   ///< [directions, 4 * hidden, inputs]
  Output hidden;  ///< [directions, 4 * hidden, hidden]
  Output bias;    ///< [directions, 4 * hidden]
};

Result<Weights> weights_of(const Call& call, const Lstm& lstm, std::size_t layer) {
  IrBuilder& builder = call.builder();
  const auto count = static_cast<std::size_t>(lstm.num_directions);
  std::vector<std::byte> input, hidden, bias;
  std::int64_t num_inputs = 0;
  std::string_view name;
  for (std::size_t i = 0; i < count; ++i) {
    const Direction& one = lstm.directions[layer * count + i];
    TENON_TRY(const tenon::Bytes input_data, builder.data(one.input_weight));
    TENON_TRY(const tenon::Bytes hidden_data, builder.data(one.hidden_weight));
    append_gates(input, input_data);
    append_gates(hidden, hidden_data);
    if (lstm.has_biases) {
      TENON_TRY(const auto sum, summed(builder, one));
      append_gates(bias, sum);
    } else {
      bias.resize(bias.size() + static_cast<std::size_t>(4 * lstm.hidden) * sizeof(float));
    }
    const EdgeValue value = builder.program().value(one.input_weight);
    const std::int64_t found = value.size(1).max;
    if (i > 0 && found != num_inputs) {
      return error(Error::NotSupported, "directions read ", num_inputs, " and ", found,
                   " features");
    }
    num_inputs = found;
    name = value.fqn();
  }
  const std::int64_t gates = 4 * lstm.hidden;
  const std::array<std::int64_t, 3> input_sizes = {lstm.num_directions, gates, num_inputs};
  const std::array<std::int64_t, 3> hidden_sizes = {lstm.num_directions, gates, lstm.hidden};
  const std::array<std::int64_t, 2> bias_sizes = {lstm.num_directions, gates};
  const auto constant = [&](std::string_view what, std::span<const std::int64_t> sizes,
                            const std::vector<std::byte>& bytes) {
    return builder.constant(tenon::concat(name, what), ScalarType::Float, sizes, bytes);
  };
  return Weights{constant("/gates", input_sizes, input),
                 constant("/hidden_gates", hidden_sizes, hidden),
                 constant("/bias_gates", bias_sizes, bias)};
}

Output transposed(IrBuilder& builder, Output x, std::initializer_list<std::int64_t> dims) {
  return builder.add({.type = "Transpose", .inputs = {x, builder.integers(dims)}});
}

/// Every sequence of the batch has the full length.
Output lengths_of(IrBuilder& builder, Output x) {
  const Output shape = builder.add({.type = "ShapeOf",
                                    .opset = "opset3",
                                    .inputs = {x},
                                    .attributes = {{"output_type", "i64"}},
                                    .dtype = ScalarType::Long});
  const auto size = [&](Output index) {
    return builder.add({.type = "Gather",
                        .opset = "opset8",
                        .inputs = {shape, index, builder.integer(0)},
                        .attributes = {{"batch_dims", "0"}},
                        .dtype = ScalarType::Long});
  };
  return builder.add({.type = "Broadcast",
                      .opset = "opset3",
                      .inputs = {size(builder.integer(1)), size(builder.integers({0}))},
                      .attributes = {{"mode", "numpy"}},
                      .dtype = ScalarType::Long});
}

/// The states of one layer, [batch, directions, hidden], out of the states of all layers.
Output state_of(IrBuilder& builder, Output states, const Lstm& lstm, std::int64_t layer) {
  const std::int64_t begin = layer * lstm.num_directions;
  const Output part = builder.add({.type = "Slice",
                                   .opset = "opset8",
                                   .inputs = {states, builder.integers({begin}),
                                              builder.integers({begin + lstm.num_directions}),
                                              builder.integers({1}), builder.integers({0})}});
  return transposed(builder, part, {1, 0, 2});
}

Output joined(IrBuilder& builder, std::vector<Output> states) {
  return builder.add(
      {.type = "Concat", .inputs = std::move(states), .attributes = {{"axis", "0"}}});
}

Status lstm(const Call& call) {
  IrBuilder& builder = call.builder();
  TENON_TRY(const Lstm lstm, read(call));
  TENON_TRY(const EdgeValue described, call.described("input"));
  TENON_TRY(const auto initial, call.tensors("hx"));
  if (described.rank() != 3 || initial.size() != 2 || call.node().outputs().size() != 3) {
    return error(Error::NotSupported,
                 "expected batches of sequences (rank 3) and two initial states, found rank ",
                 described.rank(), " and ", initial.size(), " states");
  }
  TENON_TRY(const bool batch_first, call.boolean("batch_first", false));
  TENON_TRY(Output x, call.tensor("input"));
  TENON_TRY(const Output h, builder.tensor(initial[0]));
  TENON_TRY(const Output c, builder.tensor(initial[1]));
  if (!batch_first) x = transposed(builder, x, {1, 0, 2});
  const Output lengths = lengths_of(builder, x);
  std::vector<Output> last_h, last_c;
  for (std::int64_t layer = 0; layer < lstm.num_layers; ++layer) {
    TENON_TRY(const Weights weights, weights_of(call, lstm, static_cast<std::size_t>(layer)));
    const Output sequence = builder.add(
        {.type = "LSTMSequence",
         .opset = "opset5",
         .inputs = {x, state_of(builder, h, lstm, layer), state_of(builder, c, lstm, layer),
                    lengths, weights.input, weights.hidden, weights.bias},
         .attributes = {{"direction", lstm.num_directions == 2 ? "bidirectional" : "forward"},
                        {"hidden_size", tenon::concat(lstm.hidden)},
                        {"activations", "sigmoid,tanh,tanh"}},
         .num_outputs = 3});
    last_h.push_back(transposed(builder, {sequence.layer, 1}, {1, 0, 2}));
    last_c.push_back(transposed(builder, {sequence.layer, 2}, {1, 0, 2}));
    // [batch, directions, steps, hidden] to [batch, steps, directions * hidden].
    const Output steps = transposed(builder, {sequence.layer, 0}, {0, 2, 1, 3});
    x = builder.add({.type = "Reshape",
                     .inputs = {steps, builder.integers({0, 0, lstm.num_directions * lstm.hidden})},
                     .attributes = {{"special_zero", "true"}}});
  }
  if (!batch_first) x = transposed(builder, x, {1, 0, 2});
  TENON_RETURN_IF_ERROR(call.finish(x, 0));
  TENON_RETURN_IF_ERROR(call.finish(joined(builder, std::move(last_h)), 1));
  return call.finish(joined(builder, std::move(last_c)), 2);
}

constexpr OperatorRow recurrent_rows[] = {
    {"aten.lstm.input", &lstm, Elements::Floats, Reads::Elements, true},
};

}  // namespace

std::span<const OperatorRow> recurrent_operators() noexcept { return recurrent_rows; }

}  // namespace openvino_backend
