// SPDX-License-Identifier: MIT
#include "kit/report/baseline.hpp"

#include <cmath>
#include <string>
#include <vector>

#include "kit/report/json.hpp"
#include "kit/report/json_reader.hpp"
#include "kit/report/view.hpp"
#include "kit/verdict/rule.hpp"
#include "support/catch.hpp"
#include "unit/conformance/report/sample_report.hpp"

using namespace tenon::conformance;
using Changes = std::vector<BaselineChange>;

namespace report_baseline_test {
namespace {

constexpr const char* path = "suite/name/ZooBackend/add";

Report one(Outcome outcome, std::string reason = {}) {
  TestResult test = sample::test_of("suite", "name", outcome, {"TN-EXE-2"});
  test.reason = std::move(reason);
  return sample::report_of({test});
}

Report measured(double value, std::string unit = "s", std::string name = "execute") {
  Report out = one(Outcome::passed);
  out.subjects[0].tests[0].measurements = {{std::move(name), value, std::move(unit)}};
  return out;
}

bool is_worse(double old, double now, const std::string& unit, double factor = 2) {
  const BaselineComparison out = compare(measured(old, unit), measured(now, unit), factor);
  CHECK(out.good() == out.worse_measurements.empty());
  return !out.good();
}

}  // namespace

TEST_CASE("a report without ids is compared by the names of tests", "[conformance]") {
  const Report older = one(Outcome::passed);
  Report now = one(Outcome::failed);
  now.subjects[0].tests[0].id = "suite/short-name";
  for (const bool has_repeat : {false, true}) {
    Report before = older;
    if (has_repeat) before.subjects[0].tests[0].repeat = now.subjects[0].tests[0].repeat = 1;
    const BaselineComparison out = compare(before, now);
    CHECK(out.vanished.empty());
    REQUIRE(out.newly_failing.size() == 1);
    CHECK(out.newly_failing[0].where ==
          std::string("suite/short-name/ZooBackend/add") + (has_repeat ? "/#2" : ""));
    CHECK(compare(now, before).newly_passing.size() == 1);
  }
}

TEST_CASE("a test whose name changed is compared by its id", "[conformance]") {
  Report old = one(Outcome::passed), now = one(Outcome::failed);
  old.subjects[0].tests[0].id = now.subjects[0].tests[0].id = "suite/short-name";
  now.subjects[0].tests[0].name = "another name";
  const BaselineComparison out = compare(old, now);
  CHECK(out.vanished.empty());
  CHECK(out.newly_failing.size() == 1);
  // Another id is another test.
  now.subjects[0].tests[0].id = "suite/other-name";
  now.subjects[0].tests[0].name = old.subjects[0].tests[0].name;
  CHECK(compare(old, now).vanished.size() == 1);
}

TEST_CASE("a run is not worse than itself", "[conformance]") {
  for (const Report& report :
       {Report{}, sample::report_with_all_outcomes(), sample::hostile_report()}) {
    const BaselineComparison out = compare(report, report);
    CHECK(out.good());
    CHECK(out.notes.empty());
    CHECK(out.newly_passing.empty());
    CHECK(to_text(out, false) == "PASS: nothing is worse than in the baseline\n");
    SECTION("nor than itself after reading it back") {
      auto back = report_from_json(to_json(report));
      REQUIRE(back.ok());
      CHECK(compare(*back, report).good());
      CHECK(compare(report, *back).good());
      CHECK(compare(*back, report).newly_passing.empty());
    }
  }
}

TEST_CASE("a test that begins to fail is worse", "[conformance]") {
  Report now = one(Outcome::failed);
  now.subjects[0].tests[0].findings = {{"TN-EXE-2", "input 1"}};
  const BaselineComparison out = compare(one(Outcome::passed), now);
  CHECK_FALSE(out.good());
  CHECK(out.newly_failing == Changes{{path, "was passed, is failed: TN-EXE-2: input 1"}});
  REQUIRE(out.newly_broken.size() == 1);
  CHECK(out.newly_broken[0].where == "TN-EXE-2");
  CHECK(out.newly_broken[0].text == find_rule("TN-EXE-2")->sentence);
  CHECK_THAT(
      to_text(out, false),
      ContainsSubstring("Newly failing:\n  suite/name/ZooBackend/add: was passed, is failed: "
                        "TN-EXE-2: input 1\nRules newly broken:\n  TN-EXE-2: "));
  CHECK_THAT(to_text(out, false),
             ContainsSubstring("FAIL: worse than in the baseline: 1 newly failing test, 0 tests no "
                               "longer judged, 1 newly broken rule, 0 worse measurements\n"));

  SECTION("a test that failed before is not") {
    const BaselineComparison same = compare(now, now);
    CHECK(same.good());
    CHECK(compare(now, one(Outcome::kit_error)).good());
  }
  SECTION("a new test that fails is") {
    Report before = one(Outcome::passed);
    before.subjects[0].tests[0].name = "another";
    before.subjects[0].tests[0].outcome = Outcome::not_applicable;
    const BaselineComparison added = compare(before, now);
    CHECK(added.newly_failing == Changes{{path, "was missing, is failed: TN-EXE-2: input 1"}});
    CHECK(added.vanished.empty());
  }
  SECTION("a new test that passes is not") {
    Report before = one(Outcome::passed);
    before.subjects[0].tests.clear();
    CHECK(compare(before, one(Outcome::passed)).good());
  }
  SECTION("a failure that is only declared as expected is") {
    const BaselineComparison said =
        compare(one(Outcome::passed), one(Outcome::expected_failure, "later"));
    CHECK(said.newly_failing == Changes{{path, "was passed, is expected failure: later"}});
  }
  SECTION("a failure that becomes an expected one is not") {
    CHECK(compare(one(Outcome::failed), one(Outcome::expected_failure)).good());
  }
  SECTION("an expected failure that becomes a failure is") {
    CHECK(compare(one(Outcome::expected_failure), now).newly_failing.size() == 1);
  }
  SECTION("a test that was not judged and fails now is") {
    CHECK(compare(one(Outcome::blocked), now).newly_failing.size() == 1);
  }
}

TEST_CASE("a test that is no longer judged is worse", "[conformance]") {
  Report nothing = one(Outcome::passed);
  nothing.subjects[0].tests.clear();
  CHECK(compare(one(Outcome::passed), nothing).vanished ==
        Changes{{path, "was passed, is missing"}});
  CHECK(compare(one(Outcome::failed), nothing).vanished.size() == 1);
  CHECK(compare(one(Outcome::passed), Report{}).vanished.size() == 1);
  for (const Outcome outcome : {Outcome::blocked, Outcome::unsupported, Outcome::not_applicable}) {
    const BaselineComparison out = compare(one(Outcome::passed), one(outcome, "because"));
    CHECK_FALSE(out.good());
    CHECK(out.vanished ==
          Changes{{path, "was passed, is " + in_words(outcome_name(outcome)) + ": because"}});
    CHECK(compare(one(outcome), nothing).good());
    CHECK(compare(one(outcome), one(Outcome::passed)).good());
  }
}

TEST_CASE("a test that begins to pass is reported", "[conformance]") {
  const BaselineComparison out = compare(one(Outcome::failed), one(Outcome::passed));
  CHECK(out.good());
  CHECK(out.newly_passing == Changes{{path, "was failed, is passed"}});
  CHECK_THAT(to_text(out, true), ContainsSubstring("\x1b[32mNewly passing\x1b[0m:\n"));
}

TEST_CASE("a measurement is worse by the factor", "[conformance]") {
  CHECK(is_worse(1, 2, "s"));
  CHECK_FALSE(is_worse(1, 1.99, "s"));
  CHECK(is_worse(1, 1.5, "s", 1.5));
  CHECK_FALSE(is_worse(2, 1, "s"));
  CHECK_FALSE(is_worse(0, 0, "allocations"));
  CHECK(is_worse(0, 1, "allocations"));
  SECTION("times below the resolution of a clock are not compared") {
    CHECK_FALSE(is_worse(1e-7, 9e-6, "s"));
    CHECK(is_worse(1e-7, 2e-5, "s"));
    CHECK(is_worse(1e-7, 9e-6, "bytes"));
  }
  SECTION("more is better for a rate") {
    CHECK_FALSE(is_worse(1, 5, "bytes/s"));
    CHECK(is_worse(4, 2, "bytes/s"));
    CHECK_FALSE(is_worse(4, 2.1, "bytes/s"));
    CHECK_FALSE(is_worse(0, 0, "bytes/s"));
  }
  SECTION("NaN and infinities") {
    CHECK(is_worse(1, std::nan(""), "s"));
    CHECK_FALSE(is_worse(std::nan(""), 1, "s"));
    CHECK(is_worse(1, INFINITY, "s"));
  }
  CHECK(compare(measured(1), measured(3)).worse_measurements ==
        Changes{{path, "execute: was 1 s, is 3 s"}});
}

TEST_CASE("a measurement that is missing or has another unit is reported", "[conformance]") {
  const BaselineComparison gone = compare(measured(1), one(Outcome::passed));
  CHECK(gone.good());
  CHECK(gone.notes == Changes{{path, "no longer measured: execute"}});
  CHECK(compare(measured(1, "s"), measured(100, "ms")).good());
  CHECK(compare(measured(1, "s"), measured(100, "ms")).notes.size() == 1);
  CHECK(compare(one(Outcome::passed), measured(1)).notes.empty());
}

TEST_CASE("two reports of one plugin are compared, several plugins by name", "[conformance]") {
  const SubjectReport passes =
      sample::subject_of("zoo", {sample::test_of("suite", "name", Outcome::passed)});
  SubjectReport fails =
      sample::subject_of("zoo", {sample::test_of("suite", "name", Outcome::failed)});
  const SubjectReport other =
      sample::subject_of("other", {sample::test_of("suite", "name", Outcome::passed)});
  SubjectReport renamed = passes;
  renamed.name = "zoo-2";
  CHECK(compare(sample::report_of({passes}), sample::report_of({renamed})).good());
  CHECK(compare(sample::report_of({passes, other}), sample::report_of({other, passes})).good());
  const BaselineComparison out =
      compare(sample::report_of({passes, other}), sample::report_of({other, fails}));
  CHECK(out.newly_failing == Changes{{std::string("zoo: ") + path, "was passed, is failed"}});
  const BaselineComparison fewer =
      compare(sample::report_of({passes, other}), sample::report_of({passes}));
  CHECK(fewer.vanished == Changes{{std::string("other: ") + path, "was passed, is missing"}});
}

TEST_CASE("differences between the runs themselves are noted", "[conformance]") {
  Report old = one(Outcome::passed);
  old.level = 3;
  old.seed = 1;
  old.machine = "another\x1b";
  old.kit_version = "0.0.9";
  const BaselineComparison out = compare(old, one(Outcome::passed));
  CHECK(out.good());
  CHECK(out.notes == Changes{{"level", "was '3', is '5'"},
                             {"seed", "was '1', is '18364758544493064720'"},
                             {"machine", "was 'another\\x1b', is 'Linux x86_64, 2 CPUs'"},
                             {"kit", "was '0.0.9', is '0.1.0'"}});
  CHECK_THAT(to_text(out, false), ContainsSubstring("Differs between the runs:\n  level: was"));
}

TEST_CASE("of two tests with the same path the bad one counts", "[conformance]") {
  Report twice = one(Outcome::failed);
  twice.subjects[0].tests.push_back(one(Outcome::passed).subjects[0].tests[0]);
  CHECK_FALSE(compare(one(Outcome::passed), twice).good());
  std::swap(twice.subjects[0].tests[0], twice.subjects[0].tests[1]);
  CHECK_FALSE(compare(one(Outcome::passed), twice).good());
}

}  // namespace report_baseline_test
