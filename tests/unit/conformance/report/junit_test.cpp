// SPDX-License-Identifier: MIT
#include "kit/report/junit.hpp"

#include <algorithm>
#include <limits>
#include <string>

#include "kit/report/escape.hpp"
#include "kit/verdict/rule.hpp"
#include "support/catch.hpp"
#include "unit/conformance/report/sample_report.hpp"

using namespace tenon::conformance;

TEST_CASE("each outcome is one of the four that JUnit knows", "[conformance]") {
  const std::string xml = to_junit(sample::report_with_all_outcomes());
  CHECK_THAT(xml, ContainsSubstring("<testsuites name=\"tenon-conformance\" tests=\"9\" "
                                    "failures=\"2\" errors=\"1\" time=\"0.111\">"));
  CHECK_THAT(xml, ContainsSubstring(
                      "<testcase name=\"lifecycle/init and destroy take turns/ZooBackend/add\" "
                      "classname=\"zoo.lifecycle\" time=\"0.012\"/>"));
  CHECK_THAT(
      xml, ContainsSubstring("<failure type=\"failed\" message=\"TN-EXE-2: input 1: byte 3 of 16: "
                             "expected 0x3f, found 0x00 (and 1 more)\">a run leaves its inputs "
                             "unchanged\nTN-EXE-2: input 1: byte 3 of 16"));
  CHECK_THAT(xml, ContainsSubstring("<failure type=\"unexpected_pass\" message=\"unexpected pass: "
                                    "was said to fail: keys are not looked at\">"));
  CHECK_THAT(xml, ContainsSubstring("<error type=\"kit_error\" message=\"kit error: fork: "));
  CHECK_THAT(xml, ContainsSubstring("<skipped type=\"expected_failure\" message=\"expected "
                                    "failure: half precision, see issue 12\"/>"));
  CHECK_THAT(xml, ContainsSubstring("<skipped type=\"unsupported\" message=\"unsupported: one "));
  CHECK_THAT(xml, ContainsSubstring("<skipped type=\"not_applicable\" message=\"not applicable"));
  CHECK_THAT(xml,
             ContainsSubstring("<skipped type=\"blocked\" message=\"blocked: init failed\"/>"));
  CHECK_THAT(xml, ContainsSubstring("<system-out>zoo: about to write\nzoo: writing\n"));
  CHECK_THAT(xml, ContainsSubstring("last calls, oldest first:\n  init(ZooBackend"));
  CHECK_THAT(xml, ContainsSubstring("backtrace, innermost first:\n  write_behind"));
  CHECK_THAT(xml, ContainsSubstring(" (" + std::string(find_rule("TN-EXE-2")->source) + ")"));
}

TEST_CASE("a suite has all its tests even if others are between them", "[conformance]") {
  const std::string xml = to_junit(sample::report_with_all_outcomes());
  CHECK_THAT(xml, ContainsSubstring("<testsuite name=\"zoo: lifecycle\" id=\"0\" package=\"zoo\" "
                                    "tests=\"2\" failures=\"0\" errors=\"0\" skipped=\"0\" "
                                    "time=\"0.025\" timestamp=\"2026-11-21T15:30:00\" "
                                    "hostname=\"localhost\">"));
  CHECK_THAT(xml, ContainsSubstring("/ZooBackend/add/#3\" classname=\"zoo.lifecycle\""));
  CHECK_THAT(xml, ContainsSubstring("<property name=\"seed\" value=\"18364758544493064720\"/>"));
  CHECK_THAT(xml, ContainsSubstring("<property name=\"verdict\" value=\"FAIL: 2 rules broken"));
}

TEST_CASE("a test that failed without a reason has a message", "[conformance]") {
  TestResult failed = sample::test_of("binary", "loads", Outcome::failed);
  CHECK_THAT(to_junit(sample::report_of({failed})),
             ContainsSubstring("<failure type=\"failed\" message=\"failed\"></failure>"));
  failed.crashes = {sample::crash_of("exit(0)")};
  CHECK_THAT(to_junit(sample::report_of({failed})),
             ContainsSubstring("<failure type=\"failed\" message=\"exit(0)\">exit(0) in execute"));
}

TEST_CASE("an empty report is a document too", "[conformance]") {
  CHECK(to_junit(Report{}) ==
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
        "<testsuites name=\"tenon-conformance\" tests=\"0\" failures=\"0\" errors=\"0\" "
        "time=\"0.000\">\n</testsuites>\n");
}

TEST_CASE("invalid times are not written to XML", "[conformance]") {
  TestResult odd = sample::test_of("binary", "loads", Outcome::passed);
  odd.seconds = -1;
  TestResult odder = odd;
  odder.name = "loads again";
  odder.seconds = std::numeric_limits<double>::quiet_NaN();
  const std::string xml = to_junit(sample::report_of({odd, odder}));
  CHECK(xml.find("nan") == xml.npos);
  CHECK(xml.find("=\"-") == xml.npos);
}

TEST_CASE("a long output is cut", "[conformance]") {
  TestResult failed = sample::test_of("binary", "prints", Outcome::failed);
  failed.output = std::string(1 << 20, 'x');
  const std::string xml = to_junit(sample::report_of({failed}));
  CHECK(xml.size() < 100'000);
  CHECK_THAT(xml, ContainsSubstring("[983040 more bytes]</system-out>"));
}

TEST_CASE("XML has only allowed characters", "[conformance]") {
  const std::string xml = to_junit(sample::hostile_report());
  CHECK(xml == escape::utf8(xml));
  CHECK(std::ranges::none_of(
      xml, [](char c) { return c != '\n' && c != '\t' && static_cast<unsigned char>(c) < 0x20; }));
  CHECK(xml.find("]]>") == xml.npos);
  CHECK(xml.find("<script") == xml.npos);
  CHECK(xml.find("\xef\xbf\xbf") == xml.npos);
}
