// SPDX-License-Identifier: MIT
#include "harness.hpp"

#include <array>
#include <cstddef>
#include <string>

#include "rows/growth_plot.hpp"
#include "support/catch.hpp"

using tenon::bench::growth_plot;
using tenon::bench::Row;
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

TEST_CASE("the picture of growth has a curve for each side that was measured") {
  const auto count = [](const std::string& text, const std::string& part) {
    std::size_t found = 0;
    for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
    return found;
  };
  Row first, second, other;
  first.what = "a delegate call, delegates: 1";
  second.what = "a delegate call, delegates: 10";
  other.what = "a row of another group";
  first.ours = Value{4, 5, {}};
  second.ours = Value{2, 3, {}};
  other.ours = Value{1, 1, {}};
  const std::string ours = growth_plot({first, other, second});
  CHECK(count(ours, "stroke-width") == 1);
  CHECK(count(ours, "delegates, ours") == 1);
  // From the largest number at the top to half of it, at the first and the second place.
  CHECK(count(ours, "M60.0 20.0L183.3 170.0") == 1);
  second.stock = Value{1, 1, {}};
  CHECK(count(growth_plot({first, second}), "stroke-width") == 2);
  CHECK(count(growth_plot({}), "stroke-width") == 0);
}
