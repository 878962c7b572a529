// SPDX-License-Identifier: MIT
#include <cstdint>
#include <string>
#include <vector>

#include "common/convolution_shape.hpp"
#include "kernel_support.hpp"
#include "support/catch.hpp"

using namespace kernel_test;
using namespace tenon::aoti_common;
using namespace tenon::cpu_aoti;

namespace convolution_test {
namespace {

struct Options {
  Shape stride, padding, dilation, output_padding;
  bool transposed = false;
  std::int64_t groups = 1;
};

tenon::aoti::ShimError convolve(Handle& out, const Handle& input, const Handle& weight,
                                const Handle* bias, const Options& o) {
  ModelTensor* given = bias ? bias->get() : nullptr;
  const auto count = [](const Shape& list) { return static_cast<std::int64_t>(list.size()); };
  return aoti_torch_cpu_convolution(
      input.get(), weight.get(), bias ? &given : nullptr, o.stride.data(), count(o.stride),
      o.padding.data(), count(o.padding), o.dilation.data(), count(o.dilation), o.transposed,
      o.output_padding.data(), count(o.output_padding), o.groups, out.out());
}

/// Every product added where it belongs, in double. `sizes` is the shape of the result.
std::vector<double> reference(const Handle& input, const Handle& weight, const Handle* bias,
                              const Options& o, const Shape& sizes) {
  const auto rank = sizes.size();
  const std::size_t spatial = rank - 2;
  std::int64_t kernel = 1, in_area = 1, out_area = 1;
  for (std::size_t d = 2; d < rank; ++d) {
    kernel *= weight->sizes[d];
    in_area *= input->sizes[d];
    out_area *= sizes[d];
  }
  const std::int64_t in_channels = input->sizes[1], out_channels = sizes[1];
  const std::int64_t in_group = in_channels / o.groups, out_group = out_channels / o.groups;
  const auto x = input.values(), w = weight.values();
  const auto added = bias ? bias->values() : std::vector<double>();
  std::vector<double> out(static_cast<std::size_t>(sizes[0] * out_channels * out_area));
  for (std::size_t i = 0; i < out.size() && bias; ++i) {
    out[i] = added[i / static_cast<std::size_t>(out_area) % static_cast<std::size_t>(out_channels)];
  }
  // Walks the positions of the smaller side: the input when transposed, else the result.
  const std::int64_t area = o.transposed ? in_area : out_area;
  for (std::int64_t n = 0; n < sizes[0]; ++n) {
    for (std::int64_t position = 0; position < area; ++position) {
      for (std::int64_t tap = 0; tap < kernel; ++tap) {
        std::int64_t other = 0, step = 1, p = position, t = tap;
        bool inside = true;
        for (std::size_t d = spatial; d-- > 0;) {
          const std::int64_t small = o.transposed ? input->sizes[d + 2] : sizes[d + 2];
          const std::int64_t large = o.transposed ? sizes[d + 2] : input->sizes[d + 2];
          const std::int64_t at =
              p % small * o.stride[d] - o.padding[d] + t % weight->sizes[d + 2] * o.dilation[d];
          inside = inside && at >= 0 && at < large;
          other += at * step;
          step *= large;
          p /= small;
          t /= weight->sizes[d + 2];
        }
        if (!inside) continue;
        for (std::int64_t oc = 0; oc < out_channels; ++oc) {
          for (std::int64_t i = 0; i < in_group; ++i) {
            const std::int64_t ic = oc / out_group * in_group + i;
            const std::int64_t at = o.transposed ? (ic * out_group + oc % out_group) * kernel + tap
                                                 : (oc * in_group + i) * kernel + tap;
            const std::int64_t from = o.transposed ? position : other;
            const std::int64_t to = o.transposed ? other : position;
            out[static_cast<std::size_t>((n * out_channels + oc) * out_area + to)] +=
                x[static_cast<std::size_t>((n * in_channels + ic) * in_area + from)] *
                w[static_cast<std::size_t>(at)];
          }
        }
      }
    }
  }
  return out;
}

Shape channels_last(const Shape& sizes) {
  const Dims strides = channels_last_strides(sizes);
  return {strides.begin(), strides.begin() + static_cast<std::ptrdiff_t>(sizes.size())};
}

Shape contiguous(const Shape& sizes) {
  Shape strides(sizes.size());
  tenon::aoti::contiguous_strides(sizes, strides);
  return strides;
}

constexpr ScalarType types[] = {ScalarType::Float, ScalarType::Double, ScalarType::BFloat16,
                                ScalarType::Half};

struct Case {
  Shape input, weight;
  Options options;
  Shape expected;
};

const Case cases[] = {
    {{2, 4, 8}, {6, 4, 3}, {{1}, {1}, {1}, {0}}, {2, 6, 8}},
    {{1, 4, 20}, {6, 2, 5}, {{2}, {3}, {2}, {0}, false, 2}, {1, 6, 9}},
    {{2, 4, 9}, {4, 3, 4}, {{3}, {1}, {1}, {2}, true}, {2, 3, 28}},
    {{2, 3, 9, 11}, {8, 3, 3, 3}, {{1, 1}, {1, 1}, {1, 1}, {0, 0}}, {2, 8, 9, 11}},
    {{1, 3, 9, 11}, {5, 3, 3, 2}, {{2, 1}, {0, 1}, {1, 2}, {0, 0}}, {1, 5, 4, 11}},
    {{1, 16, 7, 7}, {16, 1, 3, 3}, {{1, 1}, {1, 1}, {1, 1}, {0, 0}, false, 16}, {1, 16, 7, 7}},
    {{2, 6, 7, 7}, {9, 2, 3, 3}, {{2, 2}, {2, 2}, {2, 2}, {0, 0}, false, 3}, {2, 9, 4, 4}},
    {{2, 32, 6, 6}, {48, 32, 1, 1}, {{1, 1}, {0, 0}, {1, 1}, {0, 0}}, {2, 48, 6, 6}},
    {{1, 1, 5, 5}, {1, 1, 5, 5}, {{1, 1}, {0, 0}, {1, 1}, {0, 0}}, {1, 1, 1, 1}},
    {{2, 4, 5, 6}, {4, 6, 3, 3}, {{2, 2}, {1, 1}, {1, 1}, {1, 0}, true}, {2, 6, 10, 11}},
    {{1, 4, 5, 6}, {4, 3, 3, 2}, {{3, 2}, {0, 1}, {2, 1}, {2, 1}, true, 2}, {1, 6, 19, 11}},
    {{1, 8, 4, 4}, {8, 1, 4, 4}, {{2, 2}, {1, 1}, {1, 1}, {0, 0}, true, 8}, {1, 8, 8, 8}},
    {{1, 3, 5, 6, 7},
     {4, 3, 3, 2, 1},
     {{1, 2, 1}, {1, 0, 0}, {1, 1, 1}, {0, 0, 0}},
     {1, 4, 5, 3, 7}},
    {{2, 4, 3, 3, 3},
     {4, 2, 2, 2, 2},
     {{2, 2, 2}, {0, 0, 0}, {1, 1, 1}, {1, 0, 1}, true},
     {2, 2, 7, 6, 7}},
    {{0, 3, 9, 9}, {8, 3, 3, 3}, {{1, 1}, {1, 1}, {1, 1}, {0, 0}}, {0, 8, 9, 9}},
    // Places of the kernel meet padding alone: all but the middle, the last, the first, and the
    // first where the second begins at the second element.
    {{1, 4, 4, 4}, {6, 4, 3, 3}, {{1, 1}, {12, 12}, {12, 12}, {0, 0}}, {1, 6, 4, 4}},
    {{2, 4, 4, 5}, {8, 1, 3, 3}, {{2, 2}, {4, 5}, {4, 5}, {0, 0}, false, 4}, {2, 8, 2, 3}},
    {{1, 3, 2, 2}, {5, 3, 2, 2}, {{3, 3}, {2, 1}, {1, 1}, {0, 0}}, {1, 5, 2, 1}},
    {{1, 3, 5, 5}, {5, 3, 3, 3}, {{1, 1}, {4, 1}, {5, 1}, {0, 0}}, {1, 5, 3, 5}},
    {{1, 2, 3, 4, 3},
     {4, 2, 3, 3, 2},
     {{1, 1, 1}, {3, 1, 0}, {3, 1, 1}, {0, 0, 0}},
     {1, 4, 3, 4, 2}},
};

}  // namespace

TEST_CASE("convolution: every kind, with every order of elements", "[cpu_aoti]") {
  Fixture fixture;
  Random source;
  for (const ScalarType type : types) {
    for (const Case& c : cases) {
      for (int ways = 0; ways < 8; ++ways) {
        const bool input_last = ways & 1, weight_last = ways & 2, with_bias = ways & 4;
        Handle input = random(source, c.input, type, input_last ? channels_last(c.input) : Shape{});
        Handle weight =
            random(source, c.weight, type, weight_last ? channels_last(c.weight) : Shape{});
        Handle bias = random(source, {c.expected[1]}, type);
        Handle out;
        INFO(tenon::name_of(type) << " input " << tenon::shape_text(c.input) << " weight "
                                  << tenon::shape_text(c.weight) << " ways " << ways);
        const auto failed = convolve(out, input, weight, with_bias ? &bias : nullptr, c.options);
        INFO(fixture.pool.failure());
        REQUIRE(failed == 0);
        REQUIRE(out.sizes() == c.expected);
        const bool last = (weight_last && is_channels_last(*weight)) ||
                          (input_last && c.input.size() > 3 && is_channels_last(*input));
        REQUIRE(out.strides() == (last ? channels_last(c.expected) : contiguous(c.expected)));
        double terms = 1;
        for (std::size_t d = 1; d < c.weight.size(); ++d) terms *= static_cast<double>(c.weight[d]);
        REQUIRE(
            difference(out.values(),
                       reference(input, weight, with_bias ? &bias : nullptr, c.options, c.expected),
                       2 * tolerance(type, terms)) == "");
      }
    }
  }
}

TEST_CASE("convolution: operands with gaps, overlaps and odd orders", "[cpu_aoti]") {
  Fixture fixture;
  Random source;
  const Options o{{1, 1}, {1, 1}, {1, 1}, {0, 0}};
  const Shape inputs[] = {
      {800, 200, 20, 2}, {0, 100, 10, 1}, {100, 0, 10, 1}, {1, 2, 8, 80}, {400, 1, 4, 40}};
  const Shape weights[] = {{36, 9, 3, 1}, {0, 9, 3, 1}, {72, 18, 6, 2}, {1, 5, 20, 60}};
  for (const ScalarType type : types) {
    for (const Shape& in : inputs) {
      for (const Shape& w : weights) {
        Handle input = random(source, {2, 4, 10, 10}, type, in);
        Handle weight = random(source, {5, 4, 3, 3}, type, w);
        Handle bias = random(source, {5}, type, {3});
        Handle out;
        REQUIRE(convolve(out, input, weight, &bias, o) == 0);
        REQUIRE(difference(out.values(), reference(input, weight, &bias, o, {2, 5, 10, 10}),
                           2 * tolerance(type, 36)) == "");
      }
    }
  }
}

// Strides that PyTorch 2.15 answers on the CPU, eager and for fake tensors, where dimensions of one
// element leave a choice: sizes and strides of input and weight, strides of the result.
TEST_CASE("convolution: the order of the result where sizes of one leave a choice", "[cpu_aoti]") {
  Fixture fixture;
  struct Row {
    Shape input, input_strides, weight, weight_strides, expected;
  };
  const Row rows[] = {
      {{1, 1, 8, 8}, {64, 64, 8, 1}, {1, 1, 3, 3}, {9, 9, 3, 1}, {36, 36, 6, 1}},
      {{1, 1, 8, 8}, {64, 64, 8, 1}, {1, 1, 3, 3}, {9, 1, 3, 1}, {36, 1, 6, 1}},
      {{1, 1, 8, 8}, {64, 1, 8, 1}, {1, 1, 3, 3}, {9, 9, 3, 1}, {36, 1, 6, 1}},
      {{2, 4, 8, 8}, {256, 64, 8, 1}, {4, 4, 1, 1}, {4, 1, 1, 1}, {256, 64, 8, 1}},
      {{2, 4, 8, 8}, {256, 64, 8, 1}, {4, 4, 1, 1}, {4, 1, 4, 4}, {256, 1, 32, 4}},
      {{2, 4, 8, 8}, {256, 1, 32, 4}, {4, 4, 1, 1}, {4, 1, 1, 1}, {256, 1, 32, 4}},
      {{2, 4, 1, 1}, {4, 1, 1, 1}, {4, 4, 1, 1}, {4, 1, 1, 1}, {4, 1, 1, 1}},
      {{2, 4, 1, 1}, {4, 1, 1, 1}, {4, 4, 1, 1}, {4, 1, 4, 4}, {4, 1, 4, 4}},
      {{2, 1, 8, 8}, {64, 64, 8, 1}, {4, 1, 3, 3}, {9, 9, 3, 1}, {144, 36, 6, 1}},
      {{2, 1, 8, 8}, {64, 64, 8, 1}, {4, 1, 3, 3}, {9, 1, 3, 1}, {144, 1, 24, 4}},
      {{2, 4, 8}, {32, 8, 1}, {4, 4, 3}, {12, 3, 1}, {24, 6, 1}},
      {{2, 4, 8}, {32, 1, 4}, {4, 4, 3}, {12, 3, 1}, {24, 6, 1}},
      {{2, 4, 8}, {32, 8, 1}, {4, 4, 3}, {12, 1, 4}, {24, 1, 4}},
      {{2, 4, 8}, {32, 1, 4}, {4, 4, 3}, {12, 1, 4}, {24, 1, 4}},
  };
  Random source;
  for (const Row& row : rows) {
    const std::size_t spatial = row.input.size() - 2;
    const Shape ones(spatial, 1), zeros(spatial, 0);
    const Options o{ones, zeros, ones, zeros};
    Handle input = random(source, row.input, ScalarType::Float, row.input_strides);
    Handle weight = random(source, row.weight, ScalarType::Float, row.weight_strides);
    Handle out;
    REQUIRE(convolve(out, input, weight, nullptr, o) == 0);
    CHECK(out.strides() == row.expected);
    CHECK(difference(out.values(), reference(input, weight, nullptr, o, out.sizes()), 1e-5) == "");
  }
}

TEST_CASE("convolution: one image without a batch", "[cpu_aoti]") {
  Fixture fixture;
  Random source;
  const Options o{{2, 1}, {1, 0}, {1, 1}, {0, 0}};
  for (const bool last : {false, true}) {
    Handle batch = random(source, {1, 3, 9, 9}, ScalarType::Float,
                          last ? channels_last({1, 3, 9, 9}) : Shape{});
    Handle image(fixture.pool.view(*batch, Shape{3, 9, 9}, batch->strides.data() + 1, 0));
    Handle weight = random(source, {4, 3, 3, 3});
    Handle out;
    REQUIRE(convolve(out, image, weight, nullptr, o) == 0);
    CHECK(out.sizes() == Shape{4, 5, 7});
    CHECK(out.strides() == (last ? Shape{1, 28, 4} : Shape{35, 7, 1}));
    CHECK(difference(out.values(), reference(batch, weight, nullptr, o, {1, 4, 5, 7}), 1e-5) == "");
  }
}

TEST_CASE("convolution: invalid arguments are refused with a message", "[cpu_aoti]") {
  Fixture fixture;
  Random source;
  const Options o{{1, 1}, {0, 0}, {1, 1}, {0, 0}};
  Handle input = random(source, {1, 4, 5, 5});
  Handle weight = random(source, {6, 4, 3, 3});
  const auto refused = [&](const std::string& text, const Handle& x, const Handle& w,
                           const Options& options, const Handle* bias = nullptr) {
    Handle out;
    CHECK(convolve(out, x, w, bias, options) == 1);
    CHECK_THAT(fixture.pool.take_failure(), ContainsSubstring(text));
    CHECK(out.get() == nullptr);
  };
  refused("expected 5 channels, found 4", input, random(source, {6, 5, 3, 3}), o);
  Options groups = o;
  groups.groups = 4;
  refused("multiple of the groups", input, weight, groups);
  groups.groups = 2;
  refused("2 groups: expected 8 channels, found 4", input, weight, groups);
  groups.groups = 0;
  refused("0 groups", input, weight, groups);
  refused("an empty result: an input of 5", input, random(source, {6, 4, 7, 3}), o);
  refused("expected 1 to 3 spatial dimensions", random(source, {4, 5}), weight, o);
  Options missing = o;
  missing.padding = {0};
  refused("a list of 1 numbers: expected 2", input, weight, missing);
  Options without_stride = o;
  without_stride.stride = {1, 0};
  refused("stride 0", input, weight, without_stride);
  Options far = o;
  far.dilation = {std::int64_t{1} << 62, 1};
  refused("dilation 4611686018427387904", input, weight, far);
  Handle bias = random(source, {5});
  refused("a bias [5] of Float: expected [6] of Float", input, weight, o, &bias);
  refused("of Int: expected both Float, Double, BFloat16 or Half",
          random(source, {1, 4, 5, 5}, ScalarType::Int),
          random(source, {6, 4, 3, 3}, ScalarType::Int), o);
  refused("an input of Double and a weight of Float",
          random(source, {1, 4, 5, 5}, ScalarType::Double), weight, o);
  refused("at least one channel", random(source, {1, 0, 5, 5}), random(source, {6, 0, 3, 3}), o);
}

TEST_CASE("a second convolution of the same shape allocates nothing", "[cpu_aoti]") {
  Fixture fixture;
  Random source;
  for (const ScalarType type : types) {
    for (const Case& c : cases) {
      Handle input = random(source, c.input, type);
      Handle weight = random(source, c.weight, type);
      {
        Handle out;
        REQUIRE(convolve(out, input, weight, nullptr, c.options) == 0);
      }
      const std::size_t before = allocations();
      {
        Handle out;
        REQUIRE(convolve(out, input, weight, nullptr, c.options) == 0);
      }
      CHECK(allocations() == before);
    }
  }
}

}  // namespace convolution_test
