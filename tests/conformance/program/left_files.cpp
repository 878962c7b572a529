// SPDX-License-Identifier: MIT
#include "left_files.hpp"

#include <algorithm>
#include <cstddef>
#include <set>
#include <string>

#include "kit/verdict/verdict.hpp"
#include "tenon/core/concat.hpp"
#include "tenon/core/lists.hpp"
#include "tenon/host/loader/files/quoted.hpp"
#include "tenon/host/platform/path_text.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace conformance {

namespace {

/// Distinct names that a finding shows.
constexpr std::size_t most_names = 8;

bool is_declared(const Subject& subject, const std::string& path) {
  return std::ranges::any_of(subject.left_files,
                             [&](const LeftFiles& one) { return one.matches(path); });
}

}  // namespace

void judge_left_files(const Subject& subject, std::vector<TestResult>& results) {
  TestResult* first = nullptr;
  std::size_t tests = 0;
  std::vector<std::string> names;
  std::set<std::string> seen;
  for (TestResult& result : results) {
    bool is_clean = true;
    for (const std::string& path : result.left_files) {
      if (is_declared(subject, path)) continue;
      is_clean = false;
      if (seen.insert(path).second && names.size() < most_names) names.push_back(path);
    }
    if (is_clean) continue;
    if (!first) first = &result;
    ++tests;
  }
  if (!first) return;
  const std::string more = seen.size() > names.size()
                               ? concat(" and ", seen.size() - names.size(), " with other names")
                               : std::string();
  const std::string others =
      tests > 1 ? concat(" (", tests, " tests left some; this is reported once)") : std::string();
  first->findings.push_back(
      {"TN-BCK-5", concat("files left in the temporary directory (TMPDIR, TEMP): ",
                          join(names, ", "), more, others)});
  decide_outcome(*first, subject.expected_failure(*first));
}

Status check_left_files(const Subject& subject, const std::vector<TestResult>& results) {
  for (const LeftFiles& declared : subject.left_files) {
    const bool is_used = std::ranges::any_of(results, [&](const TestResult& result) {
      return std::ranges::any_of(result.left_files,
                                 [&](const std::string& path) { return declared.matches(path); });
    });
    if (is_used) continue;
    return error(Error::InvalidArgument, host::path_text(subject.file), ": ", declared.where, ": ",
                 host::quoted(declared.pattern), " matches no file that a test left");
  }
  return ok();
}

}}}  // namespace tenon::TENON_RELEASE::conformance
