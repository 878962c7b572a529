// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "kernel_support.hpp"
#include "support/catch.hpp"

using namespace kernel_test;
using namespace tenon::cpu_aoti;

namespace pooling_test {
namespace {

struct Found {
  std::vector<double> values, places;
};

/// One image dimension of a pooling: where windows begin and end.
struct Axis {
  std::int64_t in, out, kernel = 0, stride = 1, padding = 0, dilation = 1;
  bool covers(std::int64_t o, std::int64_t i) const {
    if (kernel == 0) {
      const double ratio = static_cast<double>(in) / static_cast<double>(out);
      return i >= static_cast<std::int64_t>(std::floor(static_cast<double>(o) * ratio + 1e-9)) &&
             i < static_cast<std::int64_t>(std::ceil(static_cast<double>(o + 1) * ratio - 1e-9));
    }
    const std::int64_t from = i - (o * stride - padding);
    return from >= 0 && from % dilation == 0 && from / dilation < kernel;
  }
};

/// Asks of every element of the image whether the window covers it.
Found reference(const Handle& self, const std::vector<Axis>& axes, bool average) {
  std::int64_t area = 1, out_area = 1;
  for (const Axis& axis : axes) {
    area *= axis.in;
    out_area *= axis.out;
  }
  const auto x = self.values();
  Found found;
  for (std::int64_t image = 0; image < self->numel / area; ++image) {
    for (std::int64_t o = 0; o < out_area; ++o) {
      double best = average ? 0 : -std::numeric_limits<double>::infinity();
      std::int64_t count = 0, place = 0;
      for (std::int64_t i = 0; i < area; ++i) {
        std::int64_t in = i, out = o;
        bool covered = true;
        for (std::size_t d = axes.size(); d-- > 0;) {
          covered = covered && axes[d].covers(out % axes[d].out, in % axes[d].in);
          in /= axes[d].in;
          out /= axes[d].out;
        }
        if (!covered) continue;
        const double value = x[static_cast<std::size_t>(image * area + i)];
        ++count;
        if (average) {
          best += value;
        } else if (value > best || std::isnan(value)) {
          best = value;
          place = i;
        }
      }
      found.values.push_back(average ? best / static_cast<double>(count) : best);
      found.places.push_back(static_cast<double>(place));
    }
  }
  return found;
}

Shape channels_last(const Shape& sizes) {
  Shape out(sizes.size());
  std::int64_t step = 1;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const std::size_t d = i == 0 ? 1 : i + 1 == sizes.size() ? 0 : sizes.size() - i;
    out[d] = step;
    step *= sizes[d];
  }
  return out;
}

constexpr ScalarType types[] = {ScalarType::Float, ScalarType::BFloat16, ScalarType::Double,
                                ScalarType::Half};

}  // namespace

TEST_CASE("adaptive pooling: sizes that do not divide, both orders of memory", "[cpu_aoti]") {
  Fixture fixture;
  Random source;
  for (const ScalarType type : types) {
    for (const Shape& sizes :
         {Shape{2, 3, 7, 9}, Shape{1, 18, 5, 4}, Shape{3, 8, 1}, Shape{2, 5, 3, 4, 6}}) {
      const std::size_t spatial = sizes.size() == 5 ? 3 : 2;
      for (const std::int64_t target : {1, 2, 3, 5}) {
        for (const bool last : {false, true}) {
          if (last && sizes.size() == 3) continue;
          Handle self = random(source, sizes, type, last ? channels_last(sizes) : Shape{});
          const Shape out_size(spatial, target);
          const auto count = static_cast<std::int64_t>(spatial);
          std::vector<Axis> axes;
          Shape out_sizes = sizes;
          for (std::size_t d = 0; d < spatial; ++d) {
            axes.push_back({sizes[sizes.size() - spatial + d], target});
            out_sizes[sizes.size() - spatial + d] = target;
          }
          Handle average, most, places;
          REQUIRE((spatial == 2 ? aoti_torch_cpu__adaptive_avg_pool2d
                                : aoti_torch_cpu__adaptive_avg_pool3d)(self.get(), out_size.data(),
                                                                       count, average.out()) == 0);
          REQUIRE((spatial == 2 ? aoti_torch_cpu_adaptive_max_pool2d
                                : aoti_torch_cpu_adaptive_max_pool3d)(
                      self.get(), out_size.data(), count, most.out(), places.out()) == 0);
          CHECK(difference(average.values(), reference(self, axes, true).values,
                           tolerance(type, 4)) == "");
          const Found found = reference(self, axes, false);
          CHECK(difference(most.values(), found.values, 0) == "");
          CHECK(places.values() == found.places);
          CHECK(average.sizes() == out_sizes);
          if (last && spatial == 2) {
            CHECK(average.strides() == channels_last(out_sizes));
            CHECK(places.strides() == channels_last(out_sizes));
          } else {
            CHECK(average->is_contiguous());
          }
        }
      }
    }
  }
}

