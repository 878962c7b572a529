// SPDX-License-Identifier: MIT
//
// What a report of the conformance kit can hold any number of: reading, comparing, writing.
#include <cstdint>

#include "collection.hpp"
#include "kit/report/all.hpp"
#include "kit/report/baseline.hpp"
#include "kit/report/html.hpp"
#include "kit/report/json.hpp"
#include "kit/report/json_reader.hpp"
#include "kit/report/junit.hpp"
#include "kit/report/markdown.hpp"
#include "kit/report/text.hpp"
#include "unit/conformance/report/sample_report.hpp"

namespace tenon::test {
namespace {

using namespace conformance;

Report with_tests(std::size_t count) {
  std::vector<TestResult> tests;
  for (std::size_t i = 0; i < count; ++i) {
    tests.push_back(::sample::test_of("suite", concat("test ", i), Outcome::failed, {"TN-EXE-2"}));
    tests.back().findings = {{"TN-EXE-2", concat("finding ", i)}};
  }
  return ::sample::report_of(std::move(tests));
}

/// Everything in one test.
Report with_details(std::size_t count) {
  TestResult test = ::sample::test_of("suite", "test", Outcome::failed, {"TN-EXE-2"});
  for (std::size_t i = 0; i < count; ++i) {
    test.findings.push_back({"TN-EXE-2", concat("finding ", i)});
    test.measurements.push_back({concat("measurement ", i), 1, "s"});
    test.output += concat("line ", i, "\n");
  }
  return ::sample::report_of({test});
}

Report with_subjects(std::size_t count) {
  std::vector<SubjectReport> subjects;
  for (std::size_t i = 0; i < count; ++i) {
    subjects.push_back(::sample::subject_of(
        concat("plugin", i), {::sample::test_of("suite", "test", Outcome::passed, {"TN-EXE-2"})}));
  }
  return ::sample::report_of(std::move(subjects));
}

Task reads(const Report& report) {
  return [text = to_json(report)] { return outcome_of(report_from_json(text)); };
}

Task compares(const Report& report) {
  auto old = std::make_shared<const Report>(report);
  return [old]() -> Status {
    const BaselineComparison found = compare(*old, *old);
    return found.good() && !to_text(found, false).empty() ? ok() : error(Error::Internal, "worse");
  };
}

Task writes(const Report& report) {
  auto kept = std::make_shared<const Report>(report);
  return [kept]() -> Status {
    const std::size_t sum = to_text(*kept, true, true).size() + to_json(*kept).size() +
                            to_html(*kept).size() + to_markdown(*kept).size() +
                            to_junit(*kept).size();
    return sum == 0 ? error(Error::Internal, "nothing") : ok();
  };
}

}  // namespace

std::vector<Collection> kit_collections() {
  return {
      {"report: tests, read", [](std::size_t n) { return reads(with_tests(n)); }},
      {"report: findings of a test, read", [](std::size_t n) { return reads(with_details(n)); }},
      {"report: plugins, read", [](std::size_t n) { return reads(with_subjects(n)); }},
      {"report: tests, compared", [](std::size_t n) { return compares(with_tests(n)); }},
      {"report: measurements of a test, compared",
       [](std::size_t n) { return compares(with_details(n)); }},
      {"report: plugins, compared", [](std::size_t n) { return compares(with_subjects(n)); }},
      {"report: tests, written", [](std::size_t n) { return writes(with_tests(n)); }},
      {"report: findings of a test, written",
       [](std::size_t n) { return writes(with_details(n)); }},
      {"report: plugins, written", [](std::size_t n) { return writes(with_subjects(n)); }},
  };
}

}  // namespace tenon::test
