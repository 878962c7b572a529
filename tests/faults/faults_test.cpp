// SPDX-License-Identifier: MIT
//
// Each program, with one call of the C library that fails: the first, the second, and so on until a
// run needs none. README.md has what is expected of a run.
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <map>
#include <optional>
#include <regex>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "support/catch.hpp"
#include "support/file_content.hpp"
#include "support/temporary_directory.hpp"
#include "tenon/core/concat.hpp"

namespace tenon::test::faults {
namespace {

namespace fs = std::filesystem;
using Files = std::map<std::string, std::string>;

/// A program and a small use of it. "OUT" in an argument is a directory for its outputs.
struct Case {
  std::string program;
  std::vector<std::string> arguments;
  /// Its report on standard output has failures that do not change the exit code, or is how it
  /// says that the answer is no.
  bool reports_failures = false;
  /// It ends without its destructors where nlohmann's find no memory, and leaves its directory.
  bool may_leave_directory = false;
};

const std::string sin_directory = TENON_TEST_FIXTURES "/demo_sin_inline/";
const std::string demo = TENON_DEMO_PLUGIN;

const Case cases[] = {
    {TENON_RUN,
     {sin_directory + "model.pte", "--plugin", demo, "--input", sin_directory + "c0_in0.npy",
      "--expect", sin_directory + "c0_out0.npy", "--output", "OUT", "--trace", "OUT/trace.json"}},
    {TENON_LIST, {"--all"}, true},
    {TENON_INSPECT, {demo}, true},
    {TENON_DOCTOR, {sin_directory + "model.pte", "--plugin", demo}, true},
    {TENON_NEW, {"acme_npu", "--template", "minimal", "--dir", "OUT"}},
#ifdef TENON_COMPILE
    {TENON_COMPILE,
     {TENON_TEST_FIXTURES "/pt2/stateful/model.pt2", "--backend", "GraphBackend", "--plugin",
      TENON_GRAPH_PLUGIN, "-o", "OUT/model.pte"}},
#endif
    {TENON_CONFORMANCE,
     {demo, "--level", "1", "--only", "binary/record-is-readable", "--only",
      "binary/table-per-backend", "--jobs", "2", "--no-times", "--json", "OUT/report.json"},
     true,
     true},
};

constexpr int out_of_memory = 5;  // The exit code.

/// How a run ended.
struct Run {
  int status = 0;  ///< Of `waitpid`.
  bool hung = false;
  bool was_hit = false;           ///< A call failed.
  bool kept_descriptors = false;  ///< More were open at the end than at the begin.
  std::string out;
  std::string err;
  Files files;  ///< What is left, by its name below the directory of the run.

  [[nodiscard]] bool exited() const { return !hung && WIFEXITED(status); }
  [[nodiscard]] int exit_code() const { return WEXITSTATUS(status); }
};

std::string name_of(const Case& one) { return fs::path(one.program).filename(); }

Files files_in(const fs::path& directory) {
  Files out;
  for (const auto& entry : fs::recursive_directory_iterator(directory)) {
    const std::string name = fs::relative(entry.path(), directory);
    out[name] = entry.is_regular_file() ? tenon::test::file_content(entry.path()) : "";
  }
  return out;
}

std::string replaced(std::string text, std::string_view what, std::string_view by) {
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at)) {
    text.replace(at, what.size(), by);
    at += by.size();
  }
  return text;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> out;
  for (std::string& text : texts) out.push_back(text.data());
  out.push_back(nullptr);
  return out;
}

/// The status of `child`; ends it after a minute, and sets `hung`.
int wait_for(::pid_t child, bool& hung) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  auto pause = std::chrono::microseconds(200);
  int status = 0;
  while (::waitpid(child, &status, WNOHANG) == 0) {
    if (std::chrono::steady_clock::now() > deadline) {
      hung = true;
      ::kill(child, SIGKILL);
      ::waitpid(child, &status, 0);
      return status;
    }
    std::this_thread::sleep_for(pause);
    pause = std::min(pause * 2, std::chrono::microseconds(5000));
  }
  return status;
}

