// SPDX-License-Identifier: MIT
//
// What one JSON text may cost.
#include "tenon/host/registry/json_reader.hpp"

#include <string>

#include "support/catch.hpp"
#include "support/rounds.hpp"
#include "tenon/core/concat.hpp"

namespace json_reader_test {

using namespace tenon;
using host::JsonLimits;
using host::detail::JsonBuilder;
using host::detail::JsonReader;
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
  JsonBuilder<> builder(limits);
  CHECK_FALSE(nlohmann::json::sax_parse(text, &builder));
  CHECK(builder.too_many);
  CHECK(builder.failure.empty());
  CHECK(builder.root["a"].size() == 8);
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
