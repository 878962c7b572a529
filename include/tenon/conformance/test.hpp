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
#include "tenon/conformance/subject.hpp"
#include "tenon/core/concat.hpp"
#include "tenon/core/result.hpp"

/// Tests of the kit, and what their bodies use.
namespace tenon { inline namespace TENON_RELEASE { namespace conformance {

/// Random numbers, the same for the same seed on every machine. One thread at a time.
class Random {
 public:
  explicit Random(std::uint64_t seed);
  Random(const Random&) = delete;
  Random& operator=(const Random&) = delete;
  ~Random();

  /// The next number; all 64 bits are random.
  std::uint64_t operator()();

 private:
  struct Generator;
  std::unique_ptr<Generator> generator_;
};

class Breadcrumbs;  // Calls across the boundary, for a report of a crash.
class Channel;      // Where findings are written.

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
  /// where the scope of the test has none; `crumbs` may be null. `path` is the test's path by name.
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

/// The unit that a test judges, and so how often it is run for one plugin.
enum class Scope : std::uint8_t {
  plugin,   ///< The file: once.
  backend,  ///< Once for each backend.
  of_case,  ///< Once for each case of each backend.
};

/// One test of the kit. Refers to static texts.
struct TestInfo {
  std::string_view id;     ///< "arguments/leaves-inputs-unchanged"; unique, and never changed.
  std::string_view name;   ///< Says what is right; unique.
  std::string_view tags;   ///< As written: "[arguments][level-4][case][TN-EXE-2]".
  std::string_view suite;  ///< The part of the id before its slash.
  int level = 1;           ///< The lowest `--level` that runs it.
  Scope scope = Scope::plugin;
  std::vector<std::string_view> rules;  ///< Rules that the test can find violated.
  void (*body)(Context& kit) = nullptr;
};

/// Whether `id` can be the id of a test: "suite/words-with-hyphens", with one to four words, in
/// small letters and digits.
[[nodiscard]] constexpr bool is_test_id(std::string_view id) noexcept {
  int slashes = 0, words = 1;
  bool begins_word = true;
  for (const char c : id) {
    const bool is_plain = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
    const bool divides = !begins_word && (c == '-' || c == '/');
    if (!is_plain && !divides) return false;
    if (c == '/') {
      ++slashes;
      words = 1;
    }
    if (c == '-') ++words;
    begins_word = divides;
  }
  return !begins_word && slashes == 1 && words <= 4;
}

/// All tests that are linked in, by the name of their suite, each suite in the order of its source.
[[nodiscard]] const std::vector<TestInfo>& all_tests();

namespace detail {

/// Does nothing; a program that refers to it has the suites of the kit.
void link_suites() noexcept;

/// Registers a test. All texts are static.
void add_test(std::string_view id, std::string_view name, std::string_view tags,
              void (*body)(Context&));

/// Calls `on_test` with each test that is registered, also with those that will be.
void for_each_test(void (*on_test)(const TestInfo&));

struct TestRegistration {
  TestRegistration(std::string_view id, std::string_view name, std::string_view tags,
                   void (*body)(Context&)) {
    add_test(id, name, tags, body);
  }
};

/// The results of a test for one backend or case.
struct EmbeddedResult {
  std::string path;                   ///< Of the test; empty when there is no subject.
  std::vector<std::string> failures;  ///< Violated rules with their sentences, and other failures:
                                      ///< a test that was blocked, or that passed although the
                                      ///< subject file expects a failure.
  std::vector<std::string> expected;  ///< Violations that the subject file expects.
};

/// Runs the test with that name for each backend and case of the subject, one after the other in
/// this process.
[[nodiscard]] std::vector<EmbeddedResult> run_embedded(std::string_view name);

}  // namespace detail

}}}  // namespace tenon::TENON_RELEASE::conformance

/// Defines a test: `TENON_CONFORMANCE_TEST("arguments/leaves-inputs-unchanged",
/// "a run leaves its inputs unchanged", "[arguments][level-4][case][TN-EXE-2]")
/// { kit.expect(...); }`. The id names the suite and, in up to four words, the test; subject files,
/// baselines and command lines keep it, so it never changes. The name says what is right. The
/// tags name the suite, the level from which on it is run, its scope (plugin, backend or case), and
/// the rules that it judges. The body gets `Context& kit`.
///
/// In a program with `tenon/conformance/suites.hpp` it is, under the same name and tags, a test of
/// Catch2 as well, which runs it for all backends and cases of the subject.
#define TENON_CONFORMANCE_TEST(id, name, tags) \
  TENON_CONFORMANCE_DETAIL_COUNTER_BEGIN       \
  TENON_CONFORMANCE_DETAIL_TEST(id, name, tags, __COUNTER__)
#define TENON_CONFORMANCE_DETAIL_TEST(id, name, tags, number) \
  TENON_CONFORMANCE_DETAIL_TEST2(id, name, tags, number)
#define TENON_CONFORMANCE_DETAIL_TEST2(id, name, tags, number)                                   \
  namespace kit_test_##number {                                                                  \
    static_assert(::tenon::conformance::is_test_id(id),                                          \
                  "the id of a conformance test is suite/words-with-hyphens, up to four words"); \
    static void body(::tenon::conformance::Context& kit);                                        \
    static const ::tenon::conformance::detail::TestRegistration registration(id, name, tags,     \
                                                                             &body);             \
  }                                                                                              \
  TENON_CONFORMANCE_DETAIL_COUNTER_END                                                           \
  static void kit_test_##number::body([[maybe_unused]] ::tenon::conformance::Context& kit)

// From 22 on, clang warns that __COUNTER__ is not part of C or C++; all compilers have it.
#if defined(__clang__)
#if __has_warning("-Wc2y-extensions")
#define TENON_CONFORMANCE_DETAIL_COUNTER_BEGIN \
  _Pragma("clang diagnostic push") _Pragma("clang diagnostic ignored \"-Wc2y-extensions\"")
#define TENON_CONFORMANCE_DETAIL_COUNTER_END _Pragma("clang diagnostic pop")
#endif
#endif
#if !defined(TENON_CONFORMANCE_DETAIL_COUNTER_BEGIN)
#define TENON_CONFORMANCE_DETAIL_COUNTER_BEGIN
#define TENON_CONFORMANCE_DETAIL_COUNTER_END
#endif