/// Runs the case with TENON_FAULT=`fault`.
Run run(const Case& one, const std::string& fault) {
  const TemporaryDirectory directory;
  for (const char* const name : {"out", "tmp"}) fs::create_directory(directory / name);
  const TemporaryDirectory streams;
  int report[2] = {-1, -1};
  if (::pipe2(report, O_CLOEXEC) != 0) throw std::runtime_error("no pipe");

  constexpr int report_of_child = 60;
  std::vector<std::string> arguments = {one.program};
  for (const std::string& argument : one.arguments) {
    arguments.push_back(replaced(argument, "OUT", directory.file("out")));
  }
  // Nothing else: what is installed and set here must not change what is tested.
  std::vector<std::string> variables = {"LC_ALL=C",
                                        "PATH=/usr/bin:/bin",
                                        "LD_PRELOAD=" TENON_FAULTS,
                                        "TMPDIR=" + directory.file("tmp"),
                                        "TENON_TEMPLATES=" TENON_TEMPLATES_DIRECTORY,
                                        "TENON_PLUGIN_FILES=" + demo,
                                        "TENON_FAULT=" + fault,
                                        concat("TENON_FAULT_REPORT=", report_of_child)};

  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  constexpr int flags = O_WRONLY | O_CREAT | O_TRUNC;
  ::posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, streams.file("out").c_str(), flags,
                                     0600);
  ::posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, streams.file("err").c_str(), flags,
                                     0600);
  ::posix_spawn_file_actions_adddup2(&actions, report[1], report_of_child);
  ::pid_t child = 0;
  const int failed = ::posix_spawn(&child, one.program.c_str(), &actions, nullptr,
                                   pointers(arguments).data(), pointers(variables).data());
  ::posix_spawn_file_actions_destroy(&actions);
  ::close(report[1]);
  if (failed != 0) throw std::runtime_error("cannot start " + one.program);

  Run out;
  out.status = wait_for(child, out.hung);
  char bytes[8];
  const ::ssize_t size = ::read(report[0], bytes, sizeof bytes);
  ::close(report[0]);
  const std::string_view marks(bytes, size > 0 ? static_cast<std::size_t>(size) : 0);
  out.was_hit = marks.find('h') != std::string_view::npos;
  out.kept_descriptors = marks.find('d') != std::string_view::npos;
  out.out =
      replaced(tenon::test::file_content(streams / "out"), directory.path().native(), "DIRECTORY");
  out.err =
      replaced(tenon::test::file_content(streams / "err"), directory.path().native(), "DIRECTORY");
  out.files = files_in(directory.path());
  return out;
}

/// `text` without what differs between two runs: times, and the memory that is free, which is read
/// from a file.
std::string without_times(const std::string& text) {
  static const std::regex time("[0-9.]+ (ns|us|ms|s)\\b");
  static const std::regex free("[0-9]+ free: fits|free memory unknown");
  return std::regex_replace(std::regex_replace(text, time, "TIME"), free, "FREE");
}

/// Files that a run without a fault does not leave, or not like that.
std::optional<std::string> wrong_file(const Case& one, const Run& base, const Run& found) {
  const bool may_leave_directory =
      one.may_leave_directory && found.exited() && found.exit_code() == out_of_memory;
  for (const auto& [name, text] : found.files) {
    if (may_leave_directory && name.starts_with("tmp/tenon-")) continue;
    const auto expected = base.files.find(name);
    if (expected == base.files.end()) return "it left " + name;
    const bool has_times = name.ends_with("trace.json") || name.ends_with("report.json");
    const bool whole = has_times ? text.ends_with("}\n") : text == expected->second;
    if (!whole) return "it left a part of " + name;
  }
  return std::nullopt;
}

/// The first thing that is wrong with a run with a fault, compared with one without.
std::optional<std::string> complaint(const Case& one, const Run& base, const Run& found) {
  if (found.hung) return "it hung";
  // glibc ends the process where an object of a thread finds no memory for its destructor.
  if (found.err.find("failed to register TLS destructor: out of memory") != std::string::npos) {
    return std::nullopt;
  }
  if (!found.exited()) return concat("signal ", WTERMSIG(found.status), " ended it: ", found.err);
  if (found.kept_descriptors) return "a descriptor is open at its end: " + found.err;
  if (const auto wrong = wrong_file(one, base, found)) return concat(*wrong, "; ", found.err);
  const int code = found.exit_code();
  if (code < 0 || code > 5) return concat("it ended with ", code, ": ", found.err);
  // The fault changed nothing.
  const bool is_same = found.files.size() == base.files.size() && found.err == base.err &&
                       without_times(found.out) == without_times(base.out);
  const bool has_answer = one.reports_failures && !found.out.empty();
  if (code == 0) {
    if (is_same || has_answer) return std::nullopt;
    return concat("it ended with 0 and printed\n", found.out, found.err);
  }
  if (code == 1 && has_answer && found.err.empty()) return std::nullopt;
  static const std::regex line(": [A-Za-z]+ \\(0x[0-9a-f]+\\): [^\n]+\n");
  const std::string name = name_of(one);
  // The kit prints each bad test before its end.
  std::string err = found.err;
  if (has_answer) {
    const std::size_t last = err.rfind(name + ": ");
    if (code == 1 && last == std::string::npos) return std::nullopt;
    err = last == std::string::npos ? err : err.substr(last);
  }
  if (err.starts_with(name) && std::regex_match(err.substr(name.size()), line)) return std::nullopt;
  return concat("it ended with ", code, " and printed\n", found.err);
}

