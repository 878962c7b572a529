// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstddef>
#include <random>
#include <string_view>
#include <vector>

#include "support/catch.hpp"
#include "tenon/host/files/sort_names.hpp"

using namespace tenon::host;

TEST_CASE("lists of any length and order are sorted, equal items included", "[discovery]") {
  std::minstd_rand random(7);
  for (std::size_t size = 0; size < 70; ++size) {
    std::vector<std::size_t> items(size);
    for (std::size_t& item : items) item = random() % 40;
    std::vector<std::size_t> expected = items;
    std::sort(expected.begin(), expected.end());
    tenon::host::detail::sort_list(items.data(), items.size());
    CHECK(items == expected);
    tenon::host::detail::sort_list(items.data(), items.size());
    CHECK(items == expected);
    std::reverse(items.begin(), items.end());
    tenon::host::detail::sort_list(items.data(), items.size());
    CHECK(items == expected);
  }
}

TEST_CASE("names are sorted by their bytes", "[discovery]") {
  std::vector<std::string_view> names{"b", "\xc3\xa9", "", "a", "B", "ab", "a"};
  tenon::host::detail::sort_names(names);
  CHECK(names == std::vector<std::string_view>{"", "B", "a", "a", "ab", "b", "\xc3\xa9"});
}
