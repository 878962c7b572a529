// SPDX-License-Identifier: MIT
//
// Judges plugins by the numbered rules of the boundary. docs/tools/tenon-conformance.md describes
// it.
#include <chrono>
#include <cstdio>
#include <ctime>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "arguments.hpp"
#include "coverage/coverage.hpp"
#include "kit/platform/system.hpp"
#include "kit/report/all.hpp"
#include "kit/run/budget.hpp"
#include "kit/verdict/merge.hpp"
#include "kit/verdict/verdict.hpp"
#include "left_files.hpp"
#include "printed_lines.hpp"
#include "proxy/make_proxy.hpp"
#include "repro.hpp"
#include "run.hpp"
#include "tenon/abi/version.h"
#include "tenon/host/layers/trust/sha256.hpp"
#include "tenon/host/loader/files/mapped_file.hpp"
#include "tenon/host/loader/plugin/peek.hpp"
#include "tenon/host/platform/new_file.hpp"
#include "tenon/host/platform/path_text.hpp"
#include "tenon/host/platform/read_file.hpp"
#include "terminate.hpp"
#include "tool.hpp"

namespace {

using namespace tenon;
using namespace tenon::conformance;

using tool::ExitCode;

std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  const std::tm parts = *std::gmtime(&now);  // Before there is another thread.
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

std::string machine_text() {
  return concat(platform::system_name(), ", ", std::thread::hardware_concurrency(), " CPUs");
}

/// A file that is no plugin is described by its hash alone; the tests judge it.
Result<SubjectReport> describe_subject(const Subject& subject) {
  SubjectReport out;
  out.path = host::path_text(*subject.plugin);
  TENON_TRY(const auto file, host::MappedFile::open(*subject.plugin));
  out.sha256 = tenon::sha256_of(file.bytes()).to_hex();
  auto record = host::peek(*subject.plugin);
  if (!record.ok() && record.error() == Error::AccessFailed) return std::move(record).status();
  if (record.ok()) {
    out.name = record->name;
    out.version = record->version;
    out.vendor = record->vendor;
    out.sdk_version = record->sdk_version;
    for (const host::BackendRecord& backend : record->backends) out.backends.push_back(backend.id);
  }
  return out;
}

Status write_text(const std::string& path, const std::string& text) {
  return host::write_file(path, {std::as_bytes(std::span(text))});
}

Status write_reports(const Arguments& arguments, const Report& report) {
  ReportOptions options;
  options.with_times = arguments.with_times;
  if (!arguments.json.empty()) {
    TENON_RETURN_IF_ERROR(write_text(arguments.json, to_json(report, options)));
  }
  if (!arguments.junit.empty()) {
    TENON_RETURN_IF_ERROR(write_text(arguments.junit, to_junit(report, options)));
  }
  if (!arguments.html.empty()) {
    TENON_RETURN_IF_ERROR(write_text(arguments.html, to_html(report, options)));
  }
  return arguments.markdown.empty() ? ok()
                                    : write_text(arguments.markdown, to_markdown(report, options));
}

std::string time_text(double seconds) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f s", seconds);
  return text;
}

/// The output of `--list`: a path a line, with the level, the rules and the name, and what its
/// loads take when the subject declares what one takes.
std::string list_text(const std::vector<SelectedTest>& tests, int level) {
  std::string out;
  double all = 0;
  for (const SelectedTest& selected : tests) {
    std::string rules;
    for (const std::string& rule : selected.blank.rules) rules += " " + rule;
    out += concat(selected.blank.path(), "  (level ", selected.blank.level, ";", rules);
    const double seconds = expected_seconds(selected.test, level);
    if (seconds > 0) out += concat("; ", time_text(seconds), " of loads");
    out += concat(") ", selected.blank.name, "\n");
    all += seconds;
  }
  if (all > 0) out += concat("expected: ", time_text(all), " of loads in all (init_ms)\n");
  return out;
}

/// The paths of the tests of all shards, in the order of a run without `--shuffle`.
std::vector<std::string> planned_paths(Arguments arguments, const Subject& subject) {
  arguments.shard = {};
  arguments.shuffle = false;
  std::vector<std::string> out;
  for (const SelectedTest& test : select_tests(arguments, subject))
    out.push_back(test.blank.path());
  return out;
}

/// The progress on standard error: a line for each test where `all_lines` is set. Otherwise one
/// line that is overwritten on a terminal, and elsewhere a line for each bad test.
class Progress {
 public:
  explicit Progress(bool all_lines)
      : all_lines_(all_lines), overwrites_(!all_lines && is_terminal(stderr)) {}

  void show(const TestResult& result, std::size_t done, std::size_t total) {
    const std::string line = progress_line(done, total, result, false);
    if (overwrites_) {
      std::fprintf(stderr, "\r\x1b[K%.*s", columns, line.c_str());
    } else if (all_lines_ || is_bad(result.outcome)) {
      std::fprintf(stderr, "%s\n", line.c_str());
    }
    std::fflush(stderr);
  }
  void finish() const {
    if (overwrites_) std::fputs("\r\x1b[K", stderr);
  }

 private:
  static constexpr int columns = 110;
  bool all_lines_, overwrites_;
};

