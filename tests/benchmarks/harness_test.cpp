// SPDX-License-Identifier: MIT
#include "harness.hpp"

#include <array>

#include "support/catch.hpp"

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
