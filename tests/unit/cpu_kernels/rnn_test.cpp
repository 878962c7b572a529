// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "kernel_support.hpp"
#include "onednn/packed_weights.hpp"
#include "support/catch.hpp"

using namespace kernel_test;
using namespace tenon::cpu_aoti;

namespace {

struct Layer {
  Handle input, w_input, w_hidden, b_input, b_hidden, hidden, cell;
  std::int64_t size = 0;
};

struct Output {
  Handle y, hidden, cell, workspace;
};

Layer make_layer(Random& source, std::int64_t steps, std::int64_t batch, std::int64_t inputs,
                 std::int64_t size, ScalarType type, bool odd) {
  const std::int64_t gates = 4 * size;
  Layer l;
  l.size = size;
  // Time is not outermost, weights are transposed, states have a third dimension.
  l.input = random(source, {steps, batch, inputs}, type,
                   odd ? Shape{inputs, steps * inputs, 1} : Shape{});
  l.w_input = random(source, {gates, inputs}, type, odd ? Shape{1, gates} : Shape{});
  l.w_hidden = random(source, {gates, size}, type, odd ? Shape{size + 3, 1} : Shape{});
  l.b_input = random(source, {gates}, type);
  l.b_hidden = random(source, {gates}, type, odd ? Shape{2} : Shape{});
  const Shape state = odd ? Shape{1, batch, size} : Shape{batch, size};
  l.hidden = random(source, state, type, odd ? Shape{1, 1, batch} : Shape{});
  l.cell = random(source, state, type);
  return l;
}

struct Arguments {
  bool reverse = false, biases = true;
  std::int64_t mode = 2, layers = 1;
  bool train = false;
};

tenon::aoti::ShimError run(Output& out, const Layer& l, const Arguments& a = {}) {
  return aoti_torch_cpu_mkldnn_rnn_layer(
      l.input.get(), l.w_input.get(), l.w_hidden.get(), l.b_input.get(), l.b_hidden.get(),
      l.hidden.get(), l.cell.get(), a.reverse, nullptr, 0, a.mode, l.size, a.layers, a.biases, 0, 0,
      a.train, out.y.out(), out.hidden.out(), out.cell.out(), out.workspace.out());
}

/// The equations of an LSTM, in double.
void check(const Layer& l, const Arguments& a, const Output& found, double most) {
  const std::int64_t steps = l.input->sizes[0], batch = l.input->sizes[1];
  const std::int64_t inputs = l.input->sizes[2], size = l.size;
  auto hidden = l.hidden.values(), cell = l.cell.values();
  const auto x = l.input.values(), wi = l.w_input.values(), wh = l.w_hidden.values();
  const auto bi = l.b_input.values(), bh = l.b_hidden.values();
  std::vector<double> y(static_cast<std::size_t>(steps * batch * size));
  const auto n = [](std::int64_t i) { return static_cast<std::size_t>(i); };
  const auto sigmoid = [](double v) { return 1 / (1 + std::exp(-v)); };
  for (std::int64_t step = 0; step < steps; ++step) {
    const std::int64_t t = a.reverse ? steps - 1 - step : step;
    const auto before = hidden;
    for (std::int64_t b = 0; b < batch; ++b) {
      for (std::int64_t j = 0; j < size; ++j) {
        double gate[4];
        for (std::int64_t g = 0; g < 4; ++g) {
          const std::int64_t row = g * size + j;
          double sum = a.biases ? bi[n(row)] + bh[n(row)] : 0;
          for (std::int64_t k = 0; k < inputs; ++k) {
            sum += x[n((t * batch + b) * inputs + k)] * wi[n(row * inputs + k)];
          }
          for (std::int64_t k = 0; k < size; ++k) {
            sum += before[n(b * size + k)] * wh[n(row * size + k)];
          }
          gate[g] = sum;
        }
        double& c = cell[n(b * size + j)];
        c = sigmoid(gate[1]) * c + sigmoid(gate[0]) * std::tanh(gate[2]);
        hidden[n(b * size + j)] = sigmoid(gate[3]) * std::tanh(c);
        y[n((t * batch + b) * size + j)] = hidden[n(b * size + j)];
      }
    }
  }
  CHECK(difference(found.y.values(), y, most) == "");
  CHECK(difference(found.hidden.values(), hidden, most) == "");
  CHECK(difference(found.cell.values(), cell, most) == "");
}

}  // namespace

