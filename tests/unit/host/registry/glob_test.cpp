// SPDX-License-Identifier: MIT
//
// Patterns as people and packages write them.
#include <random>
#include <string>
#include <string_view>

#include "support/catch.hpp"
#include "tenon/host/impl/platform/windows/glob.hpp"
#include "tenon/host/impl/registry/glob.hpp"

using namespace tenon::host;

TEST_CASE("a pattern without signs is a whole name", "[discovery]") {
  const GlobList list("CudaBackend");
  CHECK_FALSE(list.empty());
  CHECK(list.matches("CudaBackend"));
  for (const char* name : {"", "Cuda", "CudaBackend2", "MyCudaBackend", "cudabackend"}) {
    CHECK_FALSE(list.matches(name));
  }
}

TEST_CASE("a star is any text and a question mark any character", "[discovery]") {
  CHECK(GlobList("*").matches(""));
  CHECK(GlobList("*").matches(".hidden"));
  CHECK(GlobList("*").matches("a/b"));
  CHECK(GlobList("/opt/*.so").matches("/opt/acme/lib.so"));
  CHECK(GlobList("*Backend").matches("Backend"));
  CHECK_FALSE(GlobList("*Backend").matches("Backends"));
  CHECK(GlobList("a*c*e").matches("abcde"));
  CHECK_FALSE(GlobList("a*c*e").matches("abde"));
  CHECK(GlobList("?").matches("a"));
  CHECK_FALSE(GlobList("?").matches(""));
  CHECK_FALSE(GlobList("?").matches("ab"));
}

TEST_CASE("a class is one of its characters", "[discovery]") {
  const GlobList list("lib[a-c1].so");
  CHECK(list.matches("liba.so"));
  CHECK(list.matches("lib1.so"));
  CHECK_FALSE(list.matches("libd.so"));
  CHECK_FALSE(list.matches("lib.so"));
  CHECK_FALSE(list.matches("libab.so"));
  CHECK(GlobList("[!a]").matches("b"));
  CHECK_FALSE(GlobList("[!a]").matches("a"));
  // An unclosed bracket matches itself.
  CHECK(GlobList("[a").matches("[a"));
  CHECK_FALSE(GlobList("[a").matches("a"));
}

TEST_CASE("a backslash takes the meaning from a sign", "[discovery]") {
  CHECK(GlobList("\\*").matches("*"));
  CHECK_FALSE(GlobList("\\*").matches("a"));
  CHECK(GlobList("a\\?").matches("a?"));
  CHECK_FALSE(GlobList("a\\?").matches("ab"));
  CHECK(GlobList("\\[a]").matches("[a]"));
  CHECK(GlobList("a\\\\b").matches("a\\b"));
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

TEST_CASE("the patterns of Windows mean what those of fnmatch mean", "[discovery]") {
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
