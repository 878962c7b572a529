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

namespace {

constexpr ScalarType real_types[] = {ScalarType::Float, ScalarType::Double, ScalarType::BFloat16,
                                     ScalarType::Half};

struct Moments {
  double mean = 0, deviation = 0, least = 1e9, most = -1e9;
};

Moments moments(const Handle& tensor) {
  Moments m;
  double squares = 0;
  const auto count = static_cast<double>(tensor->numel);
  for (const double x : tensor.values()) {
    m.mean += x / count;
    squares += x * x / count;
    m.least = std::min(m.least, x);
    m.most = std::max(m.most, x);
  }
  m.deviation = std::sqrt(squares - m.mean * m.mean);
  return m;
}

}  // namespace

// The limits below are ten standard deviations and more, so that chance cannot fail a test.
TEST_CASE("rand and randn have the right distribution", "[cpu_aoti]") {
  Fixture fixture;
  const std::int64_t size[] = {101, 1001};
  for (const ScalarType type : real_types) {
    auto dtype = static_cast<std::int32_t>(type);
    Handle uniform, normal;
    REQUIRE(aoti_torch_cpu_rand(size, 2, &dtype, nullptr, nullptr, 0, nullptr, uniform.out()) == 0);
    REQUIRE(aoti_torch_cpu_randn(size, 2, &dtype, nullptr, nullptr, 0, nullptr, normal.out()) == 0);
    const Moments u = moments(uniform), n = moments(normal);
    CHECK(u.least >= 0);
    CHECK(u.most < 1);
    CHECK(std::abs(u.mean - 0.5) < 0.012);
    CHECK(std::abs(u.deviation - std::sqrt(1.0 / 12)) < 0.01);
    CHECK(std::abs(n.mean) < 0.035);
    CHECK(std::abs(n.deviation - 1) < 0.035);
    CHECK(n.most > 3);
    CHECK(n.most < 9);
    CHECK(uniform->scalar_type == type);
    CHECK(uniform.sizes() == Shape{101, 1001});
  }
  Handle usual;
  REQUIRE(aoti_torch_cpu_rand(size, 1, nullptr, nullptr, nullptr, 0, nullptr, usual.out()) == 0);
  CHECK(usual->scalar_type == ScalarType::Float);
}

TEST_CASE("randint: every number, seeds of all bits", "[cpu_aoti]") {
  Fixture fixture;
  const std::int64_t size = 7000;
  auto byte = static_cast<std::int32_t>(ScalarType::Byte);
  Handle out, bytes;
  REQUIRE(aoti_torch_cpu_randint_low(-3, 4, &size, 1, nullptr, nullptr, nullptr, 0, nullptr,
                                     out.out()) == 0);
  CHECK(out->scalar_type == ScalarType::Long);
  for (int i = -3; i < 4; ++i) CHECK(std::ranges::count(out.values(), i) > 600);
  REQUIRE(aoti_torch_cpu_randint(256, &size, 1, &byte, nullptr, nullptr, 0, nullptr, bytes.out()) ==
          0);
  CHECK(moments(bytes).most == 255);
  using Limits = std::numeric_limits<std::int64_t>;
  const std::int64_t count = 64;
  Handle seeds = make({count}, ScalarType::Long), again = make({count}, ScalarType::Long);
  for (const Handle* to : {&seeds, &again}) {
    REQUIRE(aoti_torch_cpu_randint_low_out(to->get(), Limits::min(), Limits::max(), &count, 1) ==
            0);
  }
  std::uint64_t ones = 0, zeros = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    CHECK(seeds->as<std::int64_t>()[i] != again->as<std::int64_t>()[i]);
    ones |= seeds->as<std::uint64_t>()[i];
    zeros |= ~seeds->as<std::uint64_t>()[i];
  }
  CHECK(ones == ~std::uint64_t{0});
  CHECK(zeros == ~std::uint64_t{0});
}

TEST_CASE("randperm and bernoulli", "[cpu_aoti]") {
  Fixture fixture;
  Handle order;
  REQUIRE(aoti_torch_cpu_randperm(1000, nullptr, nullptr, nullptr, 0, nullptr, order.out()) == 0);
  auto values = order.values();
  CHECK_FALSE(std::ranges::is_sorted(values));
  std::ranges::sort(values);
  for (std::size_t i = 0; i < 1000; ++i) CHECK(values[i] == static_cast<double>(i));

  for (const ScalarType type : {ScalarType::Float, ScalarType::BFloat16, ScalarType::Bool}) {
    Handle self = make({3, 20000}, type, {1, 3});
    REQUIRE(aoti_torch_cpu_bernoulli__float(self.get(), 0.3, nullptr) == 0);
    CHECK(std::abs(moments(self).mean - 0.3) < 0.02);
    Handle p = make({3, 1}, ScalarType::Double);
    for (int i = 0; i < 3; ++i) p.set(i, i / 2.0);
    REQUIRE(aoti_torch_cpu_bernoulli__Tensor(self.get(), p.get(), nullptr) == 0);
    for (std::int64_t row = 0; row < 3; ++row) {
      double sum = 0;
      for (std::int64_t i = 0; i < 20000; ++i) sum += self.at(row * 20000 + i);
      CHECK(std::abs(sum - static_cast<double>(row) * 10000) <= (row == 1 ? 800 : 0));
    }
  }
}

