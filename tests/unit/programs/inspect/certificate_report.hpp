// SPDX-License-Identifier: MIT
#pragma once

#include <iterator>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "kit/verdict/complete.hpp"
#include "tenon/abi/version.h"
#include "tenon/core/sha256.hpp"
#include "unit/programs/inspect/inspect_support.hpp"

/// Reports about the plugin hello, to be changed.
namespace test::certificate {

using Json = nlohmann::json;

/// The rules of a test, as the kit's list has them.
inline Json rules_of(const tenon::conformance::KitTest& test) {
  std::istringstream words{std::string(test.rules)};
  return std::vector<std::string>{std::istream_iterator<std::string>(words), {}};
}

/// Of each test of the level, where the first test that runs a case passed and no other applies.
inline Json good_report(int level = 5) {
  const auto bytes = tenon::test::read_bytes(TENON_TEST_HELLO);
  Json tests = Json::array();
  bool is_first = true;
  for (const tenon::conformance::KitTest& each : tenon::conformance::kit_tests()) {
    if (each.level > level) continue;
    const bool is_of_case = each.scope == tenon::conformance::Scope::of_case;
    const bool is_of_plugin = each.scope == tenon::conformance::Scope::plugin;
    const bool has_run = is_first && (is_of_case || level == 1);
    is_first = is_first && !has_run;
    const Json test = {{"id", each.id},
                       {"name", each.id},
                       {"suite", each.id.substr(0, each.id.find('/'))},
                       {"level", each.level},
                       {"backend", is_of_plugin ? "" : "Add"},
                       {"case", is_of_case ? "add" : ""},
                       {"repeat", 0},
                       {"rules", rules_of(each)},
                       {"outcome", has_run ? "passed" : "not_applicable"},
                       {"reason", has_run ? "" : "nothing to judge"},
                       {"executed", has_run},
                       {"findings", Json::array()},
                       {"measurements", Json::array()},
                       {"crashes", Json::array()},
                       {"output", ""},
                       {"seconds", 0.5}};
    if (has_run) {
      tests.insert(tests.begin(), test);  // The tests below change it.
    } else {
      tests.push_back(test);
    }
  }
  const Json subject = {{"path", "/opt/acme/\x1b[31mhello.so"},
                        {"sha256", tenon::sha256_of(bytes).to_hex()},
                        {"name", "Add"},
                        {"version", ""},
                        {"vendor", ""},
                        {"sdk_version", "0.1.0"},
                        {"backends", {"Add"}},
                        {"tests", tests}};
  return {{"format", 1},          {"kit_version", TENON_VERSION_STRING},
          {"abi_version", "1.1"}, {"started", "2026-11-21T15:30:00Z\x1b[31m"},
          {"machine", "Linux"},   {"seed", 1},
          {"level", level},       {"all_tests", true},
          {"seconds", 1.5},       {"subjects", {subject}}};
}

}  // namespace test::certificate