TEST_CASE("max_pool2d_with_indices: strides, padding, dilation, whole numbers", "[cpu_aoti]") {
  Fixture fixture;
  Random source;
  const std::int64_t two[] = {1, 1};
  for (const ScalarType type :
       {ScalarType::Float, ScalarType::BFloat16, ScalarType::Long, ScalarType::Byte}) {
    for (const bool last : {false, true}) {
      for (std::int64_t way = 0; way < 3 * 3 * 2 * 2; ++way) {
        const std::int64_t kernel = way % 3 + 1, stride = way / 3 % 3 + 1;
        const std::int64_t padding = way / 9 % 2 == 0 ? 0 : kernel / 2, dilation = way / 18 + 1;
        const Shape sizes = {2, 17, 9, 8};
        Handle self = random(source, sizes, type, last ? channels_last(sizes) : Shape{});
        std::vector<Axis> axes;
        for (const std::int64_t in : {9, 8}) {
          const std::int64_t out = (in + 2 * padding - (kernel - 1) * dilation - 1) / stride + 1;
          axes.push_back({in, out, kernel, stride, padding, dilation});
        }
        const std::int64_t steps[] = {stride, stride};
        Handle values, places;
        REQUIRE(aoti_torch_cpu_max_pool2d_with_indices(self.get(), &kernel, 1, steps, 2, &padding,
                                                       1, &dilation, 1, 0, values.out(),
                                                       places.out()) == 0);
        const Found found = reference(self, axes, false);
        CHECK(values.values() == found.values);
        CHECK(places.values() == found.places);
        if (last) CHECK(values.strides() == channels_last(values.sizes()));
      }
    }
  }
  // Rounded up, with NaN in the last window; the stride is the kernel when none is given.
  Handle self = random(source, {1, 1, 5, 5});
  self.set(24, std::nan(""));
  const std::int64_t kernel = 2, zero = 0;
  Handle values, places;
  REQUIRE(aoti_torch_cpu_max_pool2d_with_indices(self.get(), &kernel, 1, nullptr, 0, &zero, 1, two,
                                                 2, 1, values.out(), places.out()) == 0);
  CHECK(values.sizes() == Shape{1, 1, 3, 3});
  CHECK(std::isnan(values.at(8)));
  CHECK(places.at(8) == 24);
}

