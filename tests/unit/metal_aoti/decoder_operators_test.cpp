// SPDX-License-Identifier: MIT
//
// Products with weights of 4 bits and the gated delta rule, compared with the arithmetic of the
// operators' Python definitions in double.
#include <algorithm>
#include <cmath>
#include <vector>

#include "device.hpp"
#include "stand_in_device.hpp"

using namespace metal_test;
using namespace tenon::metal_aoti;
using tenon::metal_stand_in::control;

namespace {

constexpr ScalarType dtypes[] = {ScalarType::Float, ScalarType::Half, ScalarType::BFloat16};

/// The largest difference that rounding explains, relative to the result and to 1.
bool is_near(double found, double expected, ScalarType type) {
  const double relative = type == ScalarType::Float ? 1e-5 : type == ScalarType::Half ? 2e-3 : 1e-2;
  return std::abs(found - expected) <= relative * std::max(1.0, std::abs(expected));
}

/// Matrices of `columns` rows with weights of 4 bits, and activations.
struct Quantized {
  Quantized(Bench& bench, ScalarType type, std::int64_t experts, std::int64_t num_columns,
            std::int64_t num_inner, std::int64_t size, std::int64_t rows)
      : columns(num_columns),
        inner(num_inner),
        group_size(size),
        groups((num_inner + size - 1) / size),
        x(bench.random({rows, num_inner}, type)),
        weight(bench.empty(shape(experts, num_inner / 2), ScalarType::Byte)),
        scales(bench.random(shape(experts, groups), type)),
        biases(bench.random(shape(experts, groups), type)) {
    for (std::int64_t i = 0; i < weight->numel; ++i) {
      weight.set(i, static_cast<double>((i * 37 + i / 11) % 256));
    }
  }
  [[nodiscard]] Shape shape(std::int64_t experts, std::int64_t last) const {
    return experts == 0 ? Shape{columns, last} : Shape{experts, columns, last};
  }
  [[nodiscard]] double expected(std::int64_t row, std::int64_t expert, std::int64_t column) const {
    double out = 0;
    const std::int64_t weight_row = expert * columns + column;
    for (std::int64_t i = 0; i < inner; ++i) {
      const int pair = static_cast<int>(weight.at(weight_row * (inner / 2) + i / 2));
      const int q = i % 2 == 0 ? pair & 15 : pair >> 4;
      const std::int64_t group = weight_row * groups + i / group_size;
      out += x.at(row * inner + i) * (scales.at(group) * q + biases.at(group));
    }
    return out;
  }

  std::int64_t columns, inner, group_size, groups;
  Handle x, weight, scales, biases;
};

std::string refusal(Bench& bench, ShimError result, const Handle& out) {
  CHECK(result != 0);
  CHECK(out.get() == nullptr);
  return bench.pool().take_failure();
}

}  // namespace

TEST_CASE("products with weights of 4 bits: each dtype and group size", "[metal]") {
  Bench bench;
  for (const ScalarType type : dtypes) {
    for (const std::int64_t group_size : {32, 64, 128, 256}) {
      // Fewer columns than a simdgroup reads at once, more, a last group that is shorter, one row.
      for (const std::int64_t inner : {group_size, 3 * group_size, 2 * group_size + 8}) {
        const std::int64_t rows = inner == group_size ? 1 : 3, columns = 5;
        const Quantized matrix(bench, type, 0, columns, inner, group_size, rows);
        Handle out;
        REQUIRE(aoti_torch_mps__linear_fp_act_4bit_weight(matrix.x.get(), matrix.weight.get(),
                                                          group_size, matrix.scales.get(),
                                                          matrix.biases.get(), out.out()) == 0);
        REQUIRE(bench.wait().empty());
        CHECK(out->scalar_type == type);
        REQUIRE(out->shape().size() == 2);
        INFO(name_of(type) << ", groups of " << group_size << ", " << inner << " columns");
        for (std::int64_t i = 0; i < rows * columns; ++i) {
          CHECK(is_near(out.at(i), matrix.expected(i / columns, 0, i % columns), type));
        }
      }
    }
  }
}

