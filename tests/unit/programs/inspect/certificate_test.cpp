// SPDX-License-Identifier: MIT
//
// tenon-inspect --certificate: a report of the conformance kit, and the plugin that it is about.
#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "support/catch.hpp"
#include "support/environment.hpp"
#include "support/signer.hpp"
#include "support/temporary_directory.hpp"
#include "unit/programs/inspect/certificate_report.hpp"
#include "unit/programs/inspect/inspect_support.hpp"
#include "unit/programs/run/process.hpp"

using namespace test;
using tenon::test::TemporaryDirectory;

namespace certificate_program_test {
namespace {

using test::certificate::good_report;
using test::certificate::Json;

/// A file with a report.
std::string write(const TemporaryDirectory& directory, const std::string& text) {
  return directory.write("report.json", text).native();
}

Outcome check(const std::string& report, std::vector<std::string> more = {}) {
  std::vector<std::string> words = {TENON_TEST_HELLO, "--certificate", report};
  words.insert(words.end(), more.begin(), more.end());
  return run_program(TENON_INSPECT, std::move(words), {});
}

void check_refused(const std::string& text, int exit_code, const std::string& why,
                   const std::vector<std::string>& more = {}) {
  const TemporaryDirectory directory;
  const Outcome outcome = check(write(directory, text), more);
  INFO(outcome.err);
  CHECK(outcome.exit_code == exit_code);
  CHECK(outcome.out.empty());
  CHECK_THAT(outcome.err, ContainsSubstring(why));
  CHECK(std::ranges::count(outcome.err, '\n') == 1);
}

}  // namespace

TEST_CASE("a plugin is checked against a report about it") {
  const TemporaryDirectory directory;
  const std::string file = write(directory, good_report().dump());
  const Outcome outcome = check(file);
  INFO(outcome.err);
  CHECK(outcome.exit_code == 0);
  CHECK(outcome.out.starts_with(file + " vouches for " TENON_TEST_HELLO "\n  SHA-256 "));
  CHECK_THAT(outcome.out, ContainsSubstring("level 5, seed 1, 2026-11-21T15:30:00Z\\x1b[31m\n"));
  CHECK_THAT(outcome.out, ContainsSubstring(" tests judged, 2 rules kept\n"));
  CHECK_THAT(outcome.out, ContainsSubstring("  not judged: TN-"));
  CHECK(check(file, {"--level", "4"}).exit_code == 0);
}

TEST_CASE("a report about another file, level, version or a failure does not vouch") {
  Json report = good_report();
  check_refused(report.dump(), 1, "is of level 5, expected level 6 or above", {"--level", "6"});
  report["all_tests"] = false;
  check_refused(report.dump(), 1, "some tests of its level only");
  report = good_report();
  report["kit_version"] = "9.9.9\x1b[31m";
  check_refused(report.dump(), 1, "is of kit '9.9.9\\x1b[31m', expected version");
  report = good_report();
  report["subjects"][0]["sha256"] = std::string(64, '0');
  check_refused(report.dump(), 1, "is not about this plugin: expected SHA-256");
  report = good_report();
  report["subjects"][0]["tests"][0]["outcome"] = "failed";
  check_refused(report.dump(), 1, "does not vouch for the plugin: FAIL:");
  report["subjects"][0]["tests"][0]["outcome"] = "blocked";
  check_refused(report.dump(), 1, "does not vouch for the plugin: FAIL: nothing was judged");
}

TEST_CASE("a report of a run that executed no delegate does not vouch, at no level") {
  Json report = good_report();
  report["subjects"][0]["tests"][0]["executed"] = false;
  check_refused(report.dump(), 1, "does not vouch for the plugin: INCOMPLETE: 2 rules kept; 1 of ");
  check_refused(report.dump(), 1, " tests judged; no delegate was executed");
  // The verdict of a run of level 1 is PASS.
  report = good_report(1);
  report["subjects"][0]["tests"][0]["executed"] = false;
  check_refused(report.dump(), 1, "does not vouch for the plugin: no delegate was executed",
                {"--level", "1"});
  report["subjects"][0]["tests"][0].erase("executed");
  check_refused(report.dump(), 1, "no delegate was executed", {"--level", "1"});
}

TEST_CASE(
    "a report that was changed to have fewer tests, other ones or a higher level does not vouch") {
  Json report = good_report();
  auto* tests = &report["subjects"][0]["tests"];
  tests->erase(3);
  check_refused(report.dump(), 1, "the report lacks the test '");
  report = good_report();
  tests = &report["subjects"][0]["tests"];
  tests->push_back(tests->at(3));
  check_refused(report.dump(), 1, " twice, expected once");
  report = good_report();
  report["level"] = 10;
  check_refused(report.dump(), 1, "expected each test of level 10");
  report["level"] = 99;
  check_refused(report.dump(), 1, "is of level 99, expected level 10 or below");
  report = good_report();
  report["subjects"][0]["backends"] = {"Sub"};
  check_refused(report.dump(), 1, "the report does not name backend 'Add', which the plugin has");
}

TEST_CASE("a report needs the signature of a listed publisher where there is a list") {
  TENON_TEST_NEEDS_SIGNER();
  const TemporaryDirectory directory;
  const tenon::test::Signer signer;
  const std::string text = good_report().dump();
  const std::string file = write(directory, text);
  const auto publishers = [&](std::string_view members) {
    const auto path = directory.write(
        "publishers.json",
        tenon::concat(R"({"publishers_version": 1, "publishers": [{"name": "Acme", "keys": [)",
                      R"({"minisign": ")", signer.public_key(), "\"", members, "}]}]}"));
    std::filesystem::permissions(path, std::filesystem::perms(0644));
    return Variables{{"TENON_PUBLISHERS", path.native()}};
  };
  const auto refused = [&](const Variables& variables, const std::string& why) {
    const ScopedEnvironment environment(variables);
    const Outcome outcome = check(file);
    INFO(outcome.err);
    CHECK(outcome.exit_code == 1);
    CHECK(outcome.out.empty());
    CHECK_THAT(outcome.err, ContainsSubstring(why));
    CHECK(std::ranges::count(outcome.err, '\n') == 1);
  };
  refused(publishers(""),
          "report.json.minisig is not there, expected a signature by a key of: Acme");
  signer.sign_file(file);
  {
    const ScopedEnvironment environment(publishers(""));
    const Outcome outcome = check(file);
    INFO(outcome.err);
    CHECK(outcome.exit_code == 0);
    CHECK_THAT(outcome.out, ContainsSubstring("  signed by Acme, key AB07060504030201: "
                                              "timestamp:1\\tfile:a.so\n"));
  }
  refused(publishers(R"(, "not_after": "2020-01-01")"),
          "which counted before 2020-01-02T00:00:00Z");
  // One more blank is another report.
  write(directory, text + " ");
  refused(publishers(""), "of Acme: the file is not what was signed");
  const ScopedEnvironment missing({Variables{{"TENON_PUBLISHERS", "/no/such/file"}}});
  CHECK(check(file).exit_code == 2);
}

