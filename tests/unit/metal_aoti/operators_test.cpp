// SPDX-License-Identifier: MIT
//
// The backend's own kernels compared with the same arithmetic in double.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "device.hpp"
#include "stand_in_device.hpp"

using namespace metal_test;
using namespace tenon::metal_aoti;

namespace operators_test {
using metal_test::ModelTensor;
namespace {

double tolerance(ScalarType type) {
  return type == ScalarType::Float ? 1e-5 : type == ScalarType::Half ? 5e-3 : 4e-2;
}

}  // namespace

TEST_CASE("matrix products take any strides, batches and 16-bit types", "[metal]") {
  Bench bench;
  for (const ScalarType type : {ScalarType::Float, ScalarType::Half, ScalarType::BFloat16}) {
    INFO(name_of(type));
    const Handle a = bench.random({5, 21}, type, {1, 5});
    const Handle b = bench.random({21, 18}, type);
    const Handle bias = bench.random({18}, type);
    const Handle out = bench.empty({5, 18}, type);
    const Handle sum = bench.empty({5, 18}, type);
    REQUIRE(aoti_torch_mps_mm_out(out.get(), a.get(), b.get()) == 0);
    REQUIRE(aoti_torch_mps_addmm_out(sum.get(), bias.get(), a.get(), b.get(), 2.0, 0.5) == 0);
    REQUIRE(bench.wait().empty());
    for (std::int64_t i = 0; i < 5; ++i) {
      for (std::int64_t j = 0; j < 18; ++j) {
        double expected = 0;
        for (std::int64_t k = 0; k < 21; ++k) expected += a.at(i * 21 + k) * b.at(k * 18 + j);
        CHECK(std::abs(out.at(i * 18 + j) - expected) < tolerance(type));
        CHECK(std::abs(sum.at(i * 18 + j) - (expected / 2 + 2 * bias.at(j))) < tolerance(type));
      }
    }
  }
  const Handle a = bench.random({3, 2, 4});
  const Handle b = bench.random({3, 4, 2});
  const Handle out = bench.empty({3, 2, 2});
  REQUIRE(aoti_torch_mps_bmm_out(out.get(), a.get(), b.get()) == 0);
  REQUIRE(bench.wait().empty());
  for (std::int64_t n = 0; n < 12; ++n) {
    const std::int64_t batch = n / 4, i = n / 2 % 2, j = n % 2;
    double expected = 0;
    for (std::int64_t k = 0; k < 4; ++k) {
      expected += a.at(batch * 8 + i * 4 + k) * b.at(batch * 8 + k * 2 + j);
    }
    CHECK(std::abs(out.at(n) - expected) < 1e-5);
  }
}

TEST_CASE("matrix products: sizes around a tile's, every layout of the operands", "[metal]") {
  Bench bench;
  struct Case {
    std::int64_t rows, columns, inner;
  };
  // Several tiles, one with an edge, vectors of one to four rows, columns of as many.
  for (const Case& c : {Case{70, 130, 33}, Case{64, 64, 16}, Case{5, 7, 3}, Case{1, 40, 260},
                        Case{4, 33, 20}, Case{3, 1, 5}, Case{37, 1, 130}, Case{40, 4, 8}}) {
    for (const ScalarType type : {ScalarType::Float, ScalarType::Half, ScalarType::BFloat16}) {
      // Rows adjacent, columns adjacent, neither.
      for (int layout = 0; layout < 9; ++layout) {
        if (type != ScalarType::Float && layout % 4 != 0) continue;
        INFO(name_of(type) << " " << c.rows << " x " << c.inner << " x " << c.columns << ", layout "
                           << layout);
        const auto make = [&](std::int64_t rows, std::int64_t columns, int kind) {
          return bench.random({rows, columns}, type,
                              kind == 0   ? Shape{columns, 1}
                              : kind == 1 ? Shape{1, rows}
                                          : Shape{columns * 3 + 1, 3});
        };
        const Handle a = make(c.rows, c.inner, layout % 3);
        const Handle b = make(c.inner, c.columns, layout / 3);
        const Handle bias = bench.random({c.rows, 1}, type);
        const Handle out = bench.empty({c.rows, c.columns}, type, {1, c.rows});
        REQUIRE(aoti_torch_mps_addmm_out(out.get(), bias.get(), a.get(), b.get(), 2.0, 0.5) == 0);
        REQUIRE(bench.wait().empty());
        double most = 0;
        for (std::int64_t i = 0; i < c.rows; ++i) {
          for (std::int64_t j = 0; j < c.columns; ++j) {
            double expected = 0;
            double size = 1;
            for (std::int64_t k = 0; k < c.inner; ++k) {
              expected += a.at(i * c.inner + k) * b.at(k * c.columns + j);
            }
            expected = expected / 2 + 2 * bias.at(i);
            size = std::max(1.0, std::abs(expected));
            most = std::max(most, std::abs(out.at(i * c.columns + j) - expected) / size);
          }
        }
        CHECK(most < tolerance(type));
      }
    }
  }
}

TEST_CASE("a beta of 0 leaves the bias unread, and an empty product is 0", "[metal]") {
  Bench bench;
  const Handle a = bench.empty({2, 0});
  const Handle b = bench.empty({0, 3});
  const Handle bias = bench.random({3});
  for (std::int64_t i = 0; i < 3; ++i) bias.get()->as<float>()[i] = NAN;
  const Handle out = bench.empty({2, 3});
  REQUIRE(aoti_torch_mps_addmm_out(out.get(), bias.get(), a.get(), b.get(), 0.0, 1.0) == 0);
  REQUIRE(bench.wait().empty());
  for (std::int64_t i = 0; i < 6; ++i) CHECK(out.at(i) == 0);
}

TEST_CASE("products of other dtypes and shapes are refused with a message", "[metal]") {
  Bench bench;
  const Handle a = bench.random({2, 3}, ScalarType::Long);
  const Handle b = bench.random({3, 2}, ScalarType::Long);
  const Handle out = bench.empty({2, 2}, ScalarType::Long);
  CHECK(aoti_torch_mps_mm_out(out.get(), a.get(), b.get()) != 0);
  CHECK_THAT(bench.pool().take_failure(), ContainsSubstring("aoti_torch_mps_mm_out: dtype Long"));
  const Handle c = bench.random({2, 3});
  const Handle d = bench.empty({2, 2});
  CHECK(aoti_torch_mps_mm_out(d.get(), c.get(), c.get()) != 0);
  CHECK_THAT(bench.pool().take_failure(), ContainsSubstring("expected [3, 3], found [2, 3]"));
  CHECK(aoti_torch_mps_mm_out(d.get(), c.get(), nullptr) != 0);
  CHECK_THAT(bench.pool().take_failure(), ContainsSubstring("the second matrix is null"));
  CHECK(aoti_torch_mps_mm_out(d.get(), c.get(), out.get()) != 0);
  CHECK_THAT(bench.pool().take_failure(), ContainsSubstring("found Long"));
}

TEST_CASE("convolutions: strides, padding, dilation, groups, transposed, channels last",
          "[metal]") {
  Bench bench;
  struct Case {
    bool transposed;
    bool channels_last;
    std::int64_t stride, padding, dilation, groups;
  };
  for (const Case& c : {Case{false, false, 1, 1, 1, 1}, Case{false, true, 2, 1, 1, 2},
                        Case{false, false, 1, 2, 2, 1}, Case{true, false, 2, 1, 1, 1},
                        Case{true, true, 2, 0, 1, 2}}) {
    INFO(c.transposed << c.channels_last << c.stride << c.padding << c.dilation << c.groups);
    const std::int64_t in_channels = 4, out_channels = 6, size = 7, kernel = 3;
    const Handle input = bench.random(
        {2, in_channels, size, size}, ScalarType::Float,
        c.channels_last ? Shape{size * size * in_channels, 1, size * in_channels, in_channels}
                        : Shape{});
    const Handle weight =
        c.transposed ? bench.random({in_channels, out_channels / c.groups, kernel, kernel})
                     : bench.random({out_channels, in_channels / c.groups, kernel, kernel});
    Handle bias = bench.random({out_channels});
    const std::int64_t stride[] = {c.stride, c.stride};
    const std::int64_t padding[] = {c.padding, c.padding};
    const std::int64_t dilation[] = {c.dilation, c.dilation};
    const std::int64_t output_padding[] = {0, 0};
    Handle out;
    ModelTensor* const bias_tensor = bias.get();
    ModelTensor* bias_argument = bias_tensor;
    const auto failed = aoti_torch_mps_convolution(input.get(), weight.get(), &bias_argument,
                                                   stride, 2, padding, 2, dilation, 2, c.transposed,
                                                   output_padding, 2, c.groups, out.out());
    INFO(bench.pool().failure());
    REQUIRE(failed == 0);
    REQUIRE(bench.wait().empty());
    const std::int64_t out_size = out->sizes[2];
    CHECK((out->strides[1] == 1) == c.channels_last);
    // Adds up what each input element gives, so that both kinds have one reference.
    std::vector<double> expected(static_cast<std::size_t>(out->numel));
    const std::int64_t in_group = in_channels / c.groups, out_group = out_channels / c.groups;
    for (std::int64_t n = 0; n < 2; ++n) {
      for (std::int64_t o = 0; o < out_channels; ++o) {
        for (std::int64_t i = 0; i < in_channels; ++i) {
          if (i / in_group != o / out_group) continue;
          for (std::int64_t t = 0; t < kernel * kernel; ++t) {
            const std::int64_t ky = t / kernel, kx = t % kernel;
            const double w = c.transposed
                                 ? weight.at((i * out_group + o % out_group) * kernel * kernel + t)
                                 : weight.at((o * in_group + i % in_group) * kernel * kernel + t);
            const std::int64_t steps = c.transposed ? size : out_size;
            for (std::int64_t y = 0; y < steps; ++y) {
              for (std::int64_t x = 0; x < steps; ++x) {
                const std::int64_t far_y = y * c.stride - c.padding + ky * c.dilation;
                const std::int64_t far_x = x * c.stride - c.padding + kx * c.dilation;
                const std::int64_t end = c.transposed ? out_size : size;
                if (far_y < 0 || far_x < 0 || far_y >= end || far_x >= end) continue;
                const std::int64_t in_y = c.transposed ? y : far_y, in_x = c.transposed ? x : far_x;
                const std::int64_t out_y = c.transposed ? far_y : y,
                                   out_x = c.transposed ? far_x : x;
                const std::int64_t to =
                    ((n * out_channels + o) * out_size + out_y) * out_size + out_x;
                expected[static_cast<std::size_t>(to)] +=
                    w * input.at(((n * in_channels + i) * size + in_y) * size + in_x);
              }
            }
          }
        }
      }
    }
    double most = 0;
    for (std::int64_t i = 0; i < out->numel; ++i) {
      const double with_bias =
          expected[static_cast<std::size_t>(i)] + bias.at(i / out_size / out_size % out_channels);
      most = std::max(most, std::abs(out.at(i) - with_bias));
    }
    CHECK(most < 1e-5);
  }
}

TEST_CASE("attention: causal, masks of both kinds, shared heads, rows without a key", "[metal]") {
  Bench bench;
  const std::int64_t heads = 4, queries = 5, keys = 6, depth = 8, width = 7;
  const Handle q = bench.random({2, heads, queries, depth});
  const Handle k =
      bench.random({2, 2, keys, depth}, ScalarType::Float, {2 * keys * depth, depth, 2 * depth, 1});
  const Handle v = bench.random({2, 2, keys, width});
  Handle added = bench.random({queries, keys});
  Handle allowed = bench.empty({2, 1, queries, keys}, ScalarType::Bool);
  for (std::int64_t i = 0; i < allowed->numel; ++i) allowed.set(i, i % 3 != 0 ? 1 : 0);
  for (std::int64_t i = 0; i < keys; ++i) allowed.set(i, 0);
  for (int kind = 0; kind < 3; ++kind) {
    INFO(kind);
    ModelTensor* mask = kind == 1 ? added.get() : allowed.get();
    Handle out, weights;
    double scale = 0.3;
    const auto failed = aoti_torch_mps__scaled_dot_product_attention_math_for_mps_v2(
        q.get(), k.get(), v.get(), kind == 0 ? nullptr : &mask, 0.0, kind == 0, nullptr, &scale, 1,
        out.out(), weights.out());
    INFO(bench.pool().failure());
    REQUIRE(failed == 0);
    REQUIRE(bench.wait().empty());
    double most = 0;
    for (std::int64_t row = 0; row < 2 * heads * queries; ++row) {
      const std::int64_t query = row % queries, head = row / queries % heads,
                         batch = row / queries / heads;
      std::vector<double> scores(static_cast<std::size_t>(keys));
      for (std::int64_t j = 0; j < keys; ++j) {
        double score = 0;
        for (std::int64_t e = 0; e < depth; ++e) {
          score += q.at(row * depth + e) * k.at(((batch * 2 + head / 2) * keys + j) * depth + e);
        }
        score *= scale;
        if (kind == 1) score += added.at(query * keys + j);
        const bool is_masked = kind == 0   ? j > query
                               : kind == 2 ? allowed.at((batch * queries + query) * keys + j) == 0
                                           : false;
        scores[static_cast<std::size_t>(j)] = is_masked ? 0 : std::exp(score);
      }
      const double sum = std::accumulate(scores.begin(), scores.end(), 0.0);
      for (std::int64_t e = 0; e < width; ++e) {
        double expected = 0;
        for (std::int64_t j = 0; j < keys && sum != 0; ++j) {
          expected += scores[static_cast<std::size_t>(j)] / sum *
                      v.at(((batch * 2 + head / 2) * keys + j) * width + e);
        }
        most = std::max(most, std::abs(out.at(row * width + e) - expected));
      }
    }
    CHECK(most < 1e-5);
  }
  Handle out, weights;
  CHECK(aoti_torch_mps__scaled_dot_product_attention_math_for_mps(q.get(), k.get(), v.get(),
                                                                  nullptr, 0.5, 0, nullptr, nullptr,
                                                                  out.out(), weights.out()) != 0);
  CHECK_THAT(bench.pool().take_failure(), ContainsSubstring("dropout"));
}

TEST_CASE("attention: several tiles of rows, keys, elements and values, in every dtype",
          "[metal]") {
  Bench bench;
  struct Case {
    std::int64_t heads, key_heads, queries, keys, depth, width;
    bool is_causal;
  };
  for (const Case& c : {Case{2, 1, 40, 70, 64, 64, false}, Case{2, 2, 70, 70, 20, 136, true},
                        Case{1, 1, 3, 33, 200, 5, false}, Case{8, 2, 1, 100, 32, 32, false},
                        Case{6, 2, 11, 40, 8, 72, true}}) {
    for (const ScalarType type : {ScalarType::Float, ScalarType::Half, ScalarType::BFloat16}) {
      INFO(name_of(type) << " " << c.queries << " x " << c.keys << ", " << c.depth << " and "
                         << c.width);
      const Handle q = bench.random({1, c.heads, c.queries, c.depth}, type);
      // Positions before heads in memory.
      const Handle k =
          bench.random({1, c.key_heads, c.keys, c.depth}, type,
                       {c.key_heads * c.keys * c.depth, c.depth, c.key_heads * c.depth, 1});
      const Handle v = bench.random({1, c.key_heads, c.keys, c.width}, type);
      Handle out, weights;
      // The scores differ much, so that later ones are larger than all before.
      double scale = 2;
      REQUIRE(aoti_torch_mps__scaled_dot_product_attention_math_for_mps(
                  q.get(), k.get(), v.get(), nullptr, 0.0, c.is_causal ? 1 : 0, nullptr, &scale,
                  out.out(), weights.out()) == 0);
      REQUIRE(bench.wait().empty());
      double most = 0;
      for (std::int64_t row = 0; row < c.heads * c.queries; ++row) {
        const std::int64_t head = row / c.queries / (c.heads / c.key_heads);
        const std::int64_t last =
            c.is_causal ? std::min(row % c.queries + 1, c.keys) : std::int64_t{c.keys};
        std::vector<double> scores;
        for (std::int64_t j = 0; j < last; ++j) {
          double score = 0;
          for (std::int64_t e = 0; e < c.depth; ++e) {
            score += q.at(row * c.depth + e) * k.at((head * c.keys + j) * c.depth + e);
          }
          scores.push_back(score * scale);
        }
        const double largest = *std::ranges::max_element(scores);
        double sum = 0;
        for (double& score : scores) sum += score = std::exp(score - largest);
        for (std::int64_t e = 0; e < c.width; ++e) {
          double expected = 0;
          for (std::int64_t j = 0; j < last; ++j) {
            expected +=
                scores[static_cast<std::size_t>(j)] / sum * v.at((head * c.keys + j) * c.width + e);
          }
          most = std::max(most, std::abs(out.at(row * c.width + e) - expected));
        }
      }
      CHECK(most < tolerance(type));
    }
  }
}

TEST_CASE("attention takes no memory for scores; its weights are refused unless asked for",
          "[metal]") {
  Bench bench;
  {
    // Enqueued and never run.
    const std::int64_t heads = 32, positions = 4096, depth = 128;
    const Handle q = bench.random({1, 1, 1, depth}, ScalarType::Half);
    const Handle all = bench.empty({1, heads, positions, depth}, ScalarType::Half);
    const std::size_t before = bench.pool().nbytes();
    Handle out, weights;
    REQUIRE(aoti_torch_mps__scaled_dot_product_attention_math_for_mps(
                all.get(), all.get(), all.get(), nullptr, 0.0, 1, nullptr, nullptr, out.out(),
                weights.out()) == 0);
    CHECK(weights->shape().back() == positions);
    // The output, in a block that may be an eighth larger.
    CHECK(out->nbytes() == std::size_t{32} << 20);
    CHECK(bench.pool().nbytes() - before <= (std::size_t{36} << 20) + 4096);
  }
  Bench other;
  const Handle q = other.random({1, 1, 1, 4});
  Handle out, weights, copy;
  REQUIRE(aoti_torch_mps__scaled_dot_product_attention_math_for_mps(
              q.get(), q.get(), q.get(), nullptr, 0.0, 0, nullptr, nullptr, out.out(),
              weights.out()) == 0);
  Handle host = other.empty({1, 1, 1, 1}, ScalarType::Float, {}, tenon::aoti::TorchDeviceType::cpu);
  const Handle view(other.pool().view(*weights.get(), weights->shape(), nullptr, 0));
  REQUIRE(view.get() != nullptr);
  const Handle vector = other.empty({1, 1});
  for (ModelTensor* const each : {weights.get(), view.get()}) {
    CHECK(aoti_torch_clone(each, copy.out()) != 0);
    CHECK_THAT(other.pool().take_failure(), ContainsSubstring("attention_weights=true"));
    CHECK(aoti_torch_copy_(host.get(), each, 0) != 0);
    CHECK_THAT(other.pool().take_failure(), ContainsSubstring("attention_weights=true"));
    CHECK(aoti_torch_zero_(each) != 0);
    CHECK_THAT(other.pool().take_failure(), ContainsSubstring("attention_weights=true"));
    CHECK_THAT(
        std::string(
            other.context().copy(tenon::aoti::CopyKind::to_host, host->data, each->data, 4).text()),
        ContainsSubstring("attention_weights=true"));
    CHECK_THAT(std::string(other.context().set_tensor(0, *each).text()),
               ContainsSubstring("has no memory"));
  }
  CHECK(other.wait().empty());
}

TEST_CASE("attention that the device fails in leaves no tensor behind", "[metal]") {
  using tenon::metal_stand_in::control;
  Bench bench;
  const Handle q = bench.random({1, 2, 3, 4});
  const auto run = [&] {
    Handle out, weights;
    return aoti_torch_mps__scaled_dot_product_attention_math_for_mps(
        q.get(), q.get(), q.get(), nullptr, 0.0, 0, nullptr, nullptr, out.out(), weights.out());
  };
  REQUIRE(run() == 0);  // Its memory is kept for the next.
  REQUIRE(bench.wait().empty());
  const int buffers = control().num_buffers;
  const std::size_t tensors = bench.pool().num_live();
  int num_failures = 0;
  for (int n = 0;; ++n) {
    control().calls_until_failure = n;
    const bool failed = run() != 0;
    const bool is_through = control().calls_until_failure >= 0;
    control().calls_until_failure = -1;
    CHECK(bench.pool().num_live() == tensors);
    if (is_through) break;
    REQUIRE(failed);
    ++num_failures;
    CHECK_THAT(bench.pool().take_failure(), ContainsSubstring("as requested"));
  }
  REQUIRE(bench.wait().empty());
  CHECK(num_failures >= 2);  // setComputePipelineState, dispatchThreads.
  CHECK(control().num_buffers == buffers);
}

}  // namespace operators_test
