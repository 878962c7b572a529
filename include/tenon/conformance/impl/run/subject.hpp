// SPDX-License-Identifier: MIT
#pragma once

#include "tenon/conformance/run/subject.hpp"

#include <algorithm>

#include "tenon/host/impl/registry/glob.hpp"

namespace tenon::conformance {

namespace detail {

inline const Declaration* first_match(const std::vector<Declaration>& declarations,
                                      std::string_view path, std::span<const std::string> rules) {
  for (const Declaration& declaration : declarations) {
    if (declaration.matches(path, rules)) return &declaration;
  }
  return nullptr;
}

}  // namespace detail

bool Declaration::matches(std::string_view path, std::span<const std::string> rules) const {
  return host::matches_glob(test, path) ||
         std::any_of(rules.begin(), rules.end(),
                     [&](const std::string& id) { return host::matches_glob(test, id); });
}

const SubjectBackend* Subject::backend(std::string_view id) const noexcept {
  for (const SubjectBackend& one : backends) {
    if (one.id == id) return &one;
  }
  return nullptr;
}

const Declaration* Subject::unsupported(std::string_view path,
                                        std::span<const std::string> rules) const {
  return detail::first_match(unsupported_tests, path, rules);
}

const Declaration* Subject::expected_failure(std::string_view path,
                                             std::span<const std::string> rules) const {
  return detail::first_match(expected_failure_tests, path, rules);
}

std::vector<const Declaration*> Subject::unmatched(std::span<const TestResult> tests) const {
  std::vector<const Declaration*> out;
  for (const auto* list : {&unsupported_tests, &expected_failure_tests}) {
    for (const Declaration& declaration : *list) {
      const bool is_used = std::any_of(tests.begin(), tests.end(), [&](const TestResult& test) {
        return declaration.matches(test.path(), test.rules);
      });
      if (!is_used) out.push_back(&declaration);
    }
  }
  return out;
}

}  // namespace tenon::conformance
