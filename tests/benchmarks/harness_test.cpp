// SPDX-License-Identifier: MIT
#include "harness.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <thread>

#include "support/catch.hpp"

using tenon::bench::keep;
using tenon::bench::measure;
using tenon::bench::summarize;
using tenon::bench::Value;

TEST_CASE("the halves of rounds are the least of the even and of the odd ones") {
  CHECK(summarize({10, 20, 5}).halves == std::array<double, 2>{5, 20});
  CHECK(summarize({10, 20, 30}).halves == std::array<double, 2>{10, 20});
  CHECK(summarize({10, 20, 30, 15}).halves == std::array<double, 2>{10, 15});
  CHECK(summarize({7}).halves == std::array<double, 2>{7, 7});
}

TEST_CASE("the minimum and the median of rounds do not depend on their order") {
  const Value value = summarize({9, 1, 5});
  CHECK(value.minimum == 1);
  CHECK(value.median == 5);
}

TEST_CASE("a slow first run does not make the batches after it short") {
  bool is_first = true;
  std::uint64_t most = 0;
  static_cast<void>(measure({2}, {[&](std::uint64_t repeats) {
                              if (is_first)
                                std::this_thread::sleep_for(std::chrono::milliseconds(20));
                              is_first = false;
                              most = std::max(most, repeats);
                              for (std::uint64_t i = 0; i < repeats; ++i) keep(i);
                            }}));
  CHECK(most > 1000);
}
