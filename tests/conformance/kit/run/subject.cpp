// SPDX-License-Identifier: MIT
#include "tenon/conformance/subject.hpp"

#include <algorithm>
#include <cstddef>

#include "tenon/host/layers/discovery/impl/glob.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace conformance {

namespace {

const Declaration* first_match(const std::vector<Declaration>& declarations,
                               const TestResult& test) {
  for (const Declaration& declaration : declarations) {
    if (declaration.matches(test)) return &declaration;
  }
  return nullptr;
}

}  // namespace

bool matches_path(const std::string& glob, const TestResult& test) {
  return host::matches_glob(glob, test.path()) || host::matches_glob(glob, test.path_by_name());
}

bool Declaration::matches(const TestResult& of) const {
  return matches_path(test, of) || std::ranges::any_of(of.rules, [&](const std::string& rule) {
           return host::matches_glob(test, rule);
         });
}

bool LeftFiles::matches(const std::string& path) const {
  for (std::size_t end = 0; end != std::string::npos;) {
    end = path.find('/', end + 1);
    if (host::matches_glob(pattern, path.substr(0, end))) return true;
  }
  return false;
}

bool PrintedLines::matches(const std::string& line) const {
  return host::matches_glob(pattern, line);
}

const SubjectBackend* Subject::backend(std::string_view id) const noexcept {
  for (const SubjectBackend& one : backends) {
    if (one.id == id) return &one;
  }
  return nullptr;
}

const Declaration* Subject::unsupported(const TestResult& test) const {
  return first_match(unsupported_tests, test);
}

const Declaration* Subject::expected_failure(const TestResult& test) const {
  return first_match(expected_failure_tests, test);
}

std::vector<const Declaration*> Subject::unmatched(std::span<const TestResult> tests) const {
  std::vector<const Declaration*> out;
  for (const auto* list : {&unsupported_tests, &expected_failure_tests}) {
    for (const Declaration& declaration : *list) {
      const bool is_used = std::any_of(tests.begin(), tests.end(), [&](const TestResult& test) {
        return declaration.matches(test);
      });
      if (!is_used) out.push_back(&declaration);
    }
  }
  return out;
}

}}}  // namespace tenon::TENON_RELEASE::conformance
