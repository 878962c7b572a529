// SPDX-License-Identifier: MIT
#include "kit/verdict/merge.hpp"

#include <string>
#include <utility>
#include <vector>

#include "kit/report/all.hpp"
#include "support/catch.hpp"
#include "unit/conformance/report/sample_report.hpp"

using namespace tenon::conformance;
using tenon::Error;

namespace merge_test {
namespace {

Report whole_report() {
  Report out = sample::report_with_all_outcomes();
  out.subjects.push_back(
      sample::subject_of("second", {sample::test_of("binary", "exports", Outcome::passed)}));
  return out;
}

/// `whole` as `of` shards would have written it.
std::vector<NamedReport> shards_of(const Report& whole, std::uint32_t of) {
  std::vector<NamedReport> out;
  for (std::uint32_t part = 1; part <= of; ++part) {
    Report report = whole;
    report.all_tests = false;
    report.shard = {part, of, whole.all_tests};
    for (SubjectReport& subject : report.subjects) {
      std::vector<TestResult> tests;
      for (std::size_t i = 0; i < subject.tests.size(); ++i) {
        subject.planned.push_back(subject.tests[i].path());
        if (i % of == part - 1) tests.push_back(subject.tests[i]);
      }
      subject.tests = std::move(tests);
    }
    // As from a file, so that what JSON loses is found here.
    auto read = report_from_json(to_json(report));
    REQUIRE(read.ok());
    out.push_back({tenon::concat("shard-", part, ".json"), *std::move(read)});
  }
  return out;
}

std::string refusal(std::vector<NamedReport> parts) {
  const auto merged = merge(std::move(parts));
  REQUIRE_FALSE(merged.ok());
  CHECK(merged.error() == Error::InvalidArgument);
  return std::string(merged.text());
}

/// The refusal of three shards after `change` to the second one.
template <class Change>
std::string refusal_after(Change&& change) {
  auto parts = shards_of(whole_report(), 3);
  change(parts[1].report);
  return refusal(std::move(parts));
}

}  // namespace

TEST_CASE("the shards of a run are merged into its report, in any order", "[conformance]") {
  Report whole = whole_report();
  for (const bool all_tests : {true, false}) {
    whole.all_tests = all_tests;
    auto parts = shards_of(whole, 3);
    std::swap(parts[0], parts[2]);
    const auto merged = merge(std::move(parts));
    INFO(merged.text());
    REQUIRE(merged.ok());
    CHECK(to_json(*merged, {.with_times = false}) == to_json(whole, {.with_times = false}));
    CHECK(to_junit(*merged, {.with_times = false}) == to_junit(whole, {.with_times = false}));
  }
}

TEST_CASE("a merged report has the first start, all seconds and each machine once",
          "[conformance]") {
  auto parts = shards_of(whole_report(), 3);
  parts[1].report.started = "2026-11-20T00:00:00Z";
  parts[1].report.machine = "Linux aarch64, 8 CPUs";
  parts[2].report.subjects[0].path = "elsewhere/zoo.so";
  const auto merged = merge(std::move(parts));
  REQUIRE(merged.ok());
  CHECK(merged->started == "2026-11-20T00:00:00Z");
  CHECK(merged->seconds == 3 * whole_report().seconds);
  CHECK(merged->machine == "Linux aarch64, 8 CPUs; Linux x86_64, 2 CPUs");
  CHECK(merged->subjects[0].path == whole_report().subjects[0].path);
}

TEST_CASE("a shard's part of a plugin may be empty", "[conformance]") {
  const Report whole = sample::report_of({sample::test_of("s", "n", Outcome::passed)});
  const auto merged = merge(shards_of(whole, 4));
  REQUIRE(merged.ok());
  CHECK(merged->subjects[0].tests.size() == 1);
}

TEST_CASE("a missing shard is refused with the tests that are missing", "[conformance]") {
  auto parts = shards_of(whole_report(), 3);
  parts.erase(parts.begin() + 1);
  const std::string text = refusal(std::move(parts));
  CHECK_THAT(text, ContainsSubstring("2 reports of 3 shards"));
  CHECK_THAT(text, ContainsSubstring("3 tests missing"));
  CHECK_THAT(text, ContainsSubstring("arguments/leaves-inputs-unchanged/ZooBackend/add"));
}

TEST_CASE("a shard that is there twice is refused with both files", "[conformance]") {
  auto parts = shards_of(whole_report(), 3);
  parts[2] = {"again.json", parts[0].report};
  const std::string text = refusal(std::move(parts));
  CHECK_THAT(text, ContainsSubstring("'again.json': shard 1/3 is also in 'shard-1.json'"));
}

TEST_CASE("a report whose tests do not match its plan is refused", "[conformance]") {
  CHECK_THAT(refusal_after([](Report& report) { report.subjects[0].tests.pop_back(); }),
             ContainsSubstring("1 test missing"));
  CHECK_THAT(refusal_after([](Report& report) {
               report.subjects[0].tests.push_back(report.subjects[0].tests[0]);
             }),
             ContainsSubstring("1 test there twice") &&
                 ContainsSubstring("leaves-inputs-unchanged/ZooBackend/add"));
  CHECK_THAT(refusal_after([](Report& report) {
               report.subjects[0].tests.push_back(sample::test_of("s", "odd", Outcome::passed));
             }),
             ContainsSubstring("1 test not planned") && ContainsSubstring("s/odd/ZooBackend/add"));
}

TEST_CASE("shards of different runs are refused with what differs", "[conformance]") {
  CHECK_THAT(refusal_after([](Report& report) { report.kit_version = "0.0.9"; }),
             ContainsSubstring("'shard-2.json': kit '0.0.9', but '0.1.0' in 'shard-1.json'"));
  CHECK_THAT(refusal_after([](Report& report) { report.abi_version = "1.0"; }),
             ContainsSubstring("ABI '1.0'"));
  CHECK_THAT(refusal_after([](Report& report) { report.level = 9; }),
             ContainsSubstring("level 9, but 5"));
  CHECK_THAT(refusal_after([](Report& report) { report.seed = 7; }), ContainsSubstring("seed 7"));
  CHECK_THAT(refusal_after([](Report& report) { report.shard.of = 4; }),
             ContainsSubstring("number of shards 4, but 3"));
  CHECK_THAT(refusal_after([](Report& report) { report.shard.all_tests = false; }),
             ContainsSubstring("--only, --rule or --test"));
  CHECK_THAT(refusal_after([](Report& report) { report.subjects.pop_back(); }),
             ContainsSubstring("number of plugins 1, but 2"));
  CHECK_THAT(refusal_after([](Report& report) {
               report.subjects[1].sha256 = std::string(64, 'b');
               report.seed = 7;
             }),
             ContainsSubstring("SHA-256 of plugin 2 'bbbb") && ContainsSubstring("seed 7"));
  CHECK_THAT(refusal_after([](Report& report) { report.subjects[0].planned.front() = "a/b"; }),
             ContainsSubstring("plans other tests") && ContainsSubstring("'a/b'"));
}

TEST_CASE("a report of a whole run, and no report, are refused", "[conformance]") {
  CHECK_THAT(refusal({{"whole.json", whole_report()}}),
             ContainsSubstring("'whole.json': is no report of a shard"));
  CHECK_THAT(refusal({}), ContainsSubstring("no report"));
}

TEST_CASE("of many missing tests some are named", "[conformance]") {
  std::vector<TestResult> tests;
  for (int i = 0; i < 100; ++i) {
    tests.push_back(sample::test_of("s", std::to_string(i), Outcome::passed));
  }
  auto parts = shards_of(sample::report_of(std::move(tests)), 2);
  parts.pop_back();
  CHECK_THAT(refusal(std::move(parts)),
             ContainsSubstring("50 tests missing") && ContainsSubstring("and 30 more"));
}

TEST_CASE("a shard that is no part is refused by the reader", "[conformance]") {
  std::string text = to_json(shards_of(whole_report(), 3)[0].report);
  const std::string part = "\"part\": 1";
  text.replace(text.find(part), part.size(), "\"part\": 4");
  const auto read = report_from_json(text);
  REQUIRE_FALSE(read.ok());
  CHECK_THAT(std::string(read.text()), ContainsSubstring("shard.part: expected 1 to 3, found '4'"));
}

}  // namespace merge_test
