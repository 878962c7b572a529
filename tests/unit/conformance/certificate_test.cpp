// SPDX-License-Identifier: MIT
#include "kit/report/certificate.hpp"

#include <string>
#include <utility>

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

Report good_report() {
  Report report =
      test::report_of({test::test_of("arguments", "inputs", Outcome::passed, {"TN-EXE-2"}),
                       test::test_of("options", "keys", Outcome::not_applicable, {"TN-OPT-1"})});
  report.kit_version = TENON_VERSION_STRING;
  report.all_tests = true;
  return report;
}

CertificateTerms terms_of(std::string sha256, int level = 5) {
  CertificateTerms terms;
  terms.sha256 = std::move(sha256);
  terms.level = level;
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
  CHECK(certificate->num_tests == 2);
  CHECK(certificate->num_judged == 1);
  CHECK(certificate->kept == std::vector<std::string>{"TN-EXE-2"});
  CHECK(certificate->not_judged.size() == rules().size() - 1);
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
  report.subjects[0].tests[0].executed = false;
  check_refused(report, terms_of(hash), Error::InvalidState,
                "INCOMPLETE: 1 rule kept; 1 of 2 tests judged; no delegate was executed");
  report.level = 1;
  check_refused(report, terms_of(hash, 1), Error::InvalidState,
                "the report does not vouch for the plugin: no delegate was executed");
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
                "INCOMPLETE: 1 of 2 tests could not be judged");
  report.subjects[0].tests.clear();
  check_refused(report, terms_of(hash), Error::InvalidState, "FAIL: no test was run");
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
  SubjectReport other = test::report_with_all_outcomes().subjects[0];
  other.sha256 = std::string(64, 'c');
  report.subjects.insert(report.subjects.begin(), other);
  CHECK(certificate_of(report, terms_of(hash)).ok());
  check_refused(report, terms_of(other.sha256), Error::InvalidState, "FAIL: ");
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
