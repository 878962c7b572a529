// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <numbers>
#include <set>
#include <string>
#include <vector>

#include "kernel_support.hpp"
#include "kernels/fft/fft.hpp"
#include "kernels/fft/kissfft.hpp"
#include "operators/arguments.hpp"
#include "support/catch.hpp"

using namespace kernel_test;
using namespace tenon::cpu_aoti;

namespace fft_test {
namespace {

using Complex = std::complex<float>;
using Wide = std::complex<double>;
using Numbers = std::vector<Wide>;

/// A complex tensor of random numbers, and a copy of them in row-major order.
Handle random_complex(Random& source, const Shape& sizes, const Shape& strides, Numbers& copy) {
  auto& pool = tenon::aoti::current_pool();
  Handle out(pool.empty_strided(sizes, strides.empty() ? nullptr : strides.data(),
                                ScalarType::ComplexFloat, tenon::aoti::TorchDeviceType::cpu, 0));
  copy.clear();
  for (std::int64_t i = 0; i < out->numel; ++i) {
    const Complex value(static_cast<float>(source.uniform()), static_cast<float>(source.uniform()));
    out->as<Complex>()[offset_of(*out, i)] = value;
    copy.emplace_back(value.real(), value.imag());
  }
  return out;
}

/// The transform by its definition, along one dimension of a row-major tensor.
Numbers defined(const Numbers& from, const Shape& sizes, std::size_t dim, bool inverse) {
  std::int64_t inner = 1;
  for (std::size_t d = dim + 1; d < sizes.size(); ++d) inner *= sizes[d];
  const std::int64_t size = sizes[dim];
  Numbers out(from.size());
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(from.size()); ++i) {
    const std::int64_t k = i / inner % size;
    const std::int64_t line = i - k * inner;
    Wide sum = 0;
    for (std::int64_t j = 0; j < size; ++j) {
      const double turns = static_cast<double>(j * k % size) / static_cast<double>(size);
      const double angle = (inverse ? 2 : -2) * std::numbers::pi * turns;
      sum += from[static_cast<std::size_t>(line + j * inner)] * std::polar(1.0, angle);
    }
    out[static_cast<std::size_t>(i)] = sum;
  }
  return out;
}

/// The largest difference of a result, complex or real, from row-major numbers.
double difference(const Handle& found, const Numbers& expected) {
  REQUIRE(found->numel == static_cast<std::int64_t>(expected.size()));
  double most = 0;
  for (std::int64_t i = 0; i < found->numel; ++i) {
    const std::int64_t at = offset_of(*found, i);
    Wide value = 0;
    if (found->scalar_type == ScalarType::Float) {
      value = found->as<float>()[at];
    } else {
      const Complex element = found->as<Complex>()[at];
      value = {element.real(), element.imag()};
    }
    most = std::max(most, std::abs(value - expected[static_cast<std::size_t>(i)]));
  }
  return most;
}

constexpr double most = 2e-5;  // Of sums of up to 210 numbers in [-1, 1].

}  // namespace

TEST_CASE("complex transforms of any length follow the definition", "[cpu_aoti][fft]") {
  Fixture fixture;
  Random source;
  for (const std::int64_t size : {1, 2, 3, 4, 5, 7, 8, 30, 64, 97, 210}) {
    for (const bool forward : {true, false}) {
      INFO(size << (forward ? " forward" : " inverse"));
      Numbers numbers;
      const Handle self = random_complex(source, {2, size}, {size + 3, 1}, numbers);
      const std::int64_t dim = -1;
      Handle out;
      REQUIRE(aoti_torch_cpu__fft_c2c(self.get(), &dim, 1, 0, forward, out.out()) == 0);
      CHECK(out.strides() == Shape{size, 1});
      CHECK(difference(out, defined(numbers, {2, size}, 1, !forward)) < most);
    }
  }
}