/// Which calls fail. Each of the first `TENON_FAULTS_DENSE` (30), then every one in
/// `TENON_FAULTS_STEP` (101), from number `TENON_FAULTS_FIRST` (0) of those behind the first: "day"
/// is another one each day, so that as many days as the step has see all calls. A walk of all has
/// the step 1.
struct Walk {
  std::uint64_t dense = from_environment("TENON_FAULTS_DENSE", 30);
  std::uint64_t step = std::max<std::uint64_t>(1, from_environment("TENON_FAULTS_STEP", 101));
  std::uint64_t first = first_of(step);

  [[nodiscard]] std::uint64_t after(std::uint64_t number) const {
    if (number < dense) return number + 1;
    return number == dense ? number + 1 + first : number + step;
  }
  static std::uint64_t first_of(std::uint64_t step) {
    const char* const text = std::getenv("TENON_FAULTS_FIRST");
    if (!text || std::string_view(text) != "day") return from_environment("TENON_FAULTS_FIRST", 0);
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    return static_cast<std::uint64_t>(std::chrono::floor<std::chrono::days>(now).count()) % step;
  }
  static std::uint64_t from_environment(const char* name, std::uint64_t otherwise) {
    const char* const text = std::getenv(name);
    return text ? std::strtoull(text, nullptr, 10) : otherwise;
  }
};

/// Walks through the calls of `group`. `expect` is called with the number and the run of each that
/// was hit.
template <class Expect>
std::uint64_t walk(const Case& one, std::string_view group, std::string_view how,
                   const Expect& expect) {
  const Walk steps;
  std::uint64_t number = 1;
  for (;; number = steps.after(number)) {
    const Run found = run(one, concat(group, ":", number, ":", how));
    if (!found.was_hit && found.exited()) return number - 1;
    expect(number, found);
  }
}

Run run_without_fault(const Case& one) {
  Run base = run(one, "memory:0");
  INFO(base.out << base.err);
  REQUIRE(base.exited());
  REQUIRE(base.exit_code() == 0);
  REQUIRE_FALSE(base.kept_descriptors);
  return base;
}

void check_reported(std::string_view group, std::string_view how, bool in_every_program) {
  for (const Case& one : cases) {
    const Run base = run_without_fault(one);
    std::vector<std::string> complaints;
    const std::uint64_t calls = walk(one, group, how, [&](std::uint64_t number, const Run& found) {
      if (const auto wrong = complaint(one, base, found)) {
        complaints.push_back(concat(name_of(one), " ", group, ":", number, ":", how, ": ", *wrong));
      }
    });
    for (const std::string& each : complaints) FAIL_CHECK(each);
    if (in_every_program) CHECK(calls > 0);
  }
}

}  // namespace

TEST_CASE("a failed allocation is a named error of each program", "[faults]") {
  check_reported("memory", "fail", true);
}

TEST_CASE("memory that has run out is a named error of each program", "[faults]") {
  check_reported("memory", "all", true);
}

TEST_CASE("a file that cannot be opened is a named error of each program", "[faults]") {
  check_reported("open", "fail", true);
  check_reported("open", "all", true);
}

TEST_CASE("a read that fails is a named error of each program", "[faults]") {
  check_reported("read", "fail", false);
}

TEST_CASE("a file that cannot be mapped is a named error of each program", "[faults]") {
  check_reported("map", "fail", false);
}

TEST_CASE("a write that fails is a named error of each program", "[faults]") {
  check_reported("write", "fail", true);
}

TEST_CASE("a name that cannot be given or read is a named error of each program", "[faults]") {
  check_reported("name", "fail", false);
}

TEST_CASE("a library that cannot be loaded is a named error of each program", "[faults]") {
  check_reported("load", "fail", false);
}

TEST_CASE("a process or thread that cannot be started is a named error of each program",
          "[faults]") {
  check_reported("process", "fail", false);
}

TEST_CASE("reads and writes that are interrupted or cut short change nothing", "[faults]") {
  for (const Case& one : cases) {
    const Run base = run_without_fault(one);
    for (const std::string_view group : {"read", "write"}) {
      for (const std::string_view how : {"interrupt", "short"}) {
        walk(one, group, how, [&](std::uint64_t number, const Run& found) {
          INFO(name_of(one) << " " << group << ":" << number << ":" << how);
          INFO(found.out << found.err);
          CHECK(found.exited());
          CHECK(found.exit_code() == 0);
          CHECK(without_times(found.out) == without_times(base.out));
          CHECK(found.files.size() == base.files.size());
          CHECK_FALSE(wrong_file(one, base, found));
        });
      }
    }
  }
}

}  // namespace tenon::test::faults