TEST_CASE("random numbers: refusals, and no memory in a second call", "[cpu_aoti]") {
  Fixture fixture;
  const std::int64_t size = 100;
  auto byte = static_cast<std::int32_t>(ScalarType::Byte);
  Handle out;
  const auto failure = [&] { return fixture.pool.take_failure(); };
  CHECK(aoti_torch_cpu_randint(0, &size, 1, nullptr, nullptr, nullptr, 0, nullptr, out.out()) == 1);
  CHECK_THAT(failure(), ContainsSubstring("randint: numbers from 0 to below 0"));
  CHECK(aoti_torch_cpu_randint(257, &size, 1, &byte, nullptr, nullptr, 0, nullptr, out.out()) == 1);
  CHECK_THAT(failure(), ContainsSubstring("expected some that fit into Byte"));
  CHECK(aoti_torch_cpu_rand(&size, 1, &byte, nullptr, nullptr, 0, nullptr, out.out()) == 1);
  CHECK_THAT(failure(), ContainsSubstring("elements of Byte"));
  Handle self = make({100});
  void* generator = nullptr;
  CHECK(aoti_torch_cpu_bernoulli__float(self.get(), 1.5, nullptr) == 1);
  CHECK_THAT(failure(), ContainsSubstring("a probability 1.5: expected 0 to 1"));
  CHECK(aoti_torch_cpu_bernoulli__Tensor(self.get(), self.get(), nullptr) == 1);
  CHECK_THAT(failure(), ContainsSubstring("a probability nan"));
  CHECK(aoti_torch_cpu_bernoulli__float(self.get(), 0.5, &generator) == 1);
  CHECK_THAT(failure(), ContainsSubstring("a generator was given"));
  const std::int64_t other = 99;
  CHECK(aoti_torch_cpu_randint_low_out(self.get(), 0, 2, &other, 1) == 1);
  CHECK_THAT(failure(), ContainsSubstring("a result [100]: expected [99]"));
  std::size_t before = 0;
  for (int i = 0; i < 2; ++i) {
    Handle a;
    before = allocations();
    REQUIRE(aoti_torch_cpu_randn(&size, 1, nullptr, nullptr, nullptr, 0, nullptr, a.out()) == 0);
  }
  CHECK(allocations() == before);
}

TEST_CASE("numbers like another tensor's have its shape and the right distribution", "[cpu_aoti]") {
  Fixture fixture;
  for (const ScalarType type : real_types) {
    Handle self = make({101, 1001}, type);
    Handle even, normal, flat, bell, waits;
    REQUIRE(aoti_torch_cpu_rand_like(self.get(), nullptr, nullptr, nullptr, 0, nullptr, nullptr,
                                     even.out()) == 0);
    REQUIRE(aoti_torch_cpu_randn_like(self.get(), nullptr, nullptr, nullptr, 0, nullptr, nullptr,
                                      normal.out()) == 0);
    REQUIRE(aoti_torch_cpu_uniform(self.get(), -2, 6, nullptr, flat.out()) == 0);
    REQUIRE(aoti_torch_cpu_normal_functional(self.get(), 3, 0.5, nullptr, bell.out()) == 0);
    REQUIRE(aoti_torch_cpu_exponential(self.get(), 2, nullptr, waits.out()) == 0);
    CHECK(even->scalar_type == type);
    CHECK(flat.sizes() == Shape{101, 1001});
    CHECK(std::abs(moments(even).mean - 0.5) < 0.012);
    CHECK(std::abs(moments(normal).deviation - 1) < 0.035);
    CHECK(moments(flat).least >= -2);
    CHECK(moments(flat).most < 6);
    CHECK(std::abs(moments(flat).mean - 2) < 0.1);
    CHECK(std::abs(moments(bell).mean - 3) < 0.03);
    CHECK(std::abs(moments(bell).deviation - 0.5) < 0.03);
    CHECK(moments(waits).least > 0);
    CHECK(std::abs(moments(waits).mean - 0.5) < 0.03);
    CHECK(std::abs(moments(waits).deviation - 0.5) < 0.06);
  }
  Handle self = make({7000}), small, dice;
  auto dtype = static_cast<std::int32_t>(ScalarType::Long);
  REQUIRE(aoti_torch_cpu_randint_like(self.get(), 5, &dtype, nullptr, nullptr, 0, nullptr, nullptr,
                                      small.out()) == 0);
  CHECK(small->scalar_type == ScalarType::Long);
  for (int i = 0; i < 5; ++i) CHECK(std::ranges::count(small.values(), i) > 900);
  REQUIRE(aoti_torch_cpu_randint_like_low_dtype(self.get(), 1, 7, nullptr, nullptr, nullptr, 0,
                                                nullptr, nullptr, dice.out()) == 0);
  CHECK(dice->scalar_type == ScalarType::Float);
  CHECK(moments(dice).least == 1);
  CHECK(moments(dice).most == 6);
}