TEST_CASE("transforms along several dimensions are laid out and scaled as PyTorch does it",
          "[cpu_aoti][fft]") {
  Fixture fixture;
  Random source;
  Numbers numbers;
  const Shape sizes = {3, 4, 5};
  const Handle self = random_complex(source, sizes, {}, numbers);
  const std::int64_t dims[] = {0, 2};
  for (const std::int64_t scaling : {0, 1, 2}) {
    Numbers expected = defined(defined(numbers, sizes, 0, false), sizes, 2, false);
    const double factor = scaling == 0 ? 1 : scaling == 1 ? 1 / std::sqrt(15.0) : 1 / 15.0;
    for (Wide& number : expected) number *= factor;
    Handle out;
    REQUIRE(aoti_torch_cpu__fft_c2c(self.get(), dims, 2, scaling, 1, out.out()) == 0);
    // The dimension that is not transformed is the outermost one.
    CHECK(out.strides() == Shape{5, 15, 1});
    CHECK(difference(out, expected) < most);
  }
  // Transformed dimensions are in the order of the operand's strides.
  const Handle turned = random_complex(source, {4, 6}, {1, 4}, numbers);
  const std::int64_t both[] = {0, 1};
  Handle out;
  REQUIRE(aoti_torch_cpu__fft_c2c(turned.get(), both, 2, 0, 1, out.out()) == 0);
  CHECK(out.strides() == Shape{1, 4});
  CHECK(difference(out, defined(defined(numbers, {4, 6}, 0, false), {4, 6}, 1, false)) < most);
  Handle copy;
  REQUIRE(aoti_torch_cpu__fft_c2c(turned.get(), nullptr, 0, 0, 1, copy.out()) == 0);
  CHECK(difference(copy, numbers) == 0);
}

TEST_CASE("a real transform has half of the spectrum or all of it, and comes back",
          "[cpu_aoti][fft]") {
  Fixture fixture;
  Random source;
  for (const std::int64_t size : {1, 2, 5, 6, 9, 16}) {
    INFO(size);
    const Shape sizes = {3, size};
    const Handle self = random(source, sizes, ScalarType::Float, {1, 3});
    Numbers numbers;
    for (const double value : self.values()) numbers.emplace_back(value, 0);
    const Numbers whole = defined(defined(numbers, sizes, 1, false), sizes, 0, false);
    Numbers half;
    for (std::size_t i = 0; i < whole.size(); ++i) {
      if (static_cast<std::int64_t>(i) % size <= size / 2) half.push_back(whole[i]);
    }
    const std::int64_t dims[] = {0, 1};
    Handle onesided, full;
    REQUIRE(aoti_torch_cpu__fft_r2c(self.get(), dims, 2, 0, 1, onesided.out()) == 0);
    CHECK(onesided.sizes() == Shape{3, size / 2 + 1});
    CHECK(difference(onesided, half) < most);
    REQUIRE(aoti_torch_cpu__fft_r2c(self.get(), dims, 2, 0, 0, full.out()) == 0);
    CHECK(full.sizes() == sizes);
    CHECK(difference(full, whole) < most);

    OwnedTensor back(nullptr);
    REQUIRE(transform_to_real(*onesided, dims, 2, size, back).ok());
    CHECK(difference(Handle(back.take()), numbers) < most);
  }
}

/// Three complex numbers, and the real ones that they become.
struct HalfSpectrum {
  bool transform(std::int64_t size) {
    const std::int64_t dim = 0;
    return transform_to_real(*self, {&dim, 1}, 0, size, out).ok();
  }

  Random source;
  Numbers numbers;
  Handle self = random_complex(source, {3}, {}, numbers);
  OwnedTensor out{nullptr};
};

TEST_CASE("the imaginary parts that real numbers do not have are left out", "[cpu_aoti][fft]") {
  Fixture fixture;
  HalfSpectrum half;
  REQUIRE(half.transform(4));
  const Numbers& numbers = half.numbers;
  const Numbers spectrum = {numbers[0].real(), numbers[1], numbers[2].real(),
                            std::conj(numbers[1])};
  CHECK(difference(Handle(half.out.take()), defined(spectrum, {4}, 0, true)) < most);
}

TEST_CASE("a transform of no lines has no elements", "[cpu_aoti][fft]") {
  Fixture fixture;
  const Handle self = make({0, 4});
  const std::int64_t dim = 1;
  Handle out;
  REQUIRE(aoti_torch_cpu__fft_r2c(self.get(), &dim, 1, 0, 1, out.out()) == 0);
  CHECK(out.sizes() == Shape{0, 3});
}

