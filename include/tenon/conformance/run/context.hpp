// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/conformance/result.hpp"
#include "tenon/conformance/run/random.hpp"
#include "tenon/conformance/run/subject.hpp"
#include "tenon/core/concat.hpp"
#include "tenon/core/result.hpp"

namespace tenon::conformance {

class Breadcrumbs;  // tenon/conformance/process/breadcrumbs.hpp
class Channel;      // tenon/conformance/process/channel.hpp

/// The settings of a run that tests can see.
struct RunOptions {
  std::uint64_t seed = 1;
  int level = 5;
  std::uint32_t repeat = 0;  ///< 0 for the first time.
  /// The test has a process of its own, whose standard streams are files.
  bool own_process = true;
};

/// Ends a test early. Thrown by `Context`, caught by `run_test`.
struct Stop {
  Outcome outcome;
  std::string reason;
};

/// The argument of a test's body. One for each run of a test. `violated`, `expect` and `measure`
/// may be called from any thread, everything else from the thread of the test.
class Context {
 public:
  /// All references must outlive this. `subject` names its plugin; `backend` and `of_case` are null
  /// where the scope of the test has none; `crumbs` may be null. `path` is that of the test by
  /// name.
  Context(const Subject& subject, const SubjectBackend* backend, const Case* of_case,
          const RunOptions& options, Channel& channel, Breadcrumbs* crumbs, std::string_view path);
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;
  ~Context();

  /// Reports that `rule` is violated; the parts say where, what was expected and what was found.
  /// The test continues. A test reports the same finding once, and at most 20 findings.
  template <class... Parts>
  void violated(std::string_view rule, const Parts&... parts) {
    report({std::string(rule), concat(parts...)});
  }
  /// Reports that `rule` is violated unless `good`. Returns `good`.
  template <class... Parts>
  bool expect(std::string_view rule, bool good, const Parts&... parts) {
    if (!good) violated(rule, parts...);
    return good;
  }
  /// Reports a finding of something that the test uses, as `violated` does.
  void report(Finding finding);

  /// Ends the test: the subject has nothing that it judges.
  template <class... Parts>
  [[noreturn]] void not_applicable(const Parts&... parts) {
    stop(Outcome::not_applicable, concat(parts...));
  }
  /// Ends the test: a failure that another test judges keeps this one from judging.
  template <class... Parts>
  [[noreturn]] void blocked(const Parts&... parts) {
    stop(Outcome::blocked, concat(parts...));
  }
  /// Returns the value; ends the test as `blocked` on failure. `what` names the value.
  template <class T>
  T need(Result<T> result, std::string_view what) {
    if (!result.ok()) blocked_by(std::move(result).status(), what);
    return *std::move(result);
  }
  void need(const Status& status, std::string_view what) {
    if (!status.ok()) blocked_by(status, what);
  }

  /// Records a figure for the report; no test judges it.
  void measure(std::string_view name, double value, std::string_view unit);

  [[nodiscard]] const Subject& subject() const noexcept { return subject_; }
  /// Absolute path of the plugin's file.
  [[nodiscard]] const std::filesystem::path& plugin() const noexcept { return *subject_.plugin; }
  /// The author's declarations about the backend; only in tests of a backend or a case.
  [[nodiscard]] const SubjectBackend& backend() const noexcept { return *backend_; }
  /// Only in tests of a case.
  [[nodiscard]] const Case& of_case() const noexcept { return *case_; }
  [[nodiscard]] bool has_case() const noexcept { return case_ != nullptr; }
  [[nodiscard]] const RunOptions& options() const noexcept { return options_; }
  /// Null where nothing records calls.
  [[nodiscard]] Breadcrumbs* crumbs() const noexcept { return crumbs_; }

  /// Numbers that depend on the seed and the path of the test alone. It is the path by name, so
  /// that a seed gives the numbers that it gave before tests had ids.
  [[nodiscard]] Random& random() noexcept { return random_; }

  [[nodiscard]] std::vector<Finding> findings() const;

 private:
  struct Findings;

  [[noreturn]] static void stop(Outcome outcome, std::string reason);
  [[noreturn]] static void blocked_by(const Status& status, std::string_view what);

  const Subject& subject_;
  const SubjectBackend* backend_;
  const Case* case_;
  RunOptions options_;
  Channel& channel_;
  Breadcrumbs* crumbs_;
  Random random_;
  std::unique_ptr<Findings> findings_;
};

}  // namespace tenon::conformance
