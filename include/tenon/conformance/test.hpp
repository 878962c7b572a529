// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <vector>

#include "tenon/conformance/catch.hpp"
#include "tenon/conformance/context.hpp"

namespace tenon::conformance {

/// What a test is about, and so how often it is run for one plugin.
enum class Scope : std::uint8_t {
  plugin,   ///< The file: once.
  backend,  ///< Once for each backend.
  of_case,  ///< Once for each case of each backend.
};

/// One test of the kit.
struct TestInfo {
  std::string_view name;  ///< A sentence, unique.
  std::string_view suite;
  int level = 1;  ///< From which `--level` on it is run.
  Scope scope = Scope::plugin;
  std::vector<std::string_view> rules;  ///< That it can find broken.
  void (*body)(Context& kit) = nullptr;
};

namespace detail {

inline std::vector<TestInfo>& test_list() {
  static std::vector<TestInfo> list;
  return list;
}

/// Reads "[arguments][level-4][case][TN-EXE-2]": the suite first, then the rest in any order.
inline TestInfo read_tags(std::string_view name, std::string_view tags, void (*body)(Context&)) {
  TestInfo info{name, {}, 1, Scope::plugin, {}, body};
  while (tags.starts_with('[')) {
    const std::size_t end = std::min(tags.find(']'), tags.size());
    const std::string_view tag = tags.substr(1, end - 1);
    tags.remove_prefix(std::min(end + 1, tags.size()));
    if (tag.starts_with("TN-")) {
      info.rules.push_back(tag);
    } else if (tag.starts_with("level-")) {
      info.level = 0;
      for (const char digit : tag.substr(6)) info.level = info.level * 10 + (digit - '0');
    } else if (tag == "plugin" || tag == "backend" || tag == "case") {
      info.scope = tag == "plugin"    ? Scope::plugin
                   : tag == "backend" ? Scope::backend
                                      : Scope::of_case;
    } else if (info.suite.empty()) {
      info.suite = tag;
    }
  }
  return info;
}

/// Defined in embed.hpp.
void run_in_catch(std::string_view name);

struct TestRegistration {
  TestRegistration(std::string_view name, std::string_view tags, void (*body)(Context&)) {
    test_list().push_back(read_tags(name, tags, body));
  }
};

}  // namespace detail

/// All tests that are linked in, by suite in the order of `suites.hpp`, then as they stand.
[[nodiscard]] inline const std::vector<TestInfo>& all_tests() { return detail::test_list(); }

}  // namespace tenon::conformance

/// Defines a test: `TENON_CONFORMANCE_TEST("inputs are as they were after a run",
/// "[arguments][level-4][case][TN-EXE-2]") { kit.keep(...); }`. The tags name the suite, the level
/// from which on it is run, what it is run for (plugin, backend or case), and the rules that it
/// judges. The body gets `Context& kit`.
///
/// It is registered with the kit and, under the same name and tags, with Catch2, where it is run
/// for all backends and cases of the subject, one after the other.
#define TENON_CONFORMANCE_TEST(name, tags) TENON_CONFORMANCE_DETAIL_TEST(name, tags, __COUNTER__)
#define TENON_CONFORMANCE_DETAIL_TEST(name, tags, number) \
  TENON_CONFORMANCE_DETAIL_TEST2(name, tags, number)
#define TENON_CONFORMANCE_DETAIL_TEST2(name, tags, number)                                       \
  namespace kit_test_##number {                                                                  \
    static void body(::tenon::conformance::Context& kit);                                        \
    static const ::tenon::conformance::detail::TestRegistration registration(name, tags, &body); \
    TEST_CASE(name, tags) { ::tenon::conformance::detail::run_in_catch(name); }                  \
  }                                                                                              \
  static void kit_test_##number::body([[maybe_unused]] ::tenon::conformance::Context& kit)
