// SPDX-License-Identifier: MIT
#pragma once

#include <csignal>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <new>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "tenon/core/concat.hpp"
#include "tenon/core/result.hpp"
#include "tenon/core/status.hpp"
#include "tenon/host/loader/files/quoted.hpp"
#include "tenon/host/loader/files/shortened.hpp"
#if defined(_WIN32)
#include "windows_main.hpp"
#endif

namespace tenon { inline namespace TENON_RELEASE {

/// The result of `--help` and `--version`: a text to print, and nothing else to do.
struct PrintAndExit {
  std::string text;
};

/// `text` as one line that cannot drive a terminal: see host::printable. Texts of failures are
/// printable already; the names that programs print for themselves, and lines of a message that
/// were taken apart, are not.
[[nodiscard]] inline std::string printable(std::string_view text) {
  return host::printable(text, text.size());
}

}}  // namespace tenon::TENON_RELEASE

/// The `main` that all programs share: parse, run, print, catch.
namespace tenon::tool {

/// Exit codes, with one meaning in all programs (docs/reference/errors.md). The stage that failed
/// decides, not the number of its error.
enum class ExitCode : int {
  success = 0,
  failed = 1,       ///< Outputs differ, a rule failed, something cannot run here.
  wrong_usage = 2,  ///< Arguments, and files to read or write that are not the program or a plugin.
  invalid_file = 3,    ///< The program, its data or a plugin is not valid.
  no_backend = 4,      ///< A backend is missing or cannot be opened.
  execute_failed = 5,  ///< `execute` failed, the process ran out of memory, or it has a bug.
};

/// A file that was written.
struct WrittenFile {
  std::string path;
  std::uint64_t nbytes = 0;
};

/// The result of a program: output, error and exit code.
struct Outcome {
  ExitCode code = ExitCode::success;
  std::string output{};                 ///< For standard output. Written before the failure.
  Status failure{};                     ///< For standard error, unless it is Ok.
  std::vector<std::string> warnings{};  ///< For standard error, a line each, unless it failed.

  static Outcome failed(ExitCode code, Status why) { return {code, {}, std::move(why), {}}; }
  /// Success, or a failure with `code`.
  static Outcome of(Status status, ExitCode code) {
    return {status.ok() ? ExitCode::success : code, {}, std::move(status), {}};
  }
};

/// "tenon-run: NotFound (0x20): text", in one line with a line feed. The lines of a text that has
/// several are joined by semicolons.
[[nodiscard]] inline std::string error_line(std::string_view tool, const Status& failure) {
  std::string text = host::shortened(describe(failure));
  for (std::size_t at = text.find("\n  "); at != std::string::npos; at = text.find("\n  ", at)) {
    text.replace(at, 3, "; ");
  }
  return concat(tool, ": ", printable(text), "\n");
}

/// "tenon-run: warning: text", in one line with a line feed.
[[nodiscard]] inline std::string warning_line(std::string_view tool, std::string_view text) {
  return concat(tool, ": warning: ", printable(host::shortened(text)), "\n");
}

/// Writes an outcome to standard output and standard error, and returns the exit code. A report
/// that cannot be written (a full disk) is `wrong_usage`, also where the report itself is of a
/// failure; standard error has that failure then.
[[nodiscard]] inline int report(std::string_view tool, const Outcome& outcome) {
  ExitCode code = outcome.code;
  std::string line = outcome.failure.ok() ? std::string() : error_line(tool, outcome.failure);
  const bool written = outcome.output.empty() || (std::fputs(outcome.output.c_str(), stdout) >= 0 &&
                                                  std::fflush(stdout) == 0);
  if (!written) {
    const Status why = error(Error::AccessFailed, "standard output cannot be written");
    if (line.empty()) line = error_line(tool, why);
    if (code == ExitCode::success || code == ExitCode::failed) code = ExitCode::wrong_usage;
  }
  if (outcome.failure.ok()) {
    for (const std::string& text : outcome.warnings) line += warning_line(tool, text);
  }
  std::fputs(line.c_str(), stderr);
  return static_cast<int>(code);
}

/// Reports that memory ran out, without allocating.
[[nodiscard]] inline int report_out_of_memory(std::string_view tool) noexcept {
  std::fprintf(stderr, "%.*s: MemoryAllocationFailed (0x21): out of memory\n",
               static_cast<int>(tool.size()), tool.data());
  return static_cast<int>(ExitCode::execute_failed);
}

/// The body of a program's `main`. `parse(argc, argv)` returns the arguments, or a text to print
/// instead; `run(arguments)` does the work and returns its outcome.
template <class Parse, class Run>
[[nodiscard]] int main(std::string_view tool, int argc, const char* const* argv, const Parse& parse,
                       const Run& run) {
#if defined(_WIN32)
  const WindowsMain windows;
  argc = windows.argc();
  argv = windows.argv();
#else
  std::signal(SIGXFSZ, SIG_IGN);  // A file beyond its limit is an error with a text.
#endif
  try {
    auto parsed = parse(argc, argv);
    if (!parsed.ok()) {
      return report(tool, Outcome::failed(ExitCode::wrong_usage, std::move(parsed).status()));
    }
    if (auto* only = std::get_if<PrintAndExit>(&*parsed)) {
      return report(tool, {.output = std::move(only->text)});
    }
    return report(tool, run(std::get<0>(*parsed)));
  } catch (const std::bad_alloc&) {
    return report_out_of_memory(tool);
  } catch (const std::exception& thrown) {
    std::fprintf(stderr, "%.*s: Internal (0x1): %s\n", static_cast<int>(tool.size()), tool.data(),
                 printable(thrown.what()).c_str());
    return static_cast<int>(ExitCode::execute_failed);
  }
}

}  // namespace tenon::tool