/// Writes `report` wherever the arguments want it, and compares it with the baseline. `outdated` is
/// an error that does not keep the report from being written.
Result<tool::Outcome> conclude(const Arguments& arguments, const Report& report,
                               Status outdated = {}) {
  TENON_RETURN_IF_ERROR(write_reports(arguments, report));
  ExitCode code = verdict_of(report) == Verdict::pass ? ExitCode::success : ExitCode::failed;
  ReportOptions options;
  options.with_times = arguments.with_times;
  const bool color = use_color(arguments.color);
  std::string text = arguments.json_to_stdout ? to_json(report, options)
                                              : to_text(report, color, arguments.verbose, options);
  if (!arguments.baseline.empty()) {
    TENON_TRY(const std::string old_text, host::read_file(arguments.baseline));
    TENON_TRY(const Report old, report_from_json(old_text));
    const BaselineComparison comparison = compare(old, report, arguments.baseline_factor);
    if (!arguments.json_to_stdout) text += to_text(comparison, color);
    if (!comparison.good()) code = ExitCode::failed;
  }
  if (code == ExitCode::success && !outdated.ok()) code = ExitCode::failed;
  return tool::Outcome{code, std::move(text), std::move(outdated)};
}

/// Merges the reports of `--merge`. `stage` is the exit code for a failure, set before each step.
Result<tool::Outcome> merge_shards(const Arguments& arguments, ExitCode& stage) {
  stage = ExitCode::invalid_file;
  std::vector<NamedReport> parts;
  for (const std::string& file : arguments.merge) {
    TENON_TRY(const std::string text, host::read_file(file));
    auto report = report_from_json(text);
    if (!report.ok()) return std::move(report).status().with_context(file);
    parts.push_back({file, *std::move(report)});
  }
  TENON_TRY(const Report whole, merge(std::move(parts)));
  stage = ExitCode::wrong_usage;
  return conclude(arguments, whole);
}

/// Judges all subjects. `stage` is the exit code for a failure, set before each step.
Result<tool::Outcome> judge(const Arguments& arguments, ExitCode& stage) {
  stage = ExitCode::invalid_file;
  TENON_TRY(const std::vector<Subject> subjects, read_subjects(arguments));
  for (const Subject& subject : subjects) TENON_RETURN_IF_ERROR(check_declarations(subject));
  Report report;
  report.kit_version = TENON_VERSION_STRING;
  report.abi_version = concat(TENON_ABI_MAJOR, ".", TENON_ABI_MINOR);
  report.started = utc_now();
  report.machine = machine_text();
  report.seed = arguments.seed;
  report.level = arguments.level;
  report.all_tests = arguments.selects_all_tests();
  report.shard = {arguments.shard.part, arguments.shard.of, arguments.shards_have_all_tests()};
  const auto start = std::chrono::steady_clock::now();
  Progress progress(arguments.progress);
  std::string listed;
  std::size_t selected = 0, num_repros = 0;
  std::vector<CoverageMatrix> matrices;
  Status outdated;  // Of a declaration that the run did not need.
  for (const Subject& subject : subjects) {
    const std::vector<SelectedTest> tests = select_tests(arguments, subject);
    selected += tests.size();
    if (arguments.list) {
      listed += list_text(tests, arguments.level);
      continue;
    }
    stage = ExitCode::invalid_file;
    TENON_TRY(auto described, describe_subject(subject));
    SubjectReport& of_subject = report.subjects.emplace_back(std::move(described));
    if (report.shard.of != 1) of_subject.planned = planned_paths(arguments, subject);
    TENON_TRY(of_subject.tests,
              run_tests(arguments, subject, tests,
                        [&](const TestResult& result, std::size_t done, std::size_t total) {
                          progress.show(result, done, total);
                        }));
    stage = ExitCode::wrong_usage;
    if (outdated.ok() && report.all_tests && report.level >= first_executing_level &&
        !arguments.in_process) {
      outdated = check_left_files(subject, of_subject.tests);
      if (outdated.ok()) outdated = check_printed_lines(subject, of_subject.tests);
    }
    if (!arguments.repro.empty()) {
      TENON_RETURN_IF_ERROR(write_repros(arguments, subject, of_subject, num_repros));
    }
    if (arguments.coverage.empty()) continue;
    TENON_TRY(const auto of_backends, cover(arguments, subject, of_subject));
    matrices.insert(matrices.end(), of_backends.begin(), of_backends.end());
  }
  progress.finish();
  if (selected == 0) {
    stage = ExitCode::failed;
    return error(
        Error::InvalidArgument,
        "no test is selected: --only, --rule, --test, --level and --shard leave none (see --list)");
  }
  if (arguments.list) return tool::Outcome{.output = std::move(listed)};
  report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  stage = ExitCode::wrong_usage;
  if (!arguments.coverage.empty()) {
    TENON_RETURN_IF_ERROR(write_text(arguments.coverage, arguments.coverage.ends_with(".html")
                                                             ? coverage_html(matrices)
                                                             : coverage_markdown(matrices)));
  }
  return conclude(arguments, report, std::move(outdated));
}

Status write_proxy(const Arguments& arguments) {
  TENON_TRY(const auto template_file, find_proxy_template());
  return make_proxy(template_file, arguments.plugins.front(), arguments.make_proxy,
                    arguments.force);
}

tool::Outcome run(const Arguments& arguments) {
  if (!arguments.coverage_of.empty()) {
    return tool::Outcome::of(run_coverage(arguments), ExitCode::failed);
  }
  if (!arguments.run_one.empty() || arguments.server >= 0) {
    return tool::Outcome::of(run_one(arguments), ExitCode::failed);
  }
  if (!arguments.make_proxy.empty()) {
    return tool::Outcome::of(write_proxy(arguments), ExitCode::invalid_file);
  }
  ExitCode stage = ExitCode::invalid_file;
  auto outcome = arguments.merge.empty() ? judge(arguments, stage) : merge_shards(arguments, stage);
  if (outcome.ok()) return *std::move(outcome);
  return tool::Outcome::failed(stage, std::move(outcome).status());
}

}  // namespace

int main(int argc, char** argv) {
  conformance::detail::link_suites();
  return tool::main("tenon-conformance", argc, argv, &parse_arguments, &run);
}
