// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "kit/report/all.hpp"
#include "kit/report/escape.hpp"
#include "support/catch.hpp"
#include "unit/conformance/report/sample_report.hpp"

using namespace tenon::conformance;
using tenon::Error;

namespace report_json_test {
namespace {

void check_same(const TestResult& a, const TestResult& b) {
  CHECK(a.id == b.id);
  CHECK(a.name == b.name);
  CHECK(a.suite == b.suite);
  CHECK(a.level == b.level);
  CHECK(a.backend == b.backend);
  CHECK(a.of_case == b.of_case);
  CHECK(a.repeat == b.repeat);
  CHECK(a.rules == b.rules);
  CHECK(a.outcome == b.outcome);
  CHECK(a.reason == b.reason);
  CHECK(a.findings == b.findings);
  CHECK(a.executed == b.executed);
  CHECK(a.output == b.output);
  CHECK(a.seconds == b.seconds);
  REQUIRE(a.measurements.size() == b.measurements.size());
  for (std::size_t i = 0; i < a.measurements.size(); ++i) {
    CHECK(a.measurements[i].name == b.measurements[i].name);
    CHECK(a.measurements[i].value == b.measurements[i].value);
    CHECK(a.measurements[i].unit == b.measurements[i].unit);
  }
  REQUIRE(a.crashes.size() == b.crashes.size());
  for (std::size_t i = 0; i < a.crashes.size(); ++i) {
    CHECK(a.crashes[i].what == b.crashes[i].what);
    CHECK(a.crashes[i].in == b.crashes[i].in);
    CHECK(a.crashes[i].last_calls == b.crashes[i].last_calls);
    CHECK(a.crashes[i].backtrace == b.crashes[i].backtrace);
  }
}

void check_same(const Report& a, const Report& b) {
  CHECK(a.kit_version == b.kit_version);
  CHECK(a.abi_version == b.abi_version);
  CHECK(a.started == b.started);
  CHECK(a.machine == b.machine);
  CHECK(a.seed == b.seed);
  CHECK(a.all_tests == b.all_tests);
  CHECK(a.level == b.level);
  CHECK(a.seconds == b.seconds);
  REQUIRE(a.subjects.size() == b.subjects.size());
  for (std::size_t i = 0; i < a.subjects.size(); ++i) {
    const SubjectReport &x = a.subjects[i], &y = b.subjects[i];
    CHECK(x.path == y.path);
    CHECK(x.sha256 == y.sha256);
    CHECK(x.name == y.name);
    CHECK(x.version == y.version);
    CHECK(x.vendor == y.vendor);
    CHECK(x.sdk_version == y.sdk_version);
    CHECK(x.backends == y.backends);
    REQUIRE(x.tests.size() == y.tests.size());
    for (std::size_t j = 0; j < x.tests.size(); ++j) check_same(x.tests[j], y.tests[j]);
  }
}

Report read(const std::string& text) {
  auto out = report_from_json(text);
  INFO(out.text());
  REQUIRE(out.ok());
  return *std::move(out);
}

/// The error for the sample after `change` to its JSON.
template <class Change>
std::string complaint(Change&& change) {
  auto json = nlohmann::json::parse(to_json(sample::report_with_all_outcomes()));
  change(json);
  const auto out = report_from_json(json.dump());
  REQUIRE_FALSE(out.ok());
  CHECK(out.error() == Error::InvalidArgument);
  return std::string(out.text());
}

}  // namespace

TEST_CASE("a report is read back from JSON unchanged", "[conformance]") {
  for (const Report& report :
       {Report{}, sample::report_with_all_outcomes(),
        sample::report_of(
            {sample::subject_of("a", {}),
             sample::subject_of("b", {sample::test_of("s", "n", Outcome::passed)})})}) {
    const std::string text = to_json(report);
    const Report back = read(text);
    check_same(report, back);
    CHECK(to_json(back) == text);
  }
}

TEST_CASE("JSON is ASCII for any text, and texts are read back except for invalid bytes",
          "[conformance]") {
  const Report report = sample::hostile_report();
  const std::string text = to_json(report);
  CHECK(std::ranges::all_of(text, [](char c) { return c == '\n' || (c >= 0x20 && c < 0x7f); }));
  const Report back = read(text);
  const TestResult &before = report.subjects[0].tests[0], &after = back.subjects[0].tests[0];
  CHECK(after.output == escape::utf8(before.output));
  CHECK(after.findings[0].text == escape::utf8(before.findings[0].text));
  CHECK(after.crashes[0].last_calls[0] == escape::utf8(before.crashes[0].last_calls[0]));
  check_same(back, read(to_json(back)));
}

TEST_CASE("numbers are read back to the last bit", "[conformance]") {
  TestResult test = sample::test_of("cost", "execute", Outcome::passed);
  const double values[] = {
      0.1, 1e-300, 123456789.123456789, -0.0, 5e-324, 1e20, std::numeric_limits<double>::max()};
  for (const double value : values) test.measurements.push_back({"x", value, "s"});
  const double infinity = std::numeric_limits<double>::infinity();
  test.measurements.push_back({"x", infinity, "s"});
  test.measurements.push_back({"x", -infinity, "s"});
  test.measurements.push_back({"x", std::nan(""), "s"});
  test.seconds = infinity;
  const Report back = read(to_json(sample::report_of({test})));
  const TestResult& after = back.subjects[0].tests[0];
  for (std::size_t i = 0; i < std::size(values); ++i) {
    CHECK(after.measurements[i].value == values[i]);
    CHECK(std::signbit(after.measurements[i].value) == std::signbit(values[i]));
  }
  CHECK(after.measurements[7].value == infinity);
  CHECK(after.measurements[8].value == -infinity);
  CHECK(std::isnan(after.measurements[9].value));
  CHECK(after.seconds == infinity);
}

TEST_CASE("an output of a megabyte is read back", "[conformance]") {
  TestResult test = sample::test_of("binary", "prints", Outcome::failed);
  while (test.output.size() < (1u << 20)) test.output += sample::hostile_text();
  const Report back = read(to_json(sample::report_of({test})));
  CHECK(back.subjects[0].tests[0].output == escape::utf8(test.output));
}

TEST_CASE("one test is sent to another process as one line", "[conformance]") {
  const Report report = sample::report_with_all_outcomes();
  for (const TestResult& test : report.subjects[0].tests) {
    const std::string text = to_json(test);
    CHECK(text.find('\n') == text.npos);
    auto back = test_from_json(text);
    INFO(back.text());
    REQUIRE(back.ok());
    check_same(test, *back);
  }
  CHECK_FALSE(test_from_json("{}").ok());
  CHECK_FALSE(test_from_json("").ok());
}

TEST_CASE("a test of a report by an older kit has no id", "[conformance]") {
  auto json = nlohmann::json::parse(to_json(sample::report_with_all_outcomes()));
  json["subjects"][0]["tests"][1].erase("id");
  const Report back = read(json.dump());
  CHECK(back.subjects[0].tests[1].id.empty());
  CHECK(back.subjects[0].tests[1].path() ==
        "arguments/a run leaves its inputs unchanged/ZooBackend/add");
}

TEST_CASE("a report without times is read without them", "[conformance]") {
  const Report back =
      read(to_json(sample::report_with_all_outcomes(), ReportOptions{.with_times = false}));
  CHECK(back.started.empty());
  CHECK(back.seconds == 0);
  CHECK(back.seed == 0xfedcba9876543210);
  CHECK(back.subjects[0].tests[1].measurements.empty());
  CHECK(back.subjects[0].tests[1].seconds == 0);
}

TEST_CASE("a text that is not a report is refused with the place", "[conformance]") {
  using Json = nlohmann::json;
  const auto text_of = [](std::string_view json) {
    const auto out = report_from_json(json);
    REQUIRE_FALSE(out.ok());
    return std::string(out.text());
  };
  CHECK_THAT(text_of(""), ContainsSubstring("report: is not JSON: "));
  CHECK_THAT(text_of("{\"a\": \x1b]"), ContainsSubstring("report: is not JSON: "));
  CHECK(text_of("{\x1b").find('\x1b') == std::string::npos);
  CHECK(text_of("[]") == "report: expected an object, found an array of 0");
  CHECK(text_of("{}") == "report: format: is missing");
  CHECK_THAT(text_of(std::string(100000, '[')), ContainsSubstring("report: is not JSON: "));
  CHECK(text_of(std::string(100000, '[') + std::string(100000, ']')) ==
        "report: is nested deeper than 16 levels");

  CHECK(complaint([](Json& json) { json["format"] = 2; }) ==
        "report: format: is 2, this kit reads 1");
  CHECK(complaint([](Json& json) { json["seed"] = -1; }) ==
        "report: seed: expected an integer from 0 on, found '-1'");
  CHECK(complaint([](Json& json) { json["level"] = 3000000000; }) ==
        "report: level: expected an integer from 0 to 2147483647, found '3000000000'");
  CHECK(complaint([](Json& json) { json["machine"] = nullptr; }) ==
        "report: machine: expected a text, found 'null'");
  CHECK(complaint([](Json& json) { json["subjects"] = "x"; }) ==
        "report: subjects: expected an array, found '\"x\"'");
  CHECK(complaint([](Json& json) { json["subjects"][0] = 1; }) ==
        "report: subjects[0]: expected an object, found '1'");
  CHECK(complaint([](Json& json) { json["subjects"][0].erase("sha256"); }) ==
        "report: subjects[0].sha256: is missing");
  CHECK(complaint([](Json& json) { json["subjects"][0]["backends"] = 1; }) ==
        "report: subjects[0].backends: expected an array, found '1'");
  CHECK(complaint([](Json& json) { json["subjects"][0]["backends"][1] = 1; }) ==
        "report: subjects[0].backends[1]: expected a text, found '1'");
  const auto in_test = [](auto change) {
    return complaint([&](Json& json) { change(json["subjects"][0]["tests"][1]); });
  };
  CHECK(in_test([](Json& test) { test["outcome"] = "great\x1b"; }) ==
        "report: subjects[0].tests[1].outcome: expected an outcome, found '\"great\\x1b\"'");
  CHECK(in_test([](Json& test) { test["id"] = 1; }) ==
        "report: subjects[0].tests[1].id: expected a text, found '1'");
  CHECK(in_test([](Json& test) { test["repeat"] = 1e10; }) ==
        "report: subjects[0].tests[1].repeat: expected an integer from 0 to 4294967295, found "
        "'10000000000.0'");
  CHECK(in_test([](Json& test) { test["seconds"] = "long"; }) ==
        "report: subjects[0].tests[1].seconds: expected a number, \"nan\", \"inf\" or \"-inf\", "
        "found '\"long\"'");
  CHECK(in_test([](Json& test) { test["findings"][1].erase("text"); }) ==
        "report: subjects[0].tests[1].findings[1].text: is missing");
  CHECK(in_test([](Json& test) { test["measurements"][0]["value"] = true; }) ==
        "report: subjects[0].tests[1].measurements[0].value: expected a number, \"nan\", \"inf\" "
        "or \"-inf\", found 'true'");
  CHECK(in_test([](Json& test) { test["crashes"][0]["backtrace"] = nullptr; }) ==
        "report: subjects[0].tests[1].crashes[0].backtrace: expected an array, found 'null'");
}

TEST_CASE("a report with a key that is there twice is refused, wherever it is", "[conformance]") {
  const std::string text = to_json(sample::report_of({sample::test_of("s", "n", Outcome::failed)}));
  for (const std::string_view key : {"format", "subjects", "sha256", "outcome"}) {
    const std::string quoted = tenon::concat('"', key, '"');
    std::string twice = text;
    twice.insert(twice.find(quoted), quoted + ": \"passed\", ");
    CHECK(report_from_json(twice).text() ==
          tenon::concat("report: the key '", key, "' is written twice"));
  }
  std::string one = to_json(sample::test_of("s", "n", Outcome::failed));
  one.insert(one.find("\"outcome\""), "\"outcome\": \"passed\", ");
  CHECK(test_from_json(one).text() == "report: the key 'outcome' is written twice");
}

TEST_CASE("a report in another encoding than UTF-8 is refused", "[conformance]") {
  std::string text = to_json(sample::report_of({sample::test_of("s", "n", Outcome::failed)}));
  CHECK(report_from_json("\xef\xbb\xbf" + text).text() == "report: begins with a byte order mark");
  text.insert(text.find("\"machine\"") + 1, "\xff");
  CHECK_THAT(std::string(report_from_json(text).text()),
             ContainsSubstring("report: is not JSON: parse error"));
}

TEST_CASE("a missing member is an error", "[conformance]") {
  // Members for other readers are derived from the rest, and not needed to read a report back.
  const std::vector<std::string> derived = {"good", "verdict", "outcomes", "rules"};
  const auto whole = nlohmann::json::parse(to_json(sample::report_with_all_outcomes()));
  int missed = 0;
  const auto check = [&](const nlohmann::json::json_pointer& where, bool may_be_missing) {
    nlohmann::json changed = whole;
    changed[where.parent_pointer()].erase(where.back());
    CAPTURE(where.to_string());
    CHECK(report_from_json(changed.dump()).ok() == may_be_missing);
    ++missed;
  };
  for (const auto& [key, value] : whole.items()) {
    const bool is_derived = std::ranges::find(derived, key) != derived.end();
    // Reports of older kits have no "all_tests".
    check(nlohmann::json::json_pointer("/" + key), is_derived || key == "all_tests");
  }
  const std::string objects[] = {
      "/subjects/0", "/subjects/0/tests/1", "/subjects/0/tests/1/findings/0",
      "/subjects/0/tests/1/measurements/0", "/subjects/0/tests/1/crashes/0"};
  for (const std::string& object : objects) {
    for (const auto& [key, value] : whole[nlohmann::json::json_pointer(object)].items()) {
      // Reports of older kits have no "executed" and no "id".
      check(nlohmann::json::json_pointer(object + "/" + key), key == "executed" || key == "id");
    }
  }
  CHECK(missed == 14 + 8 + 16 + 2 + 3 + 4);
}

}  // namespace report_json_test
