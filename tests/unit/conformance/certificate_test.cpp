// SPDX-License-Identifier: MIT
#include "kit/report/certificate.hpp"

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "kit/report/json.hpp"
#include "kit/report/json_reader.hpp"
#include "kit/verdict/rule.hpp"
#include "support/catch.hpp"
#include "unit/conformance/report/sample_report.hpp"

using namespace tenon;
using namespace tenon::conformance;

namespace certificate_test {
namespace {

const std::string hash(64, 'a');

constexpr KitTest few_tests[] = {
    {"arguments/inputs", 4, Scope::of_case, "TN-EXE-2"},
    {"options/keys", 3, Scope::backend, "TN-OPT-1 TN-OPT-2"},
    {"binary/exports", 1, Scope::plugin, "TN-BIN-1"},
    {"leaks/grows", 8, Scope::of_case, "TN-BCK-5"},
};

TestResult test_of(const KitTest& test, Outcome outcome, std::vector<std::string> rules) {
  const std::string id(test.id);
  TestResult out = sample::test_of(id.substr(0, id.find('/')), id.substr(id.find('/') + 1), outcome,
                                   std::move(rules));
  out.id = id;
  if (test.scope != Scope::of_case) out.of_case.clear();
  if (test.scope == Scope::plugin) out.backend.clear();
  return out;
}

Report good_report() {
  Report report =
      sample::report_of({test_of(few_tests[0], Outcome::passed, {"TN-EXE-2"}),
                         test_of(few_tests[1], Outcome::not_applicable, {"TN-OPT-1", "TN-OPT-2"}),
                         test_of(few_tests[2], Outcome::passed, {"TN-BIN-1"})});
  report.subjects[0].backends = {"ZooBackend"};
  report.kit_version = TENON_VERSION_STRING;
  report.all_tests = true;
  return report;
}

CertificateTerms terms_of(std::string sha256, int level = 5) {
  CertificateTerms terms;
  terms.sha256 = std::move(sha256);
  terms.level = level;
  terms.backends = {"ZooBackend"};
  terms.tests = few_tests;
  return terms;
}

void check_refused(const Report& report, const CertificateTerms& terms, Error code,
                   const std::string& text) {
  const auto certificate = certificate_of(report, terms);
  CAPTURE(text, certificate.text());
  CHECK(certificate.error() == code);
  CHECK_THAT(std::string(certificate.text()), ContainsSubstring(text));
}

}  // namespace

TEST_CASE("a good report vouches for the plugin that it judged", "[conformance]") {
  const auto read = report_from_json(to_json(good_report()));
  REQUIRE(read.ok());
  const auto certificate = certificate_of(*read, terms_of(hash));
  INFO(certificate.text());
  REQUIRE(certificate.ok());
  CHECK(certificate->level == 5);
  CHECK(certificate->num_tests == 3);
  CHECK(certificate->num_judged == 2);
  CHECK(certificate->kept == std::vector<std::string>{"TN-EXE-2", "TN-BIN-1"});
  CHECK(certificate->not_judged.size() == rules().size() - 2);
  CHECK(certificate_of(*read, terms_of(hash, 1)).ok());
}

TEST_CASE("a report vouches for no other plugin, level or version", "[conformance]") {
  Report report = good_report();
  check_refused(report, terms_of(std::string(64, 'b')), Error::NotFound,
                "expected SHA-256 " + std::string(64, 'b') + ", found '" + hash + "'");
  check_refused(report, terms_of(hash, 6), Error::InvalidArgument,
                "is of level 5, expected level 6 or above");
  report.kit_version = "0.0.9";
  check_refused(report, terms_of(hash), Error::NotSupported, "is of kit '0.0.9', expected version");
  report = good_report();
  report.subjects.clear();
  check_refused(report, terms_of(hash), Error::NotFound, "found no plugin");
}

TEST_CASE("a report of a run that executed no delegate vouches for nothing", "[conformance]") {
  Report report = good_report();
  for (TestResult& test : report.subjects[0].tests) test.executed = false;
  check_refused(report, terms_of(hash), Error::InvalidState,
                "INCOMPLETE: 2 rules kept; 2 of 3 tests judged; no delegate was executed");
  report.level = 1;
  report.subjects[0].tests.erase(report.subjects[0].tests.begin(),
                                 report.subjects[0].tests.begin() + 2);
  check_refused(report, terms_of(hash, 1), Error::InvalidState,
                "the report does not vouch for the plugin: no delegate was executed");
}

TEST_CASE("a report vouches for nothing unless it has each test of its level once",
          "[conformance]") {
  Report report = good_report();
  const auto refused = [&](const std::string& text) {
    check_refused(report, terms_of(hash), Error::InvalidArgument, text);
    report = good_report();
  };
  const auto tests = [&]() -> std::vector<TestResult>& { return report.subjects[0].tests; };
  for (const char* lacking :
       {"'arguments/inputs/ZooBackend'", "'options/keys/ZooBackend'", "'binary/exports'"}) {
    const std::size_t i = static_cast<std::size_t>(lacking[1] == 'a'   ? 0
                                                   : lacking[1] == 'o' ? 1
                                                                       : 2);
    tests().erase(tests().begin() + static_cast<std::ptrdiff_t>(i));
    refused(std::string("the report lacks the test ") + lacking);
  }
  tests().push_back(tests().front());
  refused("'arguments/inputs/ZooBackend/add' twice, expected once");
  // Another case, with one test of two.
  report.level = 8;
  refused("the report lacks the test 'leaks/grows/ZooBackend/add'");
  tests().push_back(tests().front());
  tests().back().repeat = 1;
  CHECK(certificate_of(report, terms_of(hash)).ok());
  tests().back().id = "arguments/easy";
  refused("'arguments/easy/ZooBackend/add/#2', which this version of the kit does not have");
  tests().push_back(test_of(few_tests[3], Outcome::passed, {"TN-BCK-5"}));
  refused("'leaks/grows/ZooBackend/add', which is of level 8");
  tests().front().rules.push_back("TN-EXE-9");
  refused("with the rules 'TN-EXE-2 TN-EXE-9', expected TN-EXE-2");
  tests().front().backend = "Another";
  refused("for backend 'Another', expected one of the report");
  tests().at(1).of_case = "add";
  refused("for case 'add', expected none");
  tests().at(2).backend = "ZooBackend";
  refused("for backend 'ZooBackend', expected none: the test is about the plugin");
  report.subjects[0].backends.push_back("Other");
  refused("the report lacks the test 'arguments/inputs/Other'");
  report.level = 99;
  refused("is of level 99, expected level 10 or below");
  report.subjects[0].backends.clear();
  refused("the report does not name backend 'ZooBackend', which the plugin has");
}

TEST_CASE("the kit's list of its tests has each level and scope", "[conformance]") {
  REQUIRE(kit_tests().size() > 100);
  for (const KitTest& test : kit_tests()) {
    CAPTURE(test.id);
    CHECK((test.level >= 1 && test.level <= highest_level));
    CHECK(test.rules.starts_with("TN-"));
  }
}

TEST_CASE("a report with failures, with blocked tests or of some tests vouches for nothing",
          "[conformance]") {
  Report report = good_report();
  report.all_tests = false;
  check_refused(report, terms_of(hash), Error::InvalidArgument, "some tests of its level only");
  for (const Outcome outcome : {Outcome::failed, Outcome::unexpected_pass, Outcome::kit_error}) {
    report = good_report();
    report.subjects[0].tests[1].outcome = outcome;
    check_refused(report, terms_of(hash), Error::InvalidState, "FAIL: ");
  }
  report = good_report();
  report.subjects[0].tests[1].outcome = Outcome::blocked;
  check_refused(report, terms_of(hash), Error::InvalidState,
                "INCOMPLETE: 1 of 3 tests could not be judged");
  report.subjects[0].tests.clear();
  check_refused(report, terms_of(hash), Error::InvalidArgument, "the report lacks the test");
}

TEST_CASE("the results of tests decide and not the verdict of the file", "[conformance]") {
  Report report = good_report();
  report.subjects[0].tests[0].outcome = Outcome::failed;
  std::string text = to_json(report);
  const auto replace = [&](const std::string& from, const std::string& to) {
    const std::size_t at = text.find(from);
    REQUIRE(at != std::string::npos);
    text.replace(at, from.size(), to);
  };
  replace("\"good\": false", "\"good\": true");
  replace("\"FAIL: ", "\"PASS: ");
  const auto read = report_from_json(text);
  REQUIRE(read.ok());
  check_refused(*read, terms_of(hash), Error::InvalidState, "FAIL: ");
}

TEST_CASE("a failure of another plugin in the report does not matter", "[conformance]") {
  Report report = good_report();
  SubjectReport other = sample::report_with_all_outcomes().subjects[0];
  other.sha256 = std::string(64, 'c');
  report.subjects.insert(report.subjects.begin(), other);
  CHECK(certificate_of(report, terms_of(hash)).ok());
  check_refused(report, terms_of(other.sha256), Error::InvalidArgument,
                "which this version of the kit does not have");
  check_refused(report, terms_of(std::string(64, 'd')), Error::NotFound, " and 1 more");
}

TEST_CASE("a report from before the member all_tests was not of all tests", "[conformance]") {
  std::string text = to_json(good_report());
  const std::string member = "\"all_tests\": true,";
  REQUIRE(text.find(member) != std::string::npos);
  text.erase(text.find(member), member.size());
  const auto read = report_from_json(text);
  INFO(read.text());
  REQUIRE(read.ok());
  CHECK_FALSE(read->all_tests);
}

}  // namespace certificate_test