TEST_CASE("the low half of a byte is the first weight", "[metal]") {
  Bench bench;
  Quantized matrix(bench, ScalarType::Float, 0, 1, 32, 32, 1);
  for (std::int64_t i = 0; i < 32; ++i) matrix.x.set(i, i == 0 ? 1 : i == 1 ? 100 : 0);
  for (std::int64_t i = 0; i < 16; ++i) matrix.weight.set(i, 0xff);
  matrix.weight.set(0, 0x72);
  matrix.scales.set(0, 1);
  matrix.biases.set(0, 0);
  Handle out;
  REQUIRE(aoti_torch_mps__linear_fp_act_4bit_weight(matrix.x.get(), matrix.weight.get(), 32,
                                                    matrix.scales.get(), matrix.biases.get(),
                                                    out.out()) == 0);
  REQUIRE(bench.wait().empty());
  CHECK(out.at(0) == 702);
}

TEST_CASE("each row has the matrix that its index names; no such matrix gives NaN", "[metal]") {
  Bench bench;
  const std::int64_t experts = 3, columns = 6, inner = 64, group_size = 32, rows = 6;
  const std::int64_t named[rows] = {2, 0, -1, 1, experts, 2};
  for (const ScalarType type : dtypes) {
    const Quantized matrices(bench, type, experts, columns, inner, group_size, rows);
    for (const ScalarType index_type : {ScalarType::Int, ScalarType::Long}) {
      INFO(name_of(type) << ", indices of dtype " << name_of(index_type));
      // Every second element of a tensor.
      const Handle indices = bench.empty({rows}, index_type, {2});
      for (std::int64_t i = 0; i < rows; ++i) {
        if (index_type == ScalarType::Int) {
          indices->as<std::int32_t>()[2 * i] = static_cast<std::int32_t>(named[i]);
        } else {
          indices->as<std::int64_t>()[2 * i] = named[i];
        }
      }
      Handle out;
      REQUIRE(aoti_torch_mps_gather_qmv(matrices.x.get(), matrices.weight.get(),
                                        matrices.scales.get(), matrices.biases.get(), indices.get(),
                                        group_size, out.out()) == 0);
      REQUIRE(bench.wait().empty());
      for (std::int64_t i = 0; i < rows * columns; ++i) {
        const std::int64_t expert = named[i / columns];
        if (expert < 0 || expert >= experts) {
          CHECK(std::isnan(out.at(i)));
        } else {
          CHECK(is_near(out.at(i), matrices.expected(i / columns, expert, i % columns), type));
        }
      }
    }
  }
}

TEST_CASE("a product with weights of 4 bits takes activations of any strides, and none",
          "[metal]") {
  Bench bench;
  Quantized matrix(bench, ScalarType::Float, 0, 4, 40, 32, 2);
  const Handle strided = bench.empty({2, 40}, ScalarType::Float, {1, 2});
  for (std::int64_t i = 0; i < 80; ++i) {
    strided->as<float>()[i % 40 * 2 + i / 40] = matrix.x->as<float>()[i];
  }
  Handle out, none;
  REQUIRE(aoti_torch_mps__linear_fp_act_4bit_weight(strided.get(), matrix.weight.get(), 32,
                                                    matrix.scales.get(), matrix.biases.get(),
                                                    out.out()) == 0);
  const Handle empty = bench.empty({0, 40});
  REQUIRE(aoti_torch_mps__linear_fp_act_4bit_weight(empty.get(), matrix.weight.get(), 32,
                                                    matrix.scales.get(), matrix.biases.get(),
                                                    none.out()) == 0);
  CHECK(none->numel == 0);
  REQUIRE(bench.wait().empty());
  for (std::int64_t i = 0; i < 8; ++i) {
    CHECK(is_near(out.at(i), matrix.expected(i / 4, 0, i % 4), ScalarType::Float));
  }
}

