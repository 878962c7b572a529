// SPDX-License-Identifier: MIT
//
// tenon-inspect --certificate: a report of the conformance kit, and the plugin that it is about.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "support/catch.hpp"
#include "support/temporary_directory.hpp"
#include "tenon/abi/version.h"
#include "tenon/core/sha256.hpp"
#include "unit/tools/inspect/inspect_support.hpp"
#include "unit/tools/run/process.hpp"

using namespace test;
using tenon::test::TemporaryDirectory;
using Json = nlohmann::json;

namespace certificate_program_test {
namespace {

/// A file with a report.
std::string write(const TemporaryDirectory& directory, const std::string& text) {
  return directory.write("report.json", text).native();
}

Json good_report() {
  const auto bytes = tenon::test::read_bytes(TENON_TEST_HELLO);
  const Json test = {{"name", "inputs"},
                     {"suite", "arguments"},
                     {"level", 4},
                     {"backend", "Add"},
                     {"case", "add"},
                     {"repeat", 0},
                     {"rules", {"TN-EXE-2"}},
                     {"outcome", "passed"},
                     {"reason", ""},
                     {"executed", true},
                     {"findings", Json::array()},
                     {"measurements", Json::array()},
                     {"crashes", Json::array()},
                     {"output", ""},
                     {"seconds", 0.5}};
  const Json subject = {{"path", "/opt/acme/\x1b[31mhello.so"},
                        {"sha256", tenon::sha256_of(bytes).to_hex()},
                        {"name", "Add"},
                        {"version", ""},
                        {"vendor", ""},
                        {"sdk_version", "0.1.0"},
                        {"backends", {"Add"}},
                        {"tests", {test}}};
  return {{"format", 1},          {"kit_version", TENON_VERSION_STRING},
          {"abi_version", "1.1"}, {"started", "2026-11-21T15:30:00Z\x1b[31m"},
          {"machine", "Linux"},   {"seed", 1},
          {"level", 5},           {"all_tests", true},
          {"seconds", 1.5},       {"subjects", {subject}}};
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
  CHECK_THAT(outcome.out, ContainsSubstring("1 of 1 tests judged, 1 rules kept\n"));
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
  check_refused(report.dump(), 1,
                "does not vouch for the plugin: INCOMPLETE: 1 rule kept; 1 of 1 test judged; no "
                "delegate was executed");
  // The verdict of a run of level 1 is PASS.
  report["level"] = 1;
  check_refused(report.dump(), 1, "does not vouch for the plugin: no delegate was executed",
                {"--level", "1"});
  report["subjects"][0]["tests"][0].erase("executed");
  check_refused(report.dump(), 1, "no delegate was executed", {"--level", "1"});
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
  check_refused(report.dump(), 2, "all_tests: expected true or false, found string");
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
