// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "tenon/conformance/run/context.hpp"

namespace tenon::conformance {

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
  std::vector<std::string_view> rules;  ///< Those that it can find violated.
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

/// All tests that are linked in: those of the kit by suite, in the order of `suites/all.hpp`, each
/// suite in the order of its source.
[[nodiscard]] const std::vector<TestInfo>& all_tests();

/// Defined by <tenon/conformance/implementation.hpp>, and so by the library of the kit. A linker
/// that does not find it, or finds two, says with its name what to do.
void include_tenon_conformance_implementation_hpp_in_exactly_one_source() noexcept;

namespace detail {

[[gnu::used]] inline constexpr auto* needs_implementation =
    &include_tenon_conformance_implementation_hpp_in_exactly_one_source;

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

}  // namespace detail

}  // namespace tenon::conformance

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
