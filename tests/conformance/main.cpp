// SPDX-License-Identifier: MIT
//
// Judges plugins by the numbered rules of the boundary. docs/tenon-conformance.md describes it.
#include <sys/utsname.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <new>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <variant>

#include "arguments.hpp"
#include "proxy/make_proxy.hpp"
#include "run.hpp"
#include "tenon/abi/version.h"
#include "tenon/conformance/report.hpp"
#include "tenon/host/mapped_file.hpp"
#include "tenon/host/peek.hpp"
#include "tenon/host/sha256.hpp"
#include "tool.hpp"

namespace {

using namespace tenon;
using namespace tenon::conformance;

constexpr std::string_view tool = "tenon-conformance";

std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  ::gmtime_r(&now, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

std::string machine_text() {
  utsname names{};
  ::uname(&names);
  return concat(std::string_view(names.sysname), " ", std::string_view(names.machine), ", ",
                std::thread::hardware_concurrency(), " CPUs");
}

SubjectReport describe_subject(const Subject& subject) {
  SubjectReport out;
  out.path = subject.plugin->native();
  if (const auto file = host::MappedFile::open(*subject.plugin); file.ok()) {
    out.sha256 = host::sha256_of(file->bytes()).to_hex();
  }
  if (const auto record = host::peek(*subject.plugin); record.ok()) {
    out.name = record->name;
    out.version = record->version;
    out.vendor = record->vendor;
    out.sdk_version = record->sdk_version;
    for (const host::BackendRecord& backend : record->backends) out.backends.push_back(backend.id);
  }
  return out;
}

Status write_file(const std::string& path, const std::string& text) {
  if (path.empty()) return ok();
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << text << std::flush;
  if (file) return ok();
  return error(Error::AccessFailed, path, ": cannot be written");
}

Status write_reports(const Arguments& arguments, const Report& report) {
  ReportOptions options;
  options.with_times = arguments.with_times;
  if (!arguments.json.empty()) {
    TENON_CHECK(write_file(arguments.json, to_json(report, options)));
  }
  if (!arguments.junit.empty()) {
    TENON_CHECK(write_file(arguments.junit, to_junit(report, options)));
  }
  if (!arguments.html.empty()) {
    TENON_CHECK(write_file(arguments.html, to_html(report, options)));
  }
  return write_file(arguments.markdown,
                    arguments.markdown.empty() ? "" : to_markdown(report, options));
}

Result<std::string> read_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  if (!file) return error(Error::AccessFailed, path, ": cannot be read");
  return text;
}

/// What `--list` prints: a path a line, with the level and the rules.
std::string list_text(const std::vector<SelectedTest>& tests) {
  std::string out;
  for (const SelectedTest& selected : tests) {
    std::string rules;
    for (const std::string& rule : selected.blank.rules) rules += " " + rule;
    out += concat(selected.blank.path(), "  (level ", selected.blank.level, ";", rules, ")\n");
  }
  return out;
}

/// How far the run is, on standard error: one line that is written over on a terminal, a line for
/// each test that went wrong elsewhere.
class Progress {
 public:
  void show(const TestResult& result, std::size_t done, std::size_t total) {
    const std::string line = progress_line(done, total, result, false);
    if (on_terminal_) {
      std::fprintf(stderr, "\r\x1b[K%.*s", columns, line.c_str());
    } else if (is_bad(result.outcome)) {
      std::fprintf(stderr, "%s\n", line.c_str());
    }
    std::fflush(stderr);
  }
  void finish() const {
    if (on_terminal_) std::fputs("\r\x1b[K", stderr);
  }

 private:
  static constexpr int columns = 110;
  bool on_terminal_ = ::isatty(STDERR_FILENO) == 1;
};

bool is_bad_report(const Report& report) {
  const auto counts = count_outcomes(report);
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] != 0 && is_bad(static_cast<Outcome>(i))) return true;
  }
  return false;
}

