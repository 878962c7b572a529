// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/conformance/case.hpp"
#include "tenon/conformance/result.hpp"
#include "tenon/core/options.hpp"
#include "tenon/core/result.hpp"
#include "tenon/core/status.hpp"

/// The author's declarations about a plugin. docs/tools/cases.md describes their file for people.
namespace tenon { inline namespace TENON_RELEASE { namespace conformance {

/// Tests that are treated in a special way, and why.
struct Declaration {
  std::string test;    ///< Glob over paths of tests or over ids of rules: "TN-BCK-7".
  std::string reason;  ///< Never empty.
  std::string where;   ///< Its place in the file: "unsupported[0]".

  /// Whether it applies to `of`: by its path, or by a rule that it can find violated.
  [[nodiscard]] bool matches(const TestResult& of) const;
};

/// Files that tests leave in their directories for temporary files, and why that is not judged.
struct LeftFiles {
  std::string pattern;  ///< Glob over paths relative to that directory: ".ses", "cache/*".
  std::string reason;   ///< Never empty.
  std::string where;    ///< Its place in the file: "left_files[0]".

  /// Whether it is about `path`, or about a directory that `path` is in.
  [[nodiscard]] bool matches(const std::string& path) const;
};

/// Lines that the plugin's runtime writes to the standard streams, and why that is not judged.
struct PrintedLines {
  std::string pattern;  ///< Glob over a line without its end: "INFO: *".
  std::string reason;   ///< Never empty.
  std::string where;    ///< Its place in the file: "printed_lines[0]".

  [[nodiscard]] bool matches(const std::string& line) const;
};

/// A variable in the environment of each test's process, and why it is needed.
struct TestVariable {
  std::string name;
  std::string value;
  std::string reason;  ///< Never empty.
};

/// Whether `glob` matches the path of `test`, with its id or with its name.
[[nodiscard]] bool matches_path(const std::string& glob, const TestResult& test);

/// The declarations about one backend of the plugin.
struct SubjectBackend {
  std::string id;
  std::vector<std::pair<std::string, OptionValue>> options;        ///< Set before each test.
  std::vector<std::pair<std::string, OptionValue>> runtime_specs;  ///< Passed to each load.
  std::vector<Case> cases;                                         ///< With different names.
  /// Why there is no case for it. Tests that need one are then unsupported, and not blocked.
  std::string no_cases;
  Tolerances tolerances;                     ///< Replace the tolerances of its cases.
  bool deterministic = true;                 ///< The same inputs give the same bytes.
  std::optional<std::uint64_t> max_threads;  ///< Threads it may start; absent: any number.
  /// Functions for operators that the exporter of AOTInductor models lets through, of a list that
  /// the file names; absent: not compared.
  std::optional<std::vector<std::string>> fallback_kernels;
  std::optional<std::uint64_t> steady_allocations;  ///< In one steady run; absent: not judged.
  /// In which a run that was cancelled returns.
  std::uint64_t cancel_ms = 1000;
  /// By how much an estimate and what is held may differ, either way; 1 or more.
  double estimate_factor = 2;
  /// Duration of one `init`, about; absent: so short that no test is shortened for it (budget.hpp).
  std::optional<std::uint64_t> init_ms;
  std::uint64_t seconds_per_test = 20;  ///< For the calls of `init` of one test, with `init_ms`.

  /// Limits for an output of `of_case`: those declared for this backend, else the limits of the
  /// case, else the default ones.
  [[nodiscard]] Tolerances tolerances_for(const Case& of_case) const {
    return of_case.tolerances.overridden_by(tolerances);
  }
};

/// A plugin as its author describes it. Without a file it has no declarations.
struct Subject {
  std::filesystem::path file;                   ///< Where it was read from; empty without a file.
  std::optional<std::filesystem::path> plugin;  ///< When the file names it.
  std::vector<SubjectBackend> backends;
  std::vector<Declaration> unsupported_tests;       ///< Are not run.
  std::vector<Declaration> expected_failure_tests;  ///< Must fail.
  std::vector<LeftFiles> left_files;
  std::vector<PrintedLines> printed_lines;
  std::vector<TestVariable> environment;  ///< With different names.

  /// The declarations about a backend, or null.
  [[nodiscard]] const SubjectBackend* backend(std::string_view id) const noexcept;

  /// The first declaration that `test` does not apply to this plugin, or null.
  [[nodiscard]] const Declaration* unsupported(const TestResult& test) const;

  /// The first declaration that `test` fails, or null.
  [[nodiscard]] const Declaration* expected_failure(const TestResult& test) const;

  /// The declarations that match none of `tests`: stale or misspelt ones. `tests` are all tests of
  /// the subject and not only the selected ones.
  [[nodiscard]] std::vector<const Declaration*> unmatched(std::span<const TestResult> tests) const;
};

/// Reads a subject file and the cases that it names.
///
/// threads: any. errors: AccessFailed when the file cannot be read; InvalidArgument when it does
/// not conform to docs/schemas/tenon-subject.schema.json or names files that do not exist;
/// otherwise as `read_cases`. Texts name the file, the member, what was expected and what was
/// found.
[[nodiscard]] Result<Subject> read_subject(const std::filesystem::path& path);

/// Reads a subject and the cases that it names, with `text` as the content of a file in
/// `directory`. `name` begins the text of a failure.
[[nodiscard]] Result<Subject> parse_subject(std::string_view text, std::string_view name,
                                            const std::filesystem::path& directory);

/// Sets the plugin that the suites judge in an own test program (suites.hpp), in place of the one
/// that the environment's variable TENON_CONFORMANCE_SUBJECT names by its subject file. Call it
/// before tests run.
///
/// errors: InvalidArgument when `subject` names no plugin; as `host::Program::open` for its cases.
Status set_subject(Subject subject);

}}}  // namespace tenon::TENON_RELEASE::conformance