TEST_CASE("products with weights of 4 bits refuse what they are not for", "[metal]") {
  Bench bench;
  const Quantized good(bench, ScalarType::Float, 2, 4, 64, 32, 3);
  const Handle indices = bench.empty({3}, ScalarType::Long);
  struct Wrong {
    ModelTensor *x, *weight, *scales, *biases, *indices;
    std::int64_t group_size;
    const char* text;
  };
  const Handle odd = bench.empty({3, 60});
  const Handle narrow = bench.empty({3, 32});
  const Handle integers = bench.empty({3, 64}, ScalarType::Long);
  const Handle other = bench.empty({2, 4, 2}, ScalarType::Half);
  const Handle few = bench.empty({2, 4, 1});
  const Handle turned = bench.empty({2, 4, 32}, ScalarType::Byte, {128, 1, 4});
  const Handle flat = bench.empty({8, 32}, ScalarType::Byte);
  const Handle floats = bench.empty({2, 4, 32});
  const Handle two = bench.empty({2}, ScalarType::Long);
  const Handle bytes = bench.empty({3}, ScalarType::Byte);
  const Handle whole = bench.empty({2, 4, 2}, ScalarType::Long);
  ModelTensor *const x = good.x.get(), *const w = good.weight.get(), *const s = good.scales.get(),
                     *const b = good.biases.get(), *const i = indices.get();
  for (const Wrong& wrong :
       {Wrong{nullptr, w, s, b, i, 32, "x is null"},
        Wrong{x, nullptr, s, b, i, 32, "weight is null"},
        Wrong{x, w, nullptr, b, i, 32, "scales is null"},
        Wrong{x, w, s, nullptr, i, 32, "biases is null"},
        Wrong{x, w, s, b, nullptr, 32, "indices is null"},
        Wrong{x, w, s, b, i, 0, "group_size: expected 32, 64, 128 or 256, found 0"},
        Wrong{x, w, s, b, i, 48, "found 48"},
        Wrong{x, w, s, b, i, 64, "scales: expected [2, 4, 1], found [2, 4, 2]"},
        Wrong{odd.get(), w, s, b, i, 32, "expected a multiple of 8 columns, found [3, 60]"},
        Wrong{narrow.get(), w, s, b, i, 32, "weight: expected [2, 4, 16], found [2, 4, 32]"},
        Wrong{w, w, s, b, i, 32, "x: expected rank 2"},
        Wrong{x, flat.get(), s, b, i, 32, "weight: expected rank 3, found [8, 32]"},
        Wrong{x, floats.get(), s, b, i, 32, "weight: expected dtype Byte, found Float"},
        Wrong{x, turned.get(), s, b, i, 32, "weight: expected a contiguous tensor"},
        Wrong{x, w, other.get(), b, i, 32, "scales: expected dtype Float"},
        Wrong{x, w, s, other.get(), i, 32, "biases: expected dtype Float"},
        Wrong{x, w, s, few.get(), i, 32, "biases: expected [2, 4, 2], found [2, 4, 1]"},
        Wrong{x, w, s, b, two.get(), 32, "indices: expected [3], found [2]"},
        Wrong{x, w, s, b, bytes.get(), 32, "expected dtype Int or Long, found Byte"},
        Wrong{integers.get(), w, whole.get(), whole.get(), i, 32, "dtype Long"}}) {
    Handle out;
    const auto result = aoti_torch_mps_gather_qmv(wrong.x, wrong.weight, wrong.scales, wrong.biases,
                                                  wrong.indices, wrong.group_size, out.out());
    const std::string text = refusal(bench, result, out);
    CHECK_THAT(text, ContainsSubstring("aoti_torch_mps_gather_qmv: "));
    CHECK_THAT(text, ContainsSubstring(wrong.text));
  }
  Handle out;
  const auto result = aoti_torch_mps__linear_fp_act_4bit_weight(x, w, 32, s, b, out.out());
  CHECK_THAT(refusal(bench, result, out),
             ContainsSubstring("aoti_torch_mps__linear_fp_act_4bit_weight: weight: expected "
                               "rank 2, found [2, 4, 32]"));
}

namespace {

/// q, k and v of two batches and the rest of a gated delta rule.
struct Rule {
  Rule(Bench& bench, ScalarType type, ScalarType kept, std::int64_t num_keys,
       std::int64_t key_heads, std::int64_t num_steps)
      : steps(num_steps),
        shared_heads(key_heads),
        keys(num_keys),
        q(bench.random({batches, steps, key_heads, keys}, type)),
        // Heads before steps in memory.
        k(bench.random({batches, steps, key_heads, keys}, type,
                       {key_heads * steps * keys, keys, steps * keys, 1})),
        v(bench.random({batches, steps, heads, values}, type)),
        g(bench.random({batches, steps, heads}, kept)),
        beta(bench.random({batches, steps, heads}, kept)),
        state(bench.random({batches, heads, values, keys}, kept)) {
    // Decay is between 0 and 1, and keys are about as long as normalised ones.
    for (std::int64_t i = 0; i < g->numel; ++i) g.set(i, std::abs(g.at(i)));
    const double length = std::sqrt(static_cast<double>(keys));
    for (std::int64_t i = 0; i < k->numel; ++i) k.set(i, k.at(i) / length);
    for (std::int64_t i = 0; i < state->numel; ++i) rows.push_back(state.at(i));
  }