Result<ExitCode> judge(const Arguments& arguments) {
  TENON_TRY(const std::vector<Subject> subjects, read_subjects(arguments));
  Report report;
  report.kit_version = TENON_VERSION_STRING;
  report.abi_version = concat(TENON_ABI_MAJOR, ".", TENON_ABI_MINOR);
  report.started = utc_now();
  report.machine = machine_text();
  report.seed = arguments.seed;
  report.level = arguments.level;
  const auto start = std::chrono::steady_clock::now();
  // Standard output is for what was asked for; how far it got is for who watches.
  Progress progress;
  std::string listed;
  std::size_t selected = 0;
  for (const Subject& subject : subjects) {
    TENON_TRY(const auto tests, select_tests(arguments, subject));
    selected += tests.size();
    if (arguments.list) {
      listed += list_text(tests);
      continue;
    }
    SubjectReport& of_subject = report.subjects.emplace_back(describe_subject(subject));
    TENON_TRY(of_subject.tests,
              run_tests(arguments, subject, tests,
                        [&](const TestResult& result, std::size_t done, std::size_t total) {
                          progress.show(result, done, total);
                        }));
  }
  progress.finish();
  if (selected == 0) {
    return error(Error::InvalidArgument,
                 "no test is selected: --only, --level and --shard leave "
                 "none (see --list)");
  }
  if (arguments.list) return print(tool, listed, ExitCode::success);
  report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  TENON_CHECK(write_reports(arguments, report));
  ExitCode code = is_bad_report(report) ? ExitCode::failed : ExitCode::success;
  ReportOptions options;
  options.with_times = arguments.with_times;
  const bool color = use_color(arguments.color);
  std::string text = arguments.json_to_stdout ? to_json(report, options)
                                              : to_text(report, color, arguments.verbose, options);
  if (!arguments.baseline.empty()) {
    TENON_TRY(const std::string old_text, read_text(arguments.baseline));
    TENON_TRY(const Report old, report_from_json(old_text));
    const BaselineComparison comparison = compare(old, report, arguments.baseline_factor);
    if (!arguments.json_to_stdout) text += to_text(comparison, color);
    if (!comparison.good()) code = ExitCode::failed;
  }
  return print(tool, text, code);
}

Status write_proxy(const Arguments& arguments) {
  TENON_TRY(const auto template_file, find_proxy_template());
  return make_proxy(template_file, arguments.plugins.front(), arguments.make_proxy,
                    arguments.force);
}

ExitCode run(int argc, char** argv) {
  auto parsed = parse_arguments(argc, argv);
  if (!parsed.ok()) return fail(tool, std::move(parsed).status(), ExitCode::wrong_usage);
  if (const auto* only = std::get_if<PrintAndExit>(&*parsed)) {
    return print(tool, only->text, ExitCode::success);
  }
  const auto& arguments = std::get<Arguments>(*parsed);
  if (!arguments.run_one.empty()) {
    const Status outcome = run_one(arguments);
    return outcome.ok() ? ExitCode::success : fail(tool, outcome, ExitCode::failed);
  }
  if (!arguments.make_proxy.empty()) {
    const Status made = write_proxy(arguments);
    return made.ok() ? ExitCode::success : fail(tool, made, ExitCode::invalid_file);
  }
  auto code = judge(arguments);
  if (code.ok()) return *code;
  const ExitCode why = code.text().starts_with("no test")   ? ExitCode::failed
                       : code.text().starts_with("--shard") ? ExitCode::wrong_usage
                                                            : ExitCode::invalid_file;
  return fail(tool, std::move(code).status(), why);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return static_cast<int>(run(argc, argv));
  } catch (const std::bad_alloc&) {
    std::fputs("tenon-conformance: MemoryAllocationFailed (0x21): out of memory\n", stderr);
    return static_cast<int>(ExitCode::invalid_file);
  }
}
