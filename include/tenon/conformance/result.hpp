// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/abi/version.h"

/// The results of a run of the conformance kit, as plain data: written by the process of a test,
/// read by the runner, and converted to reports.
namespace tenon { inline namespace TENON_RELEASE { namespace conformance {

/// How a test of one subject ended.
enum class Outcome : std::uint8_t {
  passed,
  failed,            ///< A rule was violated; `findings` has the details.
  expected_failure,  ///< It failed as the subject file declares, with the reason.
  unexpected_pass,  ///< It passed although the subject file expects a failure. Counts as a failure.
  unsupported,      ///< The subject file declares why it does not apply. Was not run.
  not_applicable,   ///< The subject has nothing to judge: no such ability, no case.
  blocked,  ///< Cannot be judged: the plugin cannot be loaded, or no case was given. Never a pass.
  kit_error,  ///< The kit itself could not do its work. Counts as a failure.
};

inline constexpr std::size_t num_outcomes = 8;

/// "passed", "failed", "expected_failure", ...: as in the reports.
[[nodiscard]] constexpr std::string_view outcome_name(Outcome outcome) noexcept {
  constexpr std::array<std::string_view, num_outcomes> names = {
      "passed",      "failed",         "expected_failure", "unexpected_pass",
      "unsupported", "not_applicable", "blocked",          "kit_error"};
  return names[static_cast<std::size_t>(outcome)];
}

/// One violation of a rule.
struct Finding {
  std::string rule;  ///< "TN-EXE-2".
  std::string text;  ///< Where, what was expected, what was found; one line.

  friend bool operator==(const Finding&, const Finding&) = default;
};

/// A figure that a test measured. Never judged by itself; `--baseline` compares it.
struct Measurement {
  std::string name;  ///< "execute".
  double value = 0;
  std::string unit;  ///< "s", "allocations", "bytes".
};

/// How a test's process crashed or hung.
struct Crash {
  std::string what;  ///< "SIGSEGV at 0x7f00 (behind input 1)", "exit(0)", "no answer in 10 s".
  std::string in;    ///< The running call: "execute, call 37, thread 2"; may be empty.
  std::vector<std::string> last_calls;  ///< Calls across the boundary, oldest first.
  std::vector<std::string> backtrace;   ///< Innermost first; empty when none could be taken.
};

/// One test, run once for one subject.
struct TestResult {
  std::string id;       ///< "arguments/leaves-inputs-unchanged"; empty in reports of older kits.
  std::string name;     ///< "a run leaves its inputs unchanged".
  std::string suite;    ///< "arguments".
  int level = 1;        ///< The lowest level that runs it.
  std::string backend;  ///< Id; empty for a test of the whole plugin.
  std::string of_case;  ///< Name of the case; empty for a test that needs none.
  std::uint32_t repeat = 0;        ///< 0 for the first time.
  std::vector<std::string> rules;  ///< Rules that the test can find violated.

  Outcome outcome = Outcome::passed;
  /// How it ended, before its findings made it fail. No part of reports.
  Outcome ended = Outcome::passed;
  std::string reason;     ///< For every outcome except `passed` and `failed`.
  bool executed = false;  ///< A delegate or a kernel of the plugin ran with success in it.
  std::vector<Finding> findings;
  std::vector<Measurement> measurements;
  std::vector<Crash> crashes;  ///< None or one.
  std::string output;          ///< Output on the standard streams, cut to 64 KiB.
  /// Paths of files and empty directories that it left in its directory for temporary files,
  /// relative to that. No part of reports: the runner makes one finding from the paths of all
  /// tests.
  std::vector<std::string> left_files;
  double seconds = 0;

  /// "arguments/leaves-inputs-unchanged/ZooBackend/add": how reports, `--only`, `--test` and
  /// subject files name the test, and the key for comparing two reports. Without an id it is
  /// `path_by_name()`.
  [[nodiscard]] std::string path() const { return id.empty() ? path_by_name() : path_of(id); }

  /// "arguments/a run leaves its inputs unchanged/ZooBackend/add": the path before tests had ids,
  /// which is accepted wherever a path is read.
  [[nodiscard]] std::string path_by_name() const { return path_of(suite + "/" + name); }

 private:
  [[nodiscard]] std::string path_of(std::string out) const {
    if (!backend.empty()) out += "/" + backend;
    if (!of_case.empty()) out += "/" + of_case;
    if (repeat != 0) out += "/#" + std::to_string(repeat + 1);
    return out;
  }
};

/// One plugin, judged.
struct SubjectReport {
  std::string path;                                ///< Of the plugin's file, as given.
  std::string sha256;                              ///< Of its bytes, 64 hexadecimal digits.
  std::string name, version, vendor, sdk_version;  ///< As its record says; empty without one.
  std::vector<std::string> backends;               ///< Ids.
  std::vector<TestResult> tests;
  /// Paths of the tests of all shards, in the order in which one run has them. Empty in a report of
  /// a whole run.
  std::vector<std::string> planned;
};

/// Which part of all tests a run had: `--shard 2/3`.
struct ReportShard {
  std::uint32_t part = 1;  ///< From 1 to `of`.
  std::uint32_t of = 1;    ///< 1: a whole run.
  bool all_tests = false;  ///< All parts together have all tests of the level.
};

/// One run of the kit.
struct Report {
  std::string kit_version;  ///< TENON_VERSION_STRING.
  std::string abi_version;  ///< "1.0".
  std::string started;      ///< UTC, "2026-11-21T15:30:00Z".
  std::string machine;      ///< "Linux x86_64, 2 CPUs".
  std::uint64_t seed = 0;
  int level = 0;
  bool all_tests = false;  ///< All tests of the level were selected, and not some of them.
  double seconds = 0;
  ReportShard shard;
  std::vector<SubjectReport> subjects;
};

/// How many tests ended in each way, by `Outcome`.
[[nodiscard]] inline std::array<std::uint32_t, num_outcomes> count_outcomes(const Report& report) {
  std::array<std::uint32_t, num_outcomes> out{};
  for (const SubjectReport& subject : report.subjects) {
    for (const TestResult& test : subject.tests) ++out[static_cast<std::size_t>(test.outcome)];
  }
  return out;
}

}}}  // namespace tenon::TENON_RELEASE::conformance
