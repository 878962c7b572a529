// SPDX-License-Identifier: MIT
//
// Runs one method of a program and compares what comes out. docs/tenon-run.md describes it.
#include <cstdio>
#include <new>
#include <string>
#include <variant>

#include "arguments.hpp"
#include "report.hpp"
#include "run.hpp"

namespace {

using tenon::run::ExitCode;

// Standard output may be a file on a full disk: what cannot be written is not success.
ExitCode print(const std::string& text, ExitCode code) {
  const bool written = std::fputs(text.c_str(), stdout) >= 0 && std::fflush(stdout) == 0;
  if (written || code != ExitCode::success) return code;
  const auto failure =
      tenon::error(tenon::Error::AccessFailed, "standard output cannot be written");
  std::fputs(tenon::run::error_line(failure).c_str(), stderr);
  return ExitCode::wrong_usage;
}

ExitCode run(int argc, char** argv) {
  const auto parsed = tenon::run::parse_arguments(argc, argv);
  if (!parsed.ok()) {
    const auto failure = tenon::error(parsed.error(), parsed.text());
    std::fputs(tenon::run::error_line(failure).c_str(), stderr);
    return ExitCode::wrong_usage;
  }
  if (const auto* only = std::get_if<tenon::PrintAndExit>(&*parsed)) {
    return print(only->text, ExitCode::success);
  }
  const auto& arguments = std::get<tenon::run::Arguments>(*parsed);
  const tenon::run::Report report = tenon::run::run(arguments);
  if (!report.failure.ok()) {
    std::fputs(tenon::run::error_line(report.failure).c_str(), stderr);
  }
  if (arguments.json) return print(to_json(report), report.code);
  return report.failure.ok() ? print(to_text(report), report.code) : report.code;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return static_cast<int>(run(argc, argv));
  } catch (const std::bad_alloc&) {
    std::fputs("tenon-run: MemoryAllocationFailed (0x21): out of memory\n", stderr);
    return static_cast<int>(ExitCode::execute_failed);
  }
}