TEST_CASE("transforms refuse other types, dimensions and sizes", "[cpu_aoti][fft]") {
  Fixture fixture;
  const auto refusal = [&](const Handle& self, std::vector<std::int64_t> dims,
                           std::int64_t scaling) {
    Handle out;
    CHECK(aoti_torch_cpu__fft_r2c(self.get(), dims.data(), static_cast<std::int64_t>(dims.size()),
                                  scaling, 1, out.out()) == 1);
    return fixture.pool.take_failure();
  };
  const Handle self = make({2, 3});
  CHECK_THAT(refusal(make({2}, ScalarType::Double), {0}, 0),
             ContainsSubstring("elements of Double: expected Float"));
  CHECK_THAT(refusal(self, {}, 0), ContainsSubstring("no dimensions"));
  CHECK_THAT(refusal(self, {2}, 0), ContainsSubstring("dimension 2 of 2"));
  CHECK_THAT(refusal(self, {1, -1}, 0), ContainsSubstring("each at most once"));
  CHECK_THAT(refusal(self, {1}, 3), ContainsSubstring("normalization 3"));
  CHECK_THAT(refusal(make({2, 0}), {1}, 0), ContainsSubstring("at least one element"));
  CHECK_THAT(refusal(make({}), {0}, 0), ContainsSubstring("of a tensor with dimensions"));

  HalfSpectrum half;
  CHECK_FALSE(half.transform(6));
  CHECK_FALSE(half.transform(0));
  const std::int64_t dim = 0;
  CHECK_FALSE(transform_to_real(*self, {&dim, 1}, 0, 2, half.out).ok());
  CHECK(FftPlans().find(std::int64_t{1} << 40, false).error() == tenon::Error::NotSupported);
}

TEST_CASE("steady transforms allocate nothing, and lengths that change do not add up",
          "[cpu_aoti][fft]") {
  Fixture fixture;
  Random source;
  const Handle self = random(source, {4, 30});
  const std::int64_t dim = 1;
  std::size_t before = 0;
  for (int run = 0; run < 3; ++run) {
    if (run == 1) before = allocations();
    Handle out;
    REQUIRE(aoti_torch_cpu__fft_r2c(self.get(), &dim, 1, 0, 1, out.out()) == 0);
  }
  CHECK(allocations() == before);

  FftPlans plans;
  const FftPlan* last = nullptr;
  for (std::int64_t size = 1; size < 40; ++size) {
    const auto plan = plans.find(size, false);
    REQUIRE(plan.ok());
    last = *plan;
  }
  CHECK(*plans.find(39, false) == last);
}

TEST_CASE("many lengths in turn each keep their plan", "[cpu_aoti][fft]") {
  FftPlans plans;
  std::set<const FftPlan*> places;
  for (int round = 0; round < 2; ++round) {
    places.clear();
    for (std::int64_t size = 1; size <= 100; ++size) {
      const auto plan = plans.find(size, size % 2 == 0);
      REQUIRE(plan.ok());
      places.insert(*plan);
    }
  }
  CHECK(places.size() == 100);
  for (std::int64_t size = 101; size < 2000; ++size) REQUIRE(plans.find(size, false).ok());
  CHECK(plans.size() == FftPlans::most_plans);
}

TEST_CASE("the memory of plans is bounded, and what was used last is kept", "[cpu_aoti][fft]") {
  FftPlans plans;
  constexpr std::int64_t first = 1 << 20, step = 4, count = 7;  // Of 8 MiB and a little.
  const auto make_plan = [&](std::int64_t i) {
    REQUIRE(plans.find(first + i * step, false).ok());
    CHECK(plans.nbytes() <= FftPlans::most_bytes);
    return plans.nbytes();
  };
  for (std::int64_t i = 0; i < count; ++i) make_plan(i);
  REQUIRE(plans.size() == count);
  make_plan(0);
  const std::size_t nbytes = make_plan(count);  // Replaces number 1.
  CHECK(plans.size() == count);
  CHECK(make_plan(0) == nbytes);
  CHECK(make_plan(2) == nbytes);
  CHECK(make_plan(1) < nbytes);  // Replaces number 3, which is longer.
  // A plan that is larger than the limit alone, and the next plan in its place.
  REQUIRE(plans.find(std::int64_t{1} << 23, false).ok());
  CHECK(plans.size() == 1);
  CHECK(plans.nbytes() >= FftPlans::most_bytes);
  REQUIRE(plans.find(8, false).ok());
  CHECK(plans.nbytes() < 10000);
}

TEST_CASE("kissfft is loaded before the first transform", "[cpu_aoti][fft]") {
  const OperatorKernel* const back = find_operator("aten::_fft_c2r");
  REQUIRE(back != nullptr);
  REQUIRE(back->load == &fft::load);
  CHECK(back->load().ok());
}

}  // namespace fft_test