TEST_CASE("pooling of many adjacent channels: large windows, padding and NaN", "[cpu_aoti]") {
  Fixture fixture;
  Random source;
  const Shape sizes = {2, 83, 9, 10};
  for (const ScalarType type : {ScalarType::Float, ScalarType::BFloat16, ScalarType::Half}) {
    // More elements in a window than fit one call of the loops, and few.
    for (const std::int64_t kernel : {9, 2}) {
      Handle self = random(source, sizes, type, channels_last(sizes));
      const std::int64_t steps[] = {kernel, kernel};
      const std::int64_t one[] = {1, 1}, none[] = {0, 0};
      const std::vector<Axis> axes = {{9, 9 / kernel, kernel, kernel},
                                      {10, 10 / kernel, kernel, kernel}};
      Handle average, padded, most, places;
      REQUIRE(aoti_torch_cpu_avg_pool2d(self.get(), steps, 2, steps, 2, none, 2, 0, 1, nullptr,
                                        average.out()) == 0);
      CHECK(difference(average.values(), reference(self, axes, true).values, tolerance(type, 4)) ==
            "");
      CHECK(average.strides() == channels_last(average.sizes()));
      std::int64_t divisor = -3;
      REQUIRE(aoti_torch_cpu_avg_pool2d(self.get(), steps, 2, steps, 2, none, 2, 0, 1, &divisor,
                                        padded.out()) == 0);
      auto scaled = reference(self, axes, true).values;
      for (double& value : scaled) value *= static_cast<double>(kernel * kernel) / -3;
      CHECK(difference(padded.values(), scaled, 10 * tolerance(type, 4)) == "");
      for (const std::int64_t at : {0, 7, 100, 90 * 82 + 3}) self.set(at, std::nan(""));
      REQUIRE(aoti_torch_cpu_max_pool2d_with_indices(self.get(), steps, 2, steps, 2, none, 2, one,
                                                     2, 0, most.out(), places.out()) == 0);
      const Found found = reference(self, axes, false);
      CHECK(places.values() == found.places);
      CHECK(difference(most.values(), found.values, 0) == "");
    }
  }
}

TEST_CASE("pooling of contiguous rows: more results than are computed at once", "[cpu_aoti]") {
  Fixture fixture;
  Random source;
  const Shape sizes = {2, 3, 6, 37};
  // Of the columns; the last ones have strides that are longer than some of the rows.
  const Axis columns[] = {{37, 0, 2, 2},   {37, 0, 3, 1, 1},  {37, 0, 3, 2, 1, 3},
                          {37, 0, 1, 1},   {37, 0, 9, 5, 4},  {37, 0, 33, 2, 16},
                          {3, 0, 4, 4, 2}, {37, 0, 4, 40, 2}, {37, 0, 2, 2147483647, 1}};
  for (const ScalarType type : types) {
    for (Axis axis : columns) {
      axis.out =
          (axis.in + 2 * axis.padding - (axis.kernel - 1) * axis.dilation - 1) / axis.stride + 1;
      const std::vector<Axis> axes = {{6, 3, 2, 2}, axis};
      Shape shape = sizes;
      shape[3] = axis.in;
      Handle self = random(source, shape, type);
      const std::int64_t kernel[] = {2, axis.kernel}, steps[] = {2, axis.stride};
      const std::int64_t padding[] = {0, axis.padding}, dilation[] = {1, axis.dilation};
      INFO(tenon::name_of(type) << ", kernel " << axis.kernel << ", stride " << axis.stride);
      Handle average, most, places;
      if (axis.dilation == 1) {
        REQUIRE(aoti_torch_cpu_avg_pool2d(self.get(), kernel, 2, steps, 2, padding, 2, 0, 0,
                                          nullptr, average.out()) == 0);
        CHECK(difference(average.values(), reference(self, axes, true).values,
                         tolerance(type, 8)) == "");
      }
      for (const std::int64_t at : {0, 5, 100}) {
        if (at < self->numel) self.set(at, std::nan(""));
      }
      REQUIRE(aoti_torch_cpu_max_pool2d_with_indices(self.get(), kernel, 2, steps, 2, padding, 2,
                                                     dilation, 2, 0, most.out(),
                                                     places.out()) == 0);
      const Found found = reference(self, axes, false);
      CHECK(places.values() == found.places);
      CHECK(difference(most.values(), found.values, 0) == "");
    }
  }
}

TEST_CASE("averages of the smallest whole numbers wrap around", "[cpu_aoti]") {
  Fixture fixture;
  constexpr double smallest = -9223372036854775808.0;
  Handle self = make({1, 1, 2}, ScalarType::Long);
  for (std::int64_t i = 0; i < 2; ++i) self.set(i, smallest);
  const std::int64_t one = 1, sizes[] = {1, 2}, zero = 0;
  const auto pool = [&](const std::int64_t* kernel, std::int64_t count, std::int64_t divisor) {
    Handle out;
    REQUIRE(aoti_torch_cpu_avg_pool2d(self.get(), kernel, count, &one, 1, &zero, 1, 0, 1, &divisor,
                                      out.out()) == 0);
    return out.values();
  };
  CHECK(pool(&one, 1, -1) == std::vector<double>{smallest, smallest});
  CHECK(pool(sizes, 2, 1) == std::vector<double>{0});
}

