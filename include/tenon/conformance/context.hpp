// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <mutex>
#include <random>
#include <string>
#include <string_view>
#include <utility>

#include "tenon/conformance/breadcrumbs.hpp"
#include "tenon/conformance/channel.hpp"
#include "tenon/conformance/result.hpp"
#include "tenon/conformance/subject.hpp"
#include "tenon/conformance/watch.hpp"
#include "tenon/core/concat.hpp"

namespace tenon::conformance {

/// What a run of the kit was asked for, as far as tests see it.
struct RunOptions {
  std::uint64_t seed = 1;
  int level = 5;
  std::uint32_t repeat = 0;  ///< 0 for the first time.
  /// The test has its process for itself, and the standard streams are files of its own.
  bool own_process = true;
};

/// Ends a test early. Thrown by `Context`, caught by whoever runs the test.
struct Stop {
  Outcome outcome;
  std::string reason;
};

/// What the body of a test has at hand. One for each run of a test; `broke`, `keep` and `measure`
/// from any thread, everything else from the test's own.
class Context {
 public:
  /// All must outlive this. `subject` names its plugin. `backend` and `of_case` may be null, as the
  /// test's scope says.
  Context(const Subject& subject, const SubjectBackend* backend, const Case* of_case,
          const RunOptions& options, Channel& channel, Breadcrumbs* crumbs, std::string_view path)
      : subject_(subject),
        backend_(backend),
        case_(of_case),
        options_(options),
        channel_(channel),
        crumbs_(crumbs),
        random_(options.seed ^ hash(path)) {}
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  /// `rule` is broken; the parts say where, what was expected and what was found. The test goes on.
  /// The same finding is told once, and at most 20 of one test.
  template <class... Parts>
  void broke(std::string_view rule, const Parts&... parts) {
    report({std::string(rule), concat(parts...)});
  }
  /// Unless `good`, `rule` is broken. Gives `good` back.
  template <class... Parts>
  bool keep(std::string_view rule, bool good, const Parts&... parts) {
    if (!good) broke(rule, parts...);
    return good;
  }

  /// Ends the test: the subject has nothing that it is about.
  template <class... Parts>
  [[noreturn]] void not_applicable(const Parts&... parts) {
    throw Stop{Outcome::not_applicable, concat(parts...)};
  }
  /// Ends the test: something that another test judges keeps this one from judging.
  template <class... Parts>
  [[noreturn]] void blocked(const Parts&... parts) {
    throw Stop{Outcome::blocked, concat(parts...)};
  }
  /// The value, or `blocked` with the failure.
  template <class T>
  T need(Result<T> result, std::string_view what) {
    if (!result.ok()) blocked(what, ": ", describe(std::move(result).status()));
    return *std::move(result);
  }
  void need(const Status& status, std::string_view what) {
    if (!status.ok()) blocked(what, ": ", describe(status));
  }

  /// Notes a figure; it is never judged by itself.
  void measure(std::string_view name, double value, std::string_view unit) {
    channel_.measurement({std::string(name), value, std::string(unit)});
  }

  [[nodiscard]] const Subject& subject() const noexcept { return subject_; }
  /// Absolute path of the plugin's file.
  [[nodiscard]] const std::filesystem::path& plugin() const noexcept { return *subject_.plugin; }
  /// What the author says of the backend; only for tests of a backend or a case.
  [[nodiscard]] const SubjectBackend& backend() const noexcept { return *backend_; }
  /// Only for tests of a case.
  [[nodiscard]] const Case& of_case() const noexcept { return *case_; }
  [[nodiscard]] bool has_case() const noexcept { return case_ != nullptr; }
  [[nodiscard]] const RunOptions& options() const noexcept { return options_; }
  [[nodiscard]] Breadcrumbs* crumbs() const noexcept { return crumbs_; }

  /// Numbers that depend on the seed and the test alone.
  [[nodiscard]] std::mt19937_64& random() noexcept { return random_; }

  /// Where `Boundary` reports.
  [[nodiscard]] OnFinding on_finding() {
    return [this](Finding finding) { report(std::move(finding)); };
  }

  [[nodiscard]] std::vector<Finding> findings() const {
    const std::lock_guard lock(mutex_);
    return findings_;
  }

 private:
  void report(Finding finding) {
    const std::lock_guard lock(mutex_);
    if (findings_.size() >= 20 || std::ranges::find(findings_, finding) != findings_.end()) {
      return;
    }
    channel_.finding(finding);
    findings_.push_back(std::move(finding));
  }

  /// FNV-1a: the same on every machine, which std::hash is not.
  static std::uint64_t hash(std::string_view text) noexcept {
    std::uint64_t out = 0xcbf29ce484222325;
    for (const char letter : text) {
      out = (out ^ static_cast<unsigned char>(letter)) * 0x100000001b3;
    }
    return out;
  }

  const Subject& subject_;
  const SubjectBackend* backend_;
  const Case* case_;
  RunOptions options_;
  Channel& channel_;
  Breadcrumbs* crumbs_;
  std::mt19937_64 random_;
  mutable std::mutex mutex_;
  std::vector<Finding> findings_;
};

}  // namespace tenon::conformance
