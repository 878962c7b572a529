// SPDX-License-Identifier: MIT
#include "tenon/core/compile_specs.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <iterator>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "tenon/core/bytes.hpp"

namespace compile_specs_test {

using namespace tenon;

/// Specs of a host whose struct is larger than this header knows.
struct LargerSpec {
  tenon_compile_spec known;
  std::uint64_t more;
};

LargerSpec spec_of(const char* key, const std::string& value) {
  LargerSpec out{};
  out.known.struct_size = sizeof out;
  out.known.key = key;
  out.known.value = value.data();
  out.known.value_size = value.size();
  return out;
}

std::string text_of(Bytes bytes) { return std::string(as_text(bytes)); }

TEST_CASE("compile specs are a range, in their order", "[core]") {
  const std::string one = "1", two = "two", none;
  const LargerSpec all[] = {spec_of("a", one), spec_of("b", two), spec_of("a", none)};
  const CompileSpecs specs(&all[0].known, 3);
  std::string seen;
  for (const auto& [key, value] : specs) seen += std::string(key) + "=" + text_of(value) + ";";
  CHECK(seen == "a=1;b=two;a=;");

  static_assert(std::forward_iterator<CompileSpecs::Iterator>);
  const auto found = std::ranges::find(specs, std::string_view("b"),
                                       [](const CompileSpec& spec) { return spec.key; });
  REQUIRE(found != specs.end());
  CHECK(text_of((*found).value) == "two");
  CHECK(std::ranges::count(specs, std::string_view("a"), &CompileSpec::key) == 2);
  CHECK(std::distance(specs.begin(), specs.end()) == 3);
  auto at = specs.begin();
  CHECK((*at++).key == "a");
  CHECK((*at).key == "b");
  CHECK(text_of(*specs.find("a")) == "1");
  CHECK_FALSE(specs.find("c"));
}

TEST_CASE("no compile specs are an empty range", "[core]") {
  const CompileSpecs none(nullptr, 0);
  CHECK(none.begin() == none.end());
  CHECK_FALSE(none.find("a"));
}

}  // namespace compile_specs_test
