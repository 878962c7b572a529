// SPDX-License-Identifier: MIT
#include "printed_lines.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kit/verdict/verdict.hpp"
#include "tenon/core/concat.hpp"
#include "tenon/core/lists.hpp"
#include "tenon/host/loader/files/quoted.hpp"
#include "tenon/host/platform/path_text.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace conformance {

namespace {

constexpr std::string_view streams = " bytes to standard output or standard error";

/// "execute wrote: 'x'" of "execute wrote 2 bytes to standard output or standard error: 'x'", so
/// that lines of other lengths with one beginning are one; empty for other findings.
std::string what_was_written(const Finding& finding) {
  const std::string_view text = finding.text;
  const std::size_t end = text.find(streams);
  if (finding.rule != "TN-PRC-5" || end == std::string_view::npos) return {};
  const std::size_t number = text.rfind(' ', end - 1);
  return concat(text.substr(0, std::min(number, end)), text.substr(end + streams.size()));
}

/// Where a finding is kept, and how many tests have it.
struct Kept {
  std::size_t test;
  std::size_t finding;
  std::size_t tests;
};

}  // namespace

void judge_printed_lines(const Subject& subject, std::vector<TestResult>& results) {
  std::map<std::string, Kept> kept;
  for (std::size_t i = 0; i < results.size(); ++i) {
    TestResult& result = results[i];
    if (result.outcome != Outcome::failed) continue;
    std::vector<Finding> findings;
    for (Finding& finding : result.findings) {
      const std::string written = what_was_written(finding);
      if (!written.empty()) {
        const auto [known, is_new] = kept.try_emplace(written, Kept{i, findings.size(), 1});
        if (!is_new && known->second.test != i) {
          ++known->second.tests;
          continue;
        }
      }
      findings.push_back(std::move(finding));
    }
    if (findings.size() == result.findings.size()) {
      result.findings = std::move(findings);
      continue;
    }
    result.findings = std::move(findings);
    if (result.findings.empty()) result.outcome = result.ended;
    decide_outcome(result, subject.expected_failure(result));
  }
  for (const auto& [written, where] : kept) {
    if (where.tests == 1) continue;
    results[where.test].findings[where.finding].text +=
        concat(" (in ", where.tests, " tests; this is reported once)");
  }
}

Status check_printed_lines(const Subject& subject, const std::vector<TestResult>& results) {
  for (const PrintedLines& declared : subject.printed_lines) {
    const bool is_used = std::ranges::any_of(results, [&](const TestResult& result) {
      return std::ranges::any_of(split(result.output, '\n'), [&](std::string_view line) {
        return declared.matches(std::string(line));
      });
    });
    if (is_used) continue;
    return error(Error::InvalidArgument, host::path_text(subject.file), ": ", declared.where, ": ",
                 host::quoted(declared.pattern), " matches no line that a test printed");
  }
  return ok();
}

}}}  // namespace tenon::TENON_RELEASE::conformance