  /// Does all steps on `rows`, which began as the state; the outputs.
  std::vector<double> run() {
    std::vector<double> out(static_cast<std::size_t>(v->numel));
    for (std::int64_t b = 0; b < batches; ++b) {
      for (std::int64_t t = 0; t < steps; ++t) {
        for (std::int64_t n = 0; n < heads * values; ++n) {
          const std::int64_t head = n / values, gate = (b * steps + t) * heads + head;
          double* const row = &rows[static_cast<std::size_t>((b * heads * values + n) * keys)];
          const std::int64_t key =
              ((b * steps + t) * shared_heads + head / (heads / shared_heads)) * keys;
          double known = 0;
          for (std::int64_t i = 0; i < keys; ++i) known += (row[i] *= g.at(gate)) * k.at(key + i);
          const std::int64_t place = (b * steps + t) * heads * values + n;
          const double change = (v.at(place) - known) * beta.at(gate);
          for (std::int64_t i = 0; i < keys; ++i) {
            row[i] += k.at(key + i) * change;
            out[static_cast<std::size_t>(place)] += row[i] * q.at(key + i);
          }
        }
      }
    }
    return out;
  }

  static constexpr std::int64_t batches = 2, heads = 4, values = 3;
  std::int64_t steps, shared_heads, keys;
  Handle q, k, v, g, beta, state;
  std::vector<double> rows;
};

}  // namespace

TEST_CASE("the gated delta rule: dtypes, shared heads, one step and several, any length",
          "[metal]") {
  Bench bench;
  struct Case {
    std::int64_t keys, key_heads, steps;
  };
  for (const ScalarType type : dtypes) {
    for (const ScalarType kept : {type, ScalarType::Float}) {
      for (const Case& c : {Case{64, 4, 2}, Case{32, 2, 1}, Case{45, 1, 5}, Case{7, 4, 3}}) {
        Rule rule(bench, type, kept, c.keys, c.key_heads, c.steps);
        INFO(name_of(type) << " and " << name_of(kept) << ", " << c.keys << " keys, " << c.key_heads
                           << " heads, " << c.steps << " steps");
        const std::vector<double> expected = rule.run();
        Handle out;
        REQUIRE(aoti_torch_mps_gated_delta_rule(rule.q.get(), rule.k.get(), rule.v.get(),
                                                rule.g.get(), rule.beta.get(), rule.state.get(),
                                                out.out()) == 0);
        REQUIRE(bench.wait().empty());
        CHECK(out->scalar_type == type);
        for (std::size_t i = 0; i < expected.size(); ++i) {
          CHECK(is_near(out.at(static_cast<std::int64_t>(i)), expected[i], type));
        }
        for (std::size_t i = 0; i < rule.rows.size(); ++i) {
          CHECK(is_near(rule.state.at(static_cast<std::int64_t>(i)), rule.rows[i], kept));
        }
      }
    }
  }
}

TEST_CASE("a gated delta rule without steps leaves the state as it is", "[metal]") {
  Bench bench;
  Rule rule(bench, ScalarType::Float, ScalarType::Float, 8, 2, 0);
  Handle out;
  REQUIRE(aoti_torch_mps_gated_delta_rule(rule.q.get(), rule.k.get(), rule.v.get(), rule.g.get(),
                                          rule.beta.get(), rule.state.get(), out.out()) == 0);
  REQUIRE(bench.wait().empty());
  CHECK(out->numel == 0);
  for (std::size_t i = 0; i < rule.rows.size(); ++i) {
    CHECK(rule.state.at(static_cast<std::int64_t>(i)) == rule.rows[i]);
  }
}

