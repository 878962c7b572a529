// SPDX-License-Identifier: MIT
//
// What one JSON text may cost.
#include "tenon/host/impl/registry/json_reader.hpp"

#include <string>

#include "support/catch.hpp"
#include "support/rounds.hpp"
#include "tenon/core/concat.hpp"
#include "tenon/core/json_limits.hpp"

namespace json_reader_test {

using namespace tenon;
using host::detail::JsonReader;
using tenon::detail::JsonBuilder;
using tenon::test::rounds;

std::string refusal(const std::string& text, const JsonLimits& limits) {
  const auto json = JsonReader("x.json").parse_object(text, limits);
  CHECK((json.ok() || json.error() == Error::InvalidArgument));
  return std::string(json.text());
}

TEST_CASE("JSON above its limit of bytes is not parsed", "[json]") {
  JsonLimits limits;
  limits.bytes = 8;
  CHECK(refusal(R"({"a": 1})", limits).empty());
  CHECK(refusal("no JSON at all", limits) == "x.json: has 14 bytes, the limit of JSON is 8");
}

TEST_CASE("values of JSON are counted, keys are not", "[json]") {
  JsonLimits limits;
  limits.values = 6;
  const std::string text = R"({"a": [1, true, null], "b": "x", "c": {}})";
  CHECK(refusal(text, limits) == "x.json: has more values than 6, the limit of JSON");
  limits.values = 7;
  CHECK(refusal(text, limits).empty());
}

TEST_CASE("parsing stops at the first value that is one too many", "[json]") {
  JsonLimits limits;
  limits.values = 10;
  std::string text = R"({"a": [0)";
  for (int i = 0; i < 100'000; ++i) text += ",0";
  // The text has no end, but that is not reached.
  JsonBuilder builder(limits);
  CHECK_FALSE(nlohmann::json::sax_parse(text, &builder));
  CHECK(builder.too_many);
  CHECK(builder.failure.empty());
  CHECK(builder.root["a"].size() == 8);
}

TEST_CASE("a key that is there twice is an error at every depth, also as an escape", "[json]") {
  CHECK(refusal(R"({"a": 1, "a": 1})", {}) == "x.json: the key 'a' is written twice");
  CHECK(refusal(R"({"a": [{"b": {}, "\u0062": []}]})", {}) ==
        "x.json: the key 'b' is written twice");
  CHECK(refusal(R"({"a": {"a": 1}, "b": {"a": 2}})", {}).empty());
}

TEST_CASE("JSON is UTF-8 without a mark, and nothing follows it", "[json]") {
  CHECK(refusal("\xef\xbb\xbf{}", {}) == "x.json: begins with a byte order mark");
  for (const char* text : {"{\"\xff\": 1}", "{\"a\": \"\xed\xa0\x80\"}", "{} {}", "{\"a\": 1e999}",
                           "{\"a\": NaN}", "{\"a\": 1,}", "// a\n{}", ""}) {
    CAPTURE(text);
    CHECK(refusal(text, {}).starts_with("x.json: is not JSON: "));
  }
}

TEST_CASE("a message quotes a short and visible part of the text", "[json]") {
  const std::string text = refusal("{\"" + std::string(100'000, 'a') + "\x1b", {});
  CHECK(text.size() < 300);
  CHECK(text.find('\x1b') == text.npos);
  const std::string key(1000, 'k');
  CHECK(refusal("{\"" + key + "\": 1, \"" + key + "\": 2}", {}).size() < 150);
}

TEST_CASE("JSON is nested as deeply as its limit", "[json]") {
  JsonLimits limits;
  limits.depth = 3;
  CHECK(refusal(R"({"a": [[1]]})", limits).empty());
  CHECK(refusal(R"({"a": [[[]]]})", limits) == "x.json: is nested deeper than 3 levels");
  limits = {};
  limits.values = rounds(limits.values);
  CHECK(
      refusal(R"({"a": )" + std::string(limits.values, '[') + std::string(limits.values, ']') + "}",
              limits) ==
      concat("x.json: has more values than ", limits.values, ", the limit of JSON"));
}

}  // namespace json_reader_test
