// SPDX-License-Identifier: MIT
//
// Random numbers with a seed. Expected numbers come from PyTorch 2.15 after
// torch.manual_seed(20261123), on x86-64 with AVX-512.
#include <cstdint>
#include <vector>

#include "kernel_support.hpp"
#include "kernels/generator.hpp"
#include "support/catch.hpp"

using namespace kernel_test;
using namespace tenon::cpu_aoti;

namespace generator_test {
namespace {

using Values = std::vector<double>;

void seed() { tenon::aoti::current_pool().cache<Generator>().seed(20261123); }

Values drawn(decltype(&aoti_torch_cpu_rand) draw, ScalarType type, std::int64_t size) {
  auto dtype = static_cast<std::int32_t>(type);
  Handle out;
  seed();
  REQUIRE(draw(&size, 1, &dtype, nullptr, nullptr, 0, nullptr, out.out()) == 0);
  return out.values();
}
Values rand(ScalarType type, std::int64_t size) { return drawn(aoti_torch_cpu_rand, type, size); }
Values randn(ScalarType type, std::int64_t size) { return drawn(aoti_torch_cpu_randn, type, size); }
Values uniform(ScalarType type) {
  const Handle self = make({5}, type);
  Handle out;
  seed();
  REQUIRE(aoti_torch_cpu_uniform(self.get(), -2.3, 5.7, nullptr, out.out()) == 0);
  return out.values();
}
Values normal(ScalarType type) {
  const Handle self = make({19}, type);
  Handle out;
  seed();
  REQUIRE(aoti_torch_cpu_normal_functional(self.get(), 0.5, 2.25, nullptr, out.out()) == 0);
  return out.values();
}

/// Logarithm, sine and cosine may differ in the last bit between C libraries.
void check_near(const Values& found, const Values& expected, double relative) {
  REQUIRE(found.size() == expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    INFO(i);
    CHECK(std::abs(found[i] - expected[i]) <= relative * (std::abs(expected[i]) + 1));
  }
}

}  // namespace

TEST_CASE("uniform numbers with a seed are PyTorch's", "[cpu_aoti]") {
  Fixture fixture;
  CHECK(rand(ScalarType::Float, 5) == Values{0.07039535045623779, 0.8773413300514221,
                                             0.632868230342865, 0.6788299679756165,
                                             0.7278599143028259});
  CHECK(rand(ScalarType::Double, 3) ==
        Values{0.5631628164599488, 0.06294619232198218, 0.8228793561988534});
  CHECK(rand(ScalarType::BFloat16, 5) ==
        Values{0.0703125, 0.87890625, 0.6328125, 0.6796875, 0.7265625});
  CHECK(rand(ScalarType::Half, 3) == Values{0.07037353515625, 0.87744140625, 0.6328125});
  CHECK(uniform(ScalarType::Float) == Values{-1.7368371486663818, 4.718730926513672,
                                             2.7629458904266357, 3.1306397914886475,
                                             3.5228793621063232});
  CHECK(uniform(ScalarType::Double) == Values{2.2053025316795907, -1.7964304614241424,
                                              4.283034849590828, 1.8948029479253634,
                                              1.240816640942679});
  CHECK(uniform(ScalarType::BFloat16) == Values{-1.734375, 4.71875, 2.765625, 3.125, 3.515625});
}

TEST_CASE("normal numbers with a seed are PyTorch's, few and many", "[cpu_aoti]") {
  Fixture fixture;
  check_near(randn(ScalarType::Float, 5),
             {-0.33256927132606506, -0.13938015699386597, 0.538927435874939, -1.0934828519821167,
              -2.690157413482666},
             1e-7);
  check_near(randn(ScalarType::Double, 5),
             {-0.3325692651911764, -0.13938016239134204, 0.5389274223980114, -1.093482858332395,
              -2.690157512209869},
             1e-15);
  check_near(normal(ScalarType::Float),
             {-0.30827805399894714, -3.3278186321258545, -1.7804688215255737, -1.339387059211731,
              4.101545333862305, 0.40060174465179443, 1.7241723537445068, 3.4807236194610596,
              1.2801693677902222, 2.159430980682373, -1.355634093284607, 0.7444934248924255,
              7.861508369445801, -0.7668898105621338, 0.664110541343689, 1.7634670734405518,
              -0.03989410772919655, 7.46605110168457, 4.37949800491333},
             3e-7);
  check_near(normal(ScalarType::Double),
             {-2.3165571794313724, 0.7769215387568614, 4.677208305452063, -0.574948667374114,
              -2.364594480498643, 0.12343447358559206, 2.760352927219231, 2.4358484878284052,
              -1.3346615247296367, -1.7167635434227486, -2.770238042197943, 0.160410943045501,
              3.4845906160303945, 0.41078139861839014, 1.4249040749530806, -0.8106648210566944,
              -1.137937316402661, -2.4357319013950045, 0.7409048863617318},
             1e-15);
  check_near(normal(ScalarType::BFloat16),
             {-0.30859375, -3.328125, -1.78125, 4.03125, 4.71875, 1.859375, -1.3359375, 4.09375,
              0.400390625, 1.7265625, 3.484375, 2.578125, 0.33203125, -1.6640625, 0.74609375, 7.875,
              -0.765625, 0.6640625, 1.765625},
             0.004);
}

TEST_CASE("numbers like a tensor's have its layout, and are drawn in the order of memory",
          "[cpu_aoti]") {
  Fixture fixture;
  const Shape sizes = {2, 3, 4, 4}, last = {48, 1, 12, 3}, usual = {48, 16, 4, 1};
  const Handle self = make(sizes, ScalarType::Float, last);
  std::int32_t contiguous = 0, channels_last = 2;
  const auto first = [](const Handle& tensor) {
    const float* const memory = tensor->as<float>();
    return Values(memory, memory + 5);
  };
  const Values even = {0.07039535045623779, 0.8773413300514221, 0.632868230342865,
                       0.6788299679756165, 0.7278599143028259};
  // Blocks of 16 are for contiguous tensors alone.
  const Values bell = {-0.33256927132606506, -0.13938015699386597, 0.538927435874939,
                       -1.0934828519821167, -2.690157413482666};
  Handle uniform, normal, whole, dice, flat, moved, waits, plain;
  seed();
  REQUIRE(aoti_torch_cpu_rand_like(self.get(), nullptr, nullptr, nullptr, 0, nullptr, nullptr,
                                   uniform.out()) == 0);
  CHECK(first(uniform) == even);
  seed();
  REQUIRE(aoti_torch_cpu_randn_like(self.get(), nullptr, nullptr, nullptr, 0, nullptr, nullptr,
                                    normal.out()) == 0);
  check_near(first(normal), bell, 1e-7);
  seed();
  REQUIRE(aoti_torch_cpu_randint_like_low_dtype(self.get(), -3, 1000, nullptr, nullptr, nullptr, 0,
                                                nullptr, nullptr, whole.out()) == 0);
  CHECK(first(whole) == Values{167, 527, 102, 336, 334});
  REQUIRE(aoti_torch_cpu_randint_like(self.get(), 7, nullptr, nullptr, nullptr, 0, nullptr, nullptr,
                                      dice.out()) == 0);
  REQUIRE(aoti_torch_cpu_uniform(self.get(), 0, 1, nullptr, flat.out()) == 0);
  seed();
  REQUIRE(aoti_torch_cpu_normal_functional(self.get(), 0, 1, nullptr, moved.out()) == 0);
  check_near(first(moved), bell, 1e-7);
  REQUIRE(aoti_torch_cpu_exponential(self.get(), 1, nullptr, waits.out()) == 0);
  for (const Handle* one : {&uniform, &normal, &whole, &dice, &flat, &moved, &waits}) {
    CHECK(one->strides() == last);
  }
  seed();
  REQUIRE(aoti_torch_cpu_rand_like(self.get(), nullptr, nullptr, nullptr, 0, nullptr, &contiguous,
                                   plain.out()) == 0);
  CHECK(plain.strides() == usual);
  CHECK(first(plain) == even);
  Handle none;
  CHECK(aoti_torch_cpu_rand_like(self.get(), nullptr, nullptr, nullptr, 0, nullptr, &channels_last,
                                 none.out()) == 1);
  CHECK_THAT(fixture.pool.take_failure(), ContainsSubstring("rand_like: memory format 2"));
}

TEST_CASE("a normal number is kept for the next call, and a seed drops it", "[cpu_aoti]") {
  Generator generator;
  generator.seed(7);
  const double first = generator.normal();
  const double second = generator.normal();
  generator.seed(7);
  CHECK(generator.normal() == first);
  generator.seed((std::uint64_t{1} << 32) + 7);  // The low half alone counts.
  CHECK(generator.normal() == first);
  CHECK(generator.normal() == second);
}

TEST_CASE("whole numbers, permutations and chances with a seed are PyTorch's", "[cpu_aoti]") {
  Fixture fixture;
  const std::int64_t six = 6, four = 4;
  Handle small, large, order;
  seed();
  REQUIRE(aoti_torch_cpu_randint_low(-3, 1000, &six, 1, nullptr, nullptr, nullptr, 0, nullptr,
                                     small.out()) == 0);
  CHECK(small.values() == Values{167, 527, 102, 336, 334, 486});
  seed();
  const std::int64_t most = std::int64_t{1} << 62;
  REQUIRE(aoti_torch_cpu_randint_low(-most, most, &four, 1, nullptr, nullptr, nullptr, 0, nullptr,
                                     large.out()) == 0);
  const std::int64_t expected[] = {2959433875255761265, 2927906726687393741, 1493599715356159740,
                                   2490709922556806123};
  for (std::size_t i = 0; i < 4; ++i) CHECK(large->as<std::int64_t>()[i] == expected[i]);
  seed();
  REQUIRE(aoti_torch_cpu_randperm(10, nullptr, nullptr, nullptr, 0, nullptr, order.out()) == 0);
  CHECK(order.values() == Values{8, 5, 9, 4, 1, 7, 0, 6, 2, 3});
  const Handle hits = make({20});
  Handle p = make({1});
  p.set(0, 0.3);
  seed();
  REQUIRE(aoti_torch_cpu_bernoulli__Tensor(hits.get(), p.get(), nullptr) == 0);
  CHECK(hits.values() == Values{1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1});
}

}  // namespace generator_test
