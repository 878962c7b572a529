// SPDX-License-Identifier: MIT
#include "tenon/conformance/test.hpp"

#include <algorithm>
#include <utility>

namespace tenon { inline namespace TENON_RELEASE { namespace conformance {

namespace {

struct TestRegistry {
  std::vector<TestInfo> tests;
  void (*on_test)(const TestInfo&) = nullptr;
};
/// Tests register while static objects are initialised, sources in any order.
TestRegistry& test_registry() {
  static TestRegistry registry;
  return registry;
}

/// Reads "[arguments][level-4][case][TN-EXE-2]", in any order.
TestInfo read_tags(std::string_view id, std::string_view name, std::string_view tags,
                   void (*body)(Context&)) {
  TestInfo info{id, name, tags, id.substr(0, id.find('/')), 1, Scope::plugin, {}, body};
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
    }
  }
  return info;
}

}  // namespace

namespace detail {

void add_test(std::string_view id, std::string_view name, std::string_view tags,
              void (*body)(Context&)) {
  TestRegistry& registry = test_registry();
  TestInfo info = read_tags(id, name, tags, body);
  const auto place = std::ranges::upper_bound(registry.tests, info.suite, {}, &TestInfo::suite);
  const auto added = registry.tests.insert(place, std::move(info));
  if (registry.on_test) registry.on_test(*added);
}

void for_each_test(void (*on_test)(const TestInfo&)) {
  TestRegistry& registry = test_registry();
  for (const TestInfo& test : registry.tests) on_test(test);
  registry.on_test = on_test;
}

}  // namespace detail

const std::vector<TestInfo>& all_tests() { return test_registry().tests; }

}}}  // namespace tenon::TENON_RELEASE::conformance
