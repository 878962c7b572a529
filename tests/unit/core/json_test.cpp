// SPDX-License-Identifier: MIT
//
// The limits of one JSON text, and the errors about its values.
#include "tenon/core/json.hpp"

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "support/catch.hpp"
#include "support/rounds.hpp"
#include "tenon/core/concat.hpp"
#include "tenon/core/json_limits.hpp"

namespace json_test {

using namespace tenon;
using tenon::detail::JsonBuilder;
using tenon::test::rounds;

std::string refusal(const std::string& text, const JsonLimits& limits) {
  const auto json = parse_json_object(text, "x.json", Error::InvalidArgument, limits);
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

TEST_CASE("a value that is not the expected one is refused with its name and place", "[json]") {
  const auto json = parse_json(R"({"a": {"b": [1, -2, 2.5, "x", null, true, []]}, "c": {},
      "big": 9223372036854775808, "nul": "\u0000", "\u001b": 1})");
  REQUIRE(json.ok());
  using Read = std::function<Status(const JsonAt&)>;
  const auto at = [](std::size_t index, auto read) -> Read {
    return [=](const JsonAt& root) -> Status {
      TENON_TRY(const JsonAt a, root.member("a"));
      TENON_TRY(const JsonAt b, a.array("b"));
      return (b[index].*read)().status();
    };
  };
  const auto member = [](std::string_view key, auto read) -> Read {
    return [=](const JsonAt& root) -> Status {
      TENON_TRY(const JsonAt found, root.member(key));
      return read(found);
    };
  };
  const auto text = [](const JsonAt& value) { return value.text().status(); };
  const auto integer = [](const JsonAt& value) { return value.integer().status(); };
  const struct {
    Read read;
    std::string_view error;
  } rows[] = {
      {at(0, &JsonAt::boolean), "a.b[0]: expected true or false, found '1'"},
      {at(0, &JsonAt::characters), "a.b[0]: expected a text, found '1'"},
      {at(1, &JsonAt::count<std::uint64_t>), "a.b[1]: expected an integer from 0 on, found '-2'"},
      {at(1, &JsonAt::count<std::uint8_t>),
       "a.b[1]: expected an integer from 0 to 255, found '-2'"},
      {at(2, &JsonAt::count<int>), "a.b[2]: expected an integer from 0 to 2147483647, found '2.5'"},
      {at(3, &JsonAt::real), "a.b[3]: expected a number, found '\"x\"'"},
      {at(4, &JsonAt::real), "a.b[4]: expected a number, found 'null'"},
      {at(5, &JsonAt::only_member), "a.b[5]: expected an object with one member, found 'true'"},
      {at(6, &JsonAt::real), "a.b[6]: expected a number, found an array of 0"},
      {member("a", text), "a: expected a text, found an object of 1"},
      {member("big", integer), "big: expected an integer of 64 bits, found '9223372036854775808'"},
      {member("nul", text), "nul: holds a NUL character"},
      {member("\x1b", text), "\\x1b: expected a text, found '1'"},
      {member("none", text), "none: is missing"},
      {[](const JsonAt& root) { return root.text("none").status(); },
       "none: is missing, expected a text"},
      {[](const JsonAt& root) { return root.array("c").status(); },
       "c: expected an array, found an object of 0"},
      {[](const JsonAt& root) { return root.check_array(); },
       "expected an array, found an object of 5"},
      {[](const JsonAt& root) {
         return root.each_member([](const std::string&, const JsonAt& each) {
           return each.check_object("one of objects");
         });
       },
       "\\x1b: expected one of objects, found '1'"},
  };
  for (const auto& [read, expected] : rows) {
    const Status status = read(JsonAt(*json, "x.json", Error::InvalidArgument));
    CHECK(status.error() == Error::InvalidArgument);
    CHECK(status.text() == concat("x.json: ", expected));
    // Without a name, by another reader.
    const Status other = read(JsonAt(*json, "", Error::InvalidProgram));
    CHECK(other.error() == Error::InvalidProgram);
    CHECK(other.text() == expected);
  }
}

TEST_CASE("values of JSON are read, and null is not the same as absent", "[json]") {
  const auto json = parse_json(R"({"a": null, "list": [1, 2, 255], "one": {"as_int": -1}})");
  REQUIRE(json.ok());
  const JsonAt root(*json, "", Error::InvalidArgument);
  CHECK(root.find("a"));
  CHECK_FALSE(root.find_set("a"));
  CHECK_FALSE(root.find("b"));
  CHECK_FALSE(root.find("a")->find("b"));
  CHECK(root.find_set("one")->only_member()->first == "as_int");
  CHECK(*root.find("one")->only_member()->second.integer() == -1);
  const auto list = root.array("list")->list<std::uint8_t>(
      [](const JsonAt& one) { return one.count<std::uint8_t>(); });
  REQUIRE(list.ok());
  CHECK(*list == std::vector<std::uint8_t>{1, 2, 255});
  CHECK(root.array("list")->place() == "list");
}

TEST_CASE("of a long text or key an error shows the beginning", "[json]") {
  const std::string name(1000, 'k');
  const auto json = parse_json(concat(R"({")", name, R"(": ")", std::string(1000, 't'), R"("})"));
  REQUIRE(json.ok());
  const JsonAt root(*json, "x.json", Error::InvalidArgument);
  const auto number = root.find(name)->integer();
  CHECK(number.text() == concat("x.json: ", name.substr(0, 80),
                                "...: expected an integer of 64 bits, found '\"",
                                std::string(80, 't'), "...\"'"));
}

}  // namespace json_test
