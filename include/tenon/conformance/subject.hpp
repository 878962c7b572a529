// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
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
#include "tenon/conformance/tolerance.hpp"
#include "tenon/core/options.hpp"
#include "tenon/host/glob.hpp"

/// What the author of a plugin declares about it. docs/subject-files.md describes the file for
/// people; `read_subject` (subject_file.hpp) reads it.
namespace tenon::conformance {

/// Tests that do not count as usual, and why.
struct Declaration {
  std::string test;    ///< Glob over `TestResult::path()` or over ids of rules: "TN-BCK-7".
  std::string reason;  ///< Never empty.
  std::string where;   ///< "unsupported[0]": its place in the file.

  /// Whether this is about a test with that path, which can find these rules broken.
  [[nodiscard]] bool matches(std::string_view path, std::span<const std::string> rules) const {
    return host::matches_glob(test, path) || std::ranges::any_of(rules, [&](const std::string& id) {
             return host::matches_glob(test, id);
           });
  }
};

/// What is declared about one backend of the plugin.
struct SubjectBackend {
  std::string id;
  std::vector<std::pair<std::string, OptionValue>> options;        ///< Set before each test.
  std::vector<std::pair<std::string, OptionValue>> runtime_specs;  ///< Given to each load.
  std::vector<Case> cases;                                         ///< With different names.
  Tolerances tolerances;                            ///< In place of those of its cases.
  bool deterministic = true;                        ///< The same inputs give the same bytes.
  std::optional<std::uint64_t> max_threads;         ///< That it may start; not limited when absent.
  std::optional<std::uint64_t> steady_allocations;  ///< In one run, once runs are steady; else 0.

  /// Limits for an output of `of_case`: those declared for this backend, else those of the case,
  /// else the default ones.
  [[nodiscard]] Tolerances tolerances_for(const Case& of_case) const {
    return of_case.tolerances.overridden_by(tolerances);
  }
};

/// A plugin as its author describes it. One without a file declares nothing.
struct Subject {
  std::filesystem::path file;                   ///< Where it was read from; empty without a file.
  std::optional<std::filesystem::path> plugin;  ///< When the file names it.
  std::vector<SubjectBackend> backends;
  std::vector<Declaration> unsupported_tests;       ///< Are not run.
  std::vector<Declaration> expected_failure_tests;  ///< Must fail.

  /// What is declared about a backend, or null.
  [[nodiscard]] const SubjectBackend* backend(std::string_view id) const noexcept {
    const auto found = std::ranges::find(backends, id, &SubjectBackend::id);
    return found == backends.end() ? nullptr : &*found;
  }

  /// The first declaration that a test with this path is not for this plugin, or null. `rules` are
  /// those that the test can find broken.
  [[nodiscard]] const Declaration* unsupported(std::string_view path,
                                               std::span<const std::string> rules) const {
    return first_match(unsupported_tests, path, rules);
  }

  /// The first declaration that a test with this path fails, or null.
  [[nodiscard]] const Declaration* expected_failure(std::string_view path,
                                                    std::span<const std::string> rules) const {
    return first_match(expected_failure_tests, path, rules);
  }

  /// The declarations that match none of `tests`, which are all that there are and not only those
  /// that were chosen: a declaration that outlived its test, or was misspelt, hides nothing and
  /// misleads its reader.
  [[nodiscard]] std::vector<const Declaration*> unmatched(std::span<const TestResult> tests) const {
    std::vector<const Declaration*> out;
    for (const auto* list : {&unsupported_tests, &expected_failure_tests}) {
      for (const Declaration& declaration : *list) {
        const bool is_used = std::ranges::any_of(tests, [&](const TestResult& test) {
          return declaration.matches(test.path(), test.rules);
        });
        if (!is_used) out.push_back(&declaration);
      }
    }
    return out;
  }

 private:
  static const Declaration* first_match(const std::vector<Declaration>& declarations,
                                        std::string_view path, std::span<const std::string> rules) {
    const auto found = std::ranges::find_if(declarations, [&](const Declaration& declaration) {
      return declaration.matches(path, rules);
    });
    return found == declarations.end() ? nullptr : &*found;
  }
};

}  // namespace tenon::conformance