TEST_CASE("mkldnn_rnn_layer: an LSTM in both directions", "[cpu_aoti]") {
  Fixture fixture;
  Random source;
  const std::int64_t shapes[][4] = {{1, 1, 1, 1},   {5, 3, 7, 4},   {4, 1, 20, 33}, {3, 2, 16, 16},
                                    {4, 1, 40, 64}, {3, 7, 50, 48}, {0, 2, 3, 4},   {3, 0, 3, 4}};
  for (const ScalarType type : {ScalarType::Float, ScalarType::BFloat16, ScalarType::Half}) {
    for (const auto& [steps, batch, inputs, size] : shapes) {
      for (int way = 0; way < 8; ++way) {
        const Arguments a{.reverse = way % 2 != 0, .biases = way / 2 % 2 != 0};
        const bool odd = way / 4 != 0;
        const Layer l = make_layer(source, steps, batch, inputs, size, type, odd);
        Output found;
        REQUIRE(run(found, l, a) == 0);
        INFO(tenon::name_of(type) << " " << steps << " steps, size " << size << ", way " << way);
        CHECK(found.y.sizes() == Shape{steps, batch, size});
        CHECK(found.hidden.sizes() == l.hidden.sizes());
        CHECK(found.cell.sizes() == l.cell.sizes());
        CHECK(found.hidden->is_contiguous());
        CHECK(found.workspace->numel == 0);
        check(l, a, found, tolerance(type, 4));
      }
    }
  }
}

TEST_CASE("mkldnn_rnn_layer: weights that nothing writes to are packed once", "[cpu_aoti]") {
  Random source;
  for (const ScalarType type : {ScalarType::Float, ScalarType::BFloat16}) {
    Fixture fixture;
    const Layer l = make_layer(source, 4, 8, 160, 64, type, false);
    for (const Handle* weight : {&l.w_input, &l.w_hidden}) (*weight)->storage->is_fixed = true;
    const auto& packed = fixture.pool.cache<onednn::PackedWeights>();
    std::size_t nbytes = 0;
    for (int run_number = 0; run_number < 2; ++run_number) {
      Output found;
      REQUIRE(run(found, l) == 0);
      check(l, {}, found, tolerance(type, 4));
      if (run_number == 0) nbytes = packed.nbytes();
    }
    if (type == ScalarType::Float) CHECK(nbytes >= l.w_input->nbytes());
    CHECK(packed.nbytes() == nbytes);
  }
}

TEST_CASE("mkldnn_rnn_layer: large sums do not overflow", "[cpu_aoti]") {
  Fixture fixture;
  Random source;
  Layer l = make_layer(source, 2, 1, 1, 2, ScalarType::Float, false);
  for (std::int64_t i = 0; i < 8; ++i) l.b_input.set(i, i % 2 == 0 ? 1e5 : -1e5);
  Output found;
  REQUIRE(run(found, l) == 0);
  check(l, {}, found, 1e-5);
  l.b_input.set(0, std::nan(""));
  Output spoilt;
  REQUIRE(run(spoilt, l) == 0);
  CHECK(std::isnan(spoilt.y.at(0)));
}

TEST_CASE("mkldnn_rnn_layer: refusals, and no memory in a second call", "[cpu_aoti]") {
  Fixture fixture;
  Random source;
  Layer l = make_layer(source, 5, 2, 6, 3, ScalarType::BFloat16, true);
  Output out;
  const auto failure = [&] { return fixture.pool.take_failure(); };
  CHECK(run(out, l, {.mode = 3}) == 1);
  CHECK_THAT(failure(), ContainsSubstring("mkldnn_rnn_layer: mode 3: expected 2, an LSTM"));
  CHECK(run(out, l, {.layers = 2}) == 1);
  CHECK_THAT(failure(), ContainsSubstring("num_layers 2, bidirectional false"));
  CHECK(run(out, l, {.train = true}) == 1);
  CHECK_THAT(failure(), ContainsSubstring("train true"));
  std::size_t before = 0;
  for (int i = 0; i < 2; ++i) {
    Output found;
    before = allocations();
    REQUIRE(run(found, l) == 0);
  }
  CHECK(allocations() == before);
  Layer other = make_layer(source, 5, 2, 6, 3, ScalarType::BFloat16, false);
  std::swap(other.w_hidden, other.w_input);
  CHECK(run(out, other) == 1);
  CHECK_THAT(failure(), ContainsSubstring("an input weight [12, 3]: expected [12, 6]"));
  Layer mixed = make_layer(source, 5, 2, 6, 3, ScalarType::Float, false);
  std::swap(mixed.b_input, l.b_input);
  CHECK(run(out, mixed) == 1);
  CHECK_THAT(failure(), ContainsSubstring("an argument of BFloat16: expected the type"));
  Layer wide = make_layer(source, 5, 2, 6, 3, ScalarType::Double, false);
  CHECK(run(out, wide) == 1);
  CHECK_THAT(failure(), ContainsSubstring("an LSTM of Double"));
}