TEST_CASE("a damaged report is reported as one") {
  const std::string text = good_report().dump();
  check_refused(text.substr(0, text.size() / 2), 2, "not JSON");
  check_refused("", 2, "report");
  check_refused("[]", 2, "expected an object");
  // The first one counts for some readers, and the last one for others.
  std::string twice = text;
  twice.insert(twice.find("\"outcome\""), "\"outcome\": \"failed\", ");
  check_refused(twice, 2, "report: the key 'outcome' is written twice");
  check_refused(std::string(200000, '['), 2, "not JSON");
  Json report = good_report();
  report["format"] = 2;
  check_refused(report.dump(), 2, "format: is 2, this kit reads 1");
  report = good_report();
  report["all_tests"] = "yes";
  check_refused(report.dump(), 2, "all_tests: expected true or false, found '\"yes\"'");
}

TEST_CASE("a certificate needs a plugin, and excludes other ways to inspect it") {
  const TemporaryDirectory directory;
  const std::string file = write(directory, good_report().dump());
  CHECK(run_program(TENON_INSPECT, {"/no/such/plugin.so", "--certificate", file}, {}).exit_code ==
        3);
  CHECK(check("/no/such/report.json").exit_code == 2);
  CHECK(check(file, {"--load"}).exit_code == 2);
  CHECK(check(file, {"--json"}).exit_code == 2);
  CHECK(run_program(TENON_INSPECT, {TENON_TEST_HELLO, "--level", "3"}, {}).exit_code == 2);
}

}  // namespace certificate_program_test