TEST_CASE("the gated delta rule refuses what it is not for", "[metal]") {
  Bench bench;
  const Rule rule(bench, ScalarType::Half, ScalarType::Half, 8, 2, 2);
  const Handle state_of_host =
      bench.empty({2, 4, 3, 8}, ScalarType::Half, {}, tenon::aoti::TorchDeviceType::cpu);
  const Handle state_of_others = bench.empty({2, 4, 3, 8}, ScalarType::BFloat16);
  const Handle floats = bench.empty({2, 2, 2, 8});
  const Handle three = bench.empty({2, 2, 3, 8}, ScalarType::Half);
  const Handle flat = bench.empty({2, 2, 16}, ScalarType::Half);
  const Handle small = bench.empty({2, 4, 3, 7}, ScalarType::Half);
  const Handle one = bench.empty({2, 2, 1}, ScalarType::Half);
  const Handle long_key = bench.empty({2, 2, 2, 1025}, ScalarType::Half);
  const Handle long_state = bench.empty({2, 4, 3, 1025}, ScalarType::Half);
  struct Wrong {
    ModelTensor *q, *k, *v, *g, *beta, *state;
    const char* text;
  };
  ModelTensor *const q = rule.q.get(), *const k = rule.k.get(), *const v = rule.v.get(),
                     *const g = rule.g.get(), *const b = rule.beta.get(),
                     *const s = rule.state.get();
  for (const Wrong& wrong :
       {Wrong{nullptr, k, v, g, b, s, "q is null"}, Wrong{q, nullptr, v, g, b, s, "k is null"},
        Wrong{q, k, nullptr, g, b, s, "v is null"}, Wrong{q, k, v, nullptr, b, s, "g is null"},
        Wrong{q, k, v, g, nullptr, s, "beta is null"},
        Wrong{q, k, v, g, b, nullptr, "state is null"},
        Wrong{q, k, v, g, b, state_of_host.get(), "state: expected a tensor on the device"},
        Wrong{q, k, v, g, b, state_of_others.get(), "state: expected dtype Half"},
        Wrong{q, floats.get(), v, g, b, s, "k: expected dtype Half"},
        Wrong{flat.get(), k, v, g, b, s, "q: expected rank 4, found [2, 2, 16]"},
        Wrong{three.get(), k, v, g, b, s, "k: expected [2, 2, 3, 8], found [2, 2, 2, 8]"},
        Wrong{three.get(), three.get(), v, g, b, s, "found 4 and 3"},
        Wrong{q, k, v, one.get(), b, s, "g: expected [2, 2, 4], found [2, 2, 1]"},
        Wrong{q, k, v, g, one.get(), s, "beta: expected [2, 2, 4]"},
        Wrong{q, k, v, g, b, small.get(), "state: expected [2, 4, 3, 8], found [2, 4, 3, 7]"},
        Wrong{long_key.get(), long_key.get(), v, g, b, long_state.get(),
              "at most 1024 elements in the last dimension, found 1025"}}) {
    Handle out;
    const auto result = aoti_torch_mps_gated_delta_rule(wrong.q, wrong.k, wrong.v, wrong.g,
                                                        wrong.beta, wrong.state, out.out());
    const std::string text = refusal(bench, result, out);
    CHECK_THAT(text, ContainsSubstring("aoti_torch_mps_gated_delta_rule: "));
    CHECK_THAT(text, ContainsSubstring(wrong.text));
  }
}

TEST_CASE("an operator that the device fails in gives its result back", "[metal]") {
  Bench bench;
  const Quantized matrix(bench, ScalarType::Float, 0, 4, 32, 32, 1);
  const auto run = [&](Handle& out) {
    return aoti_torch_mps__linear_fp_act_4bit_weight(matrix.x.get(), matrix.weight.get(), 32,
                                                     matrix.scales.get(), matrix.biases.get(),
                                                     out.out());
  };
  {
    Handle out;
    REQUIRE(run(out) == 0);  // Its memory is kept for the next.
    REQUIRE(bench.wait().empty());
  }
  const int before = control().num_buffers;
  for (int i = 0; i < 3; ++i) {
    control().calls_until_failure = 0;
    Handle out;
    CHECK_THAT(refusal(bench, run(out), out), ContainsSubstring("as requested"));
    control().calls_until_failure = -1;
  }
  Handle out;
  CHECK(run(out) == 0);
  CHECK(control().num_buffers == before);
}
