// SPDX-License-Identifier: MIT
//
// Patterns as people and packages write them.
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "support/catch.hpp"
#include "tenon/host/layers/discovery/impl/glob.hpp"
#include "tenon/host/platform/impl/windows/glob.hpp"

using namespace tenon::host;

namespace {

struct Match {
  const char* pattern;
  const char* name;
  bool is_match;
};

void check_matches(const std::vector<Match>& cases) {
  for (const auto& [pattern, name, is_match] : cases) {
    CAPTURE(pattern, name);
    CHECK(GlobList(pattern).matches(name) == is_match);
  }
}

}  // namespace

TEST_CASE("a pattern without signs is a whole name", "[discovery]") {
  const GlobList list("CudaBackend");
  CHECK_FALSE(list.empty());
  CHECK(list.matches("CudaBackend"));
  for (const char* name : {"", "Cuda", "CudaBackend2", "MyCudaBackend", "cudabackend"}) {
    CHECK_FALSE(list.matches(name));
  }
}

TEST_CASE("a star is any text and a question mark any character", "[discovery]") {
  check_matches({{"*", "", true},
                 {"*", ".hidden", true},
                 {"*", "a/b", true},
                 {"/opt/*.so", "/opt/acme/lib.so", true},
                 {"*Backend", "Backend", true},
                 {"*Backend", "Backends", false},
                 {"a*c*e", "abcde", true},
                 {"a*c*e", "abde", false},
                 {"?", "a", true},
                 {"?", "", false},
                 {"?", "ab", false}});
}

TEST_CASE("a class is one of its characters", "[discovery]") {
  const GlobList list("lib[a-c1].so");
  CHECK(list.matches("liba.so"));
  CHECK(list.matches("lib1.so"));
  CHECK_FALSE(list.matches("libd.so"));
  CHECK_FALSE(list.matches("lib.so"));
  CHECK_FALSE(list.matches("libab.so"));
  check_matches({{"[!a]", "b", true},
                 {"[!a]", "a", false},
                 // An unclosed bracket matches itself.
                 {"[a", "[a", true},
                 {"[a", "a", false}});
}

TEST_CASE("a backslash takes the meaning from a sign", "[discovery]") {
  check_matches({{"\\*", "*", true},
                 {"\\*", "a", false},
                 {"a\\?", "a?", true},
                 {"a\\?", "ab", false},
                 {"\\[a]", "[a]", true},
                 {"a\\\\b", "a\\b", true}});
}

TEST_CASE("a comma ends a pattern wherever it is", "[discovery]") {
  const GlobList list("[a,b]");
  CHECK_FALSE(list.matches("a"));
  CHECK_FALSE(list.matches(","));
  CHECK(list.matches("[a"));
  CHECK(list.matches("b]"));
}

TEST_CASE("blanks and line feeds around patterns and empty patterns do not count", "[discovery]") {
  for (const char* text :
       {"a,b", " a , b ", "\ta\t,\tb\t", "a,\nb\n", "\r\na,\r\nb\r\n", ",a,,b,", " , a, ,b , "}) {
    INFO(text);
    const GlobList list(text);
    CHECK_FALSE(list.empty());
    CHECK(list.matches("a"));
    CHECK(list.matches("b"));
    CHECK_FALSE(list.matches(""));
    CHECK_FALSE(list.matches(" "));
    CHECK_FALSE(list.matches("a,b"));
  }
  // Blanks within a pattern are part of it, and only a comma separates.
  CHECK(GlobList("a b").matches("a b"));
  CHECK_FALSE(GlobList("a b").matches("a"));
  CHECK_FALSE(GlobList("a\nb").matches("a"));
}

TEST_CASE("a list without a pattern matches nothing", "[discovery]") {
  for (const char* text : {"", " ", ",", " , ,", "\n", "\t\r\n,"}) {
    const GlobList list(text);
    CHECK(list.empty());
    CHECK_FALSE(list.matches(""));
    CHECK_FALSE(list.matches("a"));
  }
  CHECK(GlobList().empty());
  CHECK_FALSE(GlobList().matches(""));
}

TEST_CASE("a name with a NUL character is not taken for what comes before it", "[discovery]") {
  CHECK_FALSE(GlobList("a").matches(std::string_view("a\0b", 3)));
  CHECK_FALSE(GlobList("a").matches(std::string_view("a\0", 2)));
}

TEST_CASE("one pattern of many is enough, and long lists are read to their end", "[discovery]") {
  std::string text;
  for (int i = 0; i < 10'000; ++i) text += "name" + std::to_string(i) + ",";
  const GlobList list(text + "last");
  CHECK(list.matches("name0"));
  CHECK(list.matches("name9999"));
  CHECK(list.matches("last"));
  CHECK_FALSE(list.matches("name10000"));
}

#if !defined(_WIN32)
TEST_CASE("a class may have a name, but on Windows", "[discovery]") {
  CHECK(GlobList("[[:digit:]]").matches("7"));
  CHECK_FALSE(GlobList("[[:digit:]]").matches("a"));
}

TEST_CASE("the patterns of Windows mean what fnmatch's mean", "[discovery]") {
  // Without the signs of classes (":", ".", "="), which Windows' patterns do not have.
  constexpr std::string_view signs = "ab-!^[]*?\\";
  std::mt19937 random(20266);
  const auto text = [&](std::string_view letters, std::size_t longest) {
    std::string out(random() % (longest + 1), ' ');
    for (char& c : out) c = letters[random() % letters.size()];
    return out;
  };
  int matched = 0;
  for (int round = 0; round < 200'000; ++round) {
    const std::string pattern = text(signs, 8), name = text("ab-]\\", 5);
    INFO(pattern << " and " << name);
    const bool expected = platform::matches(pattern, name);
    REQUIRE(platform::Glob(pattern, name).matches() == expected);
    matched += expected;
  }
  CHECK(matched > 1000);
}
#endif