TEST_CASE("distributions are rounded once, inside their ranges", "[cpu_aoti]") {
  Fixture fixture;
  Handle self = make({200000}, ScalarType::BFloat16), flat, bell, end, point, same;
  REQUIRE(aoti_torch_cpu_uniform(self.get(), 0, 1, nullptr, flat.out()) == 0);
  REQUIRE(aoti_torch_cpu_normal_functional(self.get(), 1, 1, nullptr, bell.out()) == 0);
  // Of numbers with 8 bits there is none below 1 / 256, and no sum with 1 between 0 and 1 / 256.
  const auto small = [](double x) { return x != 0 && std::abs(x) < 1.0 / 256; };
  CHECK(std::ranges::count_if(flat.values(), small) > 500);
  CHECK(std::ranges::count_if(bell.values(), small) > 150);
  CHECK(moments(flat).most < 1);
  // Between 1 and the next BFloat16 there is no other, and the end is excluded.
  REQUIRE(aoti_torch_cpu_uniform(self.get(), 1, 1.0078125, nullptr, end.out()) == 0);
  CHECK(moments(end).most == 1);
  REQUIRE(aoti_torch_cpu_uniform(self.get(), 0, 0.3, nullptr, point.out()) == 0);
  CHECK(moments(point).most < 0.30078125);
  REQUIRE(aoti_torch_cpu_uniform(self.get(), 2, 2, nullptr, same.out()) == 0);
  CHECK(moments(same).least == 2);
  CHECK(moments(same).most == 2);
  for (const ScalarType type : real_types) {
    Handle like = make({1000}, type), waits;
    REQUIRE(aoti_torch_cpu_exponential(like.get(), 1e300, nullptr, waits.out()) == 0);
    CHECK(moments(waits).least > 0);
  }
}

TEST_CASE("native_dropout keeps its share, scaled, and everything without training", "[cpu_aoti]") {
  Fixture fixture;
  Handle input = make({200, 100}, ScalarType::Float, {1, 200});
  for (std::int64_t i = 0; i < input->numel; ++i) input.set(i, 3);
  std::int32_t train = 1, none = 0;
  Handle out, kept, same, all;
  REQUIRE(aoti_torch_cpu_native_dropout(input.get(), 0.25, &train, out.out(), kept.out()) == 0);
  CHECK(std::abs(moments(kept).mean - 0.75) < 0.04);
  CHECK(kept->scalar_type == ScalarType::Bool);
  for (std::int64_t i = 0; i < out->numel; ++i) {
    REQUIRE(out.at(i) == (kept.at(i) != 0 ? 4.0 : 0.0));
  }
  REQUIRE(aoti_torch_cpu_native_dropout(input.get(), 0.25, &none, same.out(), all.out()) == 0);
  CHECK(same.values() == input.values());
  CHECK(moments(all).least == 1);
}

TEST_CASE("distributions refuse parameters that have none", "[cpu_aoti]") {
  Fixture fixture;
  Handle self = make({4}), whole = make({4}, ScalarType::Long), out, second;
  void* generator = nullptr;
  const auto text = [&](tenon::aoti::ShimError failed) {
    CHECK(failed == 1);
    return fixture.pool.take_failure();
  };
  CHECK_THAT(text(aoti_torch_cpu_uniform(self.get(), 2, 1, nullptr, out.out())),
             ContainsSubstring("uniform: numbers from 2 to below 1"));
  Handle half = make({4}, ScalarType::Half);
  CHECK_THAT(text(aoti_torch_cpu_uniform(half.get(), 0, 1e6, nullptr, out.out())),
             ContainsSubstring("below 1e+06: expected a range that is finite in Half"));
  CHECK_THAT(text(aoti_torch_cpu_uniform(self.get(), 0, 1, &generator, out.out())),
             ContainsSubstring("a generator was given"));
  CHECK_THAT(text(aoti_torch_cpu_normal_functional(self.get(), 0, -1, nullptr, out.out())),
             ContainsSubstring("a standard deviation -1"));
  CHECK_THAT(text(aoti_torch_cpu_exponential(self.get(), 0, nullptr, out.out())),
             ContainsSubstring("a rate 0: expected more than 0"));
  CHECK_THAT(text(aoti_torch_cpu_native_dropout(self.get(), 2, nullptr, out.out(), second.out())),
             ContainsSubstring("a probability 2"));
  CHECK_THAT(text(aoti_torch_cpu_rand_like(whole.get(), nullptr, nullptr, nullptr, 0, nullptr,
                                           nullptr, out.out())),
             ContainsSubstring("rand_like: elements of Long"));
}
