// SPDX-License-Identifier: MIT
#include "kit/verdict/merge.hpp"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "tenon/core/concat.hpp"
#include "tenon/host/loader/files/quoted.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace conformance {

namespace {

/// More names do not help a reader.
constexpr std::size_t max_listed = 20;

/// The reasons against merging, on one line as all errors.
class Refusal {
 public:
  template <class... Parts>
  void add(const Parts&... parts) {
    text_ += concat(text_.empty() ? " " : "; ", parts...);
  }

  /// "N tests WHAT: a, b and 3 more", unless there is none.
  void add_tests(std::string_view what, const std::vector<std::string>& paths) {
    if (paths.empty()) return;
    const std::size_t listed = std::min(paths.size(), max_listed);
    std::string names;
    for (std::size_t i = 0; i < listed; ++i) {
      names += concat(i == 0 ? " " : ", ", host::quoted(paths[i]));
    }
    if (listed < paths.size()) names += concat(" and ", paths.size() - listed, " more");
    add(paths.size(), paths.size() == 1 ? " test " : " tests ", what, ":", names);
  }

  template <class T>
  void add_unless_same(const NamedReport& first, const NamedReport& other, std::string_view what,
                       const T& expected, const T& found) {
    if (expected == found) return;
    add(host::quoted(other.name), ": ", what, " ", found, ", but ", expected, " in ",
        host::quoted(first.name));
  }

  [[nodiscard]] Status take() const {
    return text_.empty() ? ok()
                         : error(Error::InvalidArgument, "the reports cannot be merged:", text_);
  }

 private:
  std::string text_;
};

std::string shard_text(const ReportShard& shard) { return concat(shard.part, "/", shard.of); }

/// The texts of `all` that are not in `others`.
std::vector<std::string> without(std::vector<std::string> all, std::vector<std::string> others) {
  std::ranges::sort(all);
  std::ranges::sort(others);
  std::vector<std::string> out;
  std::ranges::set_difference(all, others, std::back_inserter(out));
  return out;
}

void check_subjects(const NamedReport& first, const NamedReport& other, Refusal& refusal) {
  const auto& expected = first.report.subjects;
  const auto& found = other.report.subjects;
  refusal.add_unless_same(first, other, "number of plugins", expected.size(), found.size());
  for (std::size_t i = 0; i < std::min(expected.size(), found.size()); ++i) {
    refusal.add_unless_same(first, other, concat("SHA-256 of plugin ", i + 1),
                            host::quoted(expected[i].sha256), host::quoted(found[i].sha256));
    if (expected[i].planned == found[i].planned) continue;
    refusal.add(host::quoted(other.name), ": plans other tests than ", host::quoted(first.name),
                ": their cases, subject files or options differ");
    refusal.add_tests("only there", without(found[i].planned, expected[i].planned));
    refusal.add_tests("only in " + host::quoted(first.name),
                      without(expected[i].planned, found[i].planned));
  }
}

/// Checks that the reports say that they are of one run.
Status check_runs(const std::vector<NamedReport>& parts) {
  Refusal refusal;
  const NamedReport& first = parts.front();
  std::map<std::uint32_t, std::string_view> seen;
  for (const NamedReport& part : parts) {
    const Report &expected = first.report, &found = part.report;
    if (found.shard.of == 1) {
      refusal.add(host::quoted(part.name), ": is no report of a shard (--shard I/N)");
      continue;
    }
    const auto [at, is_new] = seen.emplace(found.shard.part, part.name);
    if (!is_new) {
      refusal.add(host::quoted(part.name), ": shard ", shard_text(found.shard), " is also in ",
                  host::quoted(at->second));
    }
    const auto same = [&](std::string_view what, const auto& one, const auto& other) {
      refusal.add_unless_same(first, part, what, one, other);
    };
    same("kit", host::quoted(expected.kit_version), host::quoted(found.kit_version));
    same("ABI", host::quoted(expected.abi_version), host::quoted(found.abi_version));
    same("level", expected.level, found.level);
    same("seed", expected.seed, found.seed);
    same("number of shards", expected.shard.of, found.shard.of);
    if (expected.shard.all_tests != found.shard.all_tests) {
      refusal.add(host::quoted(part.name), " and ", host::quoted(first.name),
                  ": one was made with --only, --rule or --test");
    }
    check_subjects(first, part, refusal);
  }
  return refusal.take();
}

/// The tests of plugin `index` in the planned order. What is wrong is added to `refusal`.
std::vector<TestResult> tests_of(std::vector<NamedReport>& parts, std::size_t index,
                                 Refusal& refusal) {
  const std::vector<std::string> planned = parts.front().report.subjects[index].planned;
  std::map<std::string, TestResult> by_path;
  std::vector<std::string> doubled, missing, unplanned;
  for (NamedReport& part : parts) {
    for (TestResult& test : part.report.subjects[index].tests) {
      std::string path = test.path();
      if (!by_path.try_emplace(path, std::move(test)).second) doubled.push_back(std::move(path));
    }
  }
  std::vector<TestResult> out;
  for (const std::string& path : planned) {
    auto found = by_path.extract(path);
    if (found.empty()) {
      missing.push_back(path);
    } else {
      out.push_back(std::move(found.mapped()));
    }
  }
  for (const auto& [path, test] : by_path) unplanned.push_back(path);
  refusal.add_tests("missing", missing);
  refusal.add_tests("there twice", doubled);
  refusal.add_tests("not planned", unplanned);
  return out;
}

}  // namespace

Result<Report> merge(std::vector<NamedReport> parts) {
  if (parts.empty()) return error(Error::InvalidArgument, "there is no report to merge");
  TENON_RETURN_IF_ERROR(check_runs(parts));
  const ReportShard shards = parts.front().report.shard;
  Refusal refusal;
  if (parts.size() != shards.of) {
    refusal.add(parts.size(), parts.size() == 1 ? " report" : " reports", " of ", shards.of,
                " shards");
  }
  Report out = parts.front().report;
  out.all_tests = shards.all_tests;
  out.shard = {};
  out.seconds = 0;
  std::set<std::string> machines;
  for (const NamedReport& part : parts) {
    out.started = std::min(out.started, part.report.started);
    out.seconds += part.report.seconds;
    machines.insert(part.report.machine);
  }
  out.machine.clear();
  for (const std::string& machine : machines) {
    out.machine += concat(out.machine.empty() ? "" : "; ", machine);
  }
  for (std::size_t i = 0; i < out.subjects.size(); ++i) {
    out.subjects[i].planned.clear();
    out.subjects[i].tests = tests_of(parts, i, refusal);
  }
  TENON_RETURN_IF_ERROR(refusal.take());
  return out;
}

}}}  // namespace tenon::TENON_RELEASE::conformance
