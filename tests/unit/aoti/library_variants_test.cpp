// SPDX-License-Identifier: MIT
#include "tenon/aoti/library/library_variants.hpp"

#include <cstdint>
#include <string>
#include <vector>

#include "support/catch.hpp"

using namespace tenon;
using namespace tenon::aoti;

namespace library_variants_test {
namespace {

/// The key of the library for a device; "" when there is none.
std::string chosen(const std::vector<LibraryVariant>& variants, unsigned sm) {
  const auto index = choose_for_sm(variants, sm);
  return index.ok() ? variants[*index].library_key : "";
}

}  // namespace

TEST_CASE("a library for the very device comes before PTX, and PTX before what is for fallback",
          "[aoti]") {
  const std::vector<LibraryVariant> all = {{"fallback", 75, 75, true},
                                           {"ampere", 80},
                                           {"with ptx", 86, 80},
                                           {"hopper", 90, 90},
                                           {"older fallback", 70, 70, true}};
  CHECK(chosen(all, 80) == "ampere");
  CHECK(chosen(all, 86) == "with ptx");
  CHECK(chosen(all, 87) == "with ptx");  // Compiled from compute_80: not from 75, not from 90.
  CHECK(chosen(all, 90) == "hopper");
  CHECK(chosen(all, 100) == "hopper");  // The highest that is not above.
  CHECK(chosen(all, 75) == "fallback");
  CHECK(chosen(all, 72) == "older fallback");
  CHECK(chosen(all, 61).empty());
}

TEST_CASE("binaries are for their own compute capability alone", "[aoti]") {
  CHECK(chosen({{"a", 80}}, 86).empty());
  CHECK(chosen({{"a", 80, 80}}, 86) == "a");
  CHECK(chosen({{"a", 90, 90}}, 80).empty());
  // One for fallback is its PTX, also on the device that it was compiled on.
  CHECK(chosen({{"fallback", 90, 80, true}, {"ptx", 86, 80}}, 90) == "ptx");
}

TEST_CASE("a library for unknown devices is used on every one", "[aoti]") {
  CHECK(chosen({{"a"}}, 120) == "a");
}

TEST_CASE("the refusal names the device and what there is", "[aoti]") {
  const std::vector<LibraryVariant> two = {{"a", 80, 80}, {"b", 90}, {"c", 75, 75, true}};
  CHECK(choose_for_sm(two, 70).error() == Error::DelegateInvalidCompatibility);
  CHECK(std::string(choose_for_sm(two, 70).text()) ==
        "the program has no library for this device, which is sm_70; its 3 libraries are for "
        "sm_80 with compute_80 (PTX), sm_90, compute_75 (PTX, fallback)");
  std::vector<LibraryVariant> many;
  for (std::uint32_t sm = 100; sm < 120; ++sm) many.push_back({"x", sm});
  CHECK_THAT(text_of(many), ContainsSubstring("sm_115 and 4 more"));
}

TEST_CASE("of equal candidates the first is chosen, and none where none fits", "[aoti]") {
  const std::vector<int> fits = {0, 2, 5, 5, 1};
  const auto fit = [&](std::size_t i) { return static_cast<std::uint64_t>(fits[i]); };
  CHECK(best_fit(fits.size(), fit) == std::size_t{2});
  CHECK_FALSE(best_fit(1, fit).has_value());
  CHECK_FALSE(best_fit(0, fit).has_value());
}

}  // namespace library_variants_test