TEST_CASE("pooling: refusals, and no memory in a second call", "[cpu_aoti]") {
  Fixture fixture;
  Random source;
  const std::int64_t size[] = {3, 3}, zero = 0, one = 1, three = 3, nine = 9;
  Handle flat = random(source, {4, 5});
  Handle empty = random(source, {2, 0, 4, 5});
  Handle whole = random(source, {2, 3, 4, 5}, ScalarType::Int);
  Handle self = random(source, {2, 3, 4, 5}, ScalarType::Float, {60, 1, 15, 3});
  Handle out, places;
  const auto failure = [&] { return fixture.pool.take_failure(); };
  CHECK(aoti_torch_cpu__adaptive_avg_pool2d(flat.get(), size, 2, out.out()) == 1);
  CHECK_THAT(failure(), ContainsSubstring("an input [4, 5]: expected 3 or 4 dimensions"));
  CHECK(aoti_torch_cpu__adaptive_avg_pool2d(empty.get(), size, 2, out.out()) == 1);
  CHECK_THAT(failure(), ContainsSubstring("none but the batch empty"));
  CHECK(aoti_torch_cpu__adaptive_avg_pool2d(self.get(), size, 1, out.out()) == 1);
  CHECK_THAT(failure(), ContainsSubstring("an output size [3]: expected 2 sizes"));
  CHECK(aoti_torch_cpu__adaptive_avg_pool2d(whole.get(), size, 2, out.out()) == 1);
  CHECK_THAT(failure(), ContainsSubstring("elements of Int"));
  const auto pool = [&](std::int64_t kernel, std::int64_t padding) {
    return aoti_torch_cpu_max_pool2d_with_indices(self.get(), &kernel, 1, &one, 1, &padding, 1,
                                                  &one, 1, 0, out.out(), places.out());
  };
  CHECK(pool(three, 2) == 1);
  CHECK_THAT(failure(), ContainsSubstring("a padding 2: expected at most half"));
  CHECK(pool(nine, zero) == 1);
  CHECK_THAT(failure(), ContainsSubstring("expected one in which a kernel of 9 has place"));
  CHECK(pool(zero, zero) == 1);
  CHECK_THAT(failure(), ContainsSubstring("a kernel size 0: expected 1 to 2147483647"));
  // With the elements of the padding: 2^64 of a kernel, which is 0 for a whole number of 64 bits.
  Handle longs = random(source, {1, 1, 1, 1, 1}, ScalarType::Long);
  const auto average = [&](std::int64_t kernel) {
    const std::int64_t padding = kernel / 2;
    return aoti_torch_cpu_avg_pool3d(longs.get(), &kernel, 1, &one, 1, &padding, 1, 0, 1, nullptr,
                                     out.out());
  };
  CHECK(average(std::int64_t{1} << 32) == 1);
  CHECK_THAT(failure(), ContainsSubstring("a kernel size 4294967296: expected 1 to 2147483647"));
  CHECK(average(std::int64_t{1} << 22) == 1);
  CHECK_THAT(failure(), ContainsSubstring("a kernel of 4194304 x 4194304 x 4194304 elements"));
  std::size_t before = 0;
  for (int i = 0; i < 2; ++i) {
    Handle a, b, c;
    before = allocations();
    REQUIRE(aoti_torch_cpu__adaptive_avg_pool2d(self.get(), size, 2, a.out()) == 0);
    REQUIRE(aoti_torch_cpu_adaptive_max_pool2d(self.get(), size, 2, b.out(), c.out()) == 0);
  }
  CHECK(allocations() == before);
}

}  // namespace pooling_test
