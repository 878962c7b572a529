// SPDX-License-Identifier: MIT
#include "program.hpp"

#include <cstdio>
#include <new>
#include <string_view>
#include <utility>
#include <variant>

#include "arguments.hpp"
#include "inspect.hpp"
#include "tool.hpp"

namespace {

using namespace tenon::inspect;
using tenon::ExitCode;

constexpr std::string_view tool = "tenon-inspect";

ExitCode run(int argc, char** argv) {
  auto parsed = parse_arguments(argc, argv);
  if (!parsed.ok()) return tenon::fail(tool, std::move(parsed).status(), ExitCode::wrong_usage);
  if (const auto* only = std::get_if<tenon::PrintAndExit>(&*parsed)) {
    return tenon::print(tool, only->text, ExitCode::success);
  }
  const auto& arguments = std::get<Arguments>(*parsed);
  const Report report = inspect(arguments);
  const ExitCode code =
      tenon::print(tool,
                   arguments.json ? to_json(report)
                                  : to_text(report, arguments, tenon::use_color(arguments.color)),
                   report.code);
  if (!report.failure.ok()) return tenon::fail(tool, report.failure, code);
  if (report.loaded && !report.loaded->ok()) return tenon::fail(tool, *report.loaded, code);
  for (const LoadedBackend& backend : report.backends) {
    if (!backend.opened.ok()) return tenon::fail(tool, backend.opened, code);
  }
  return code;
}

}  // namespace

int tenon::inspect::run_program(int argc, char** argv) {
  try {
    return static_cast<int>(run(argc, argv));
  } catch (const std::bad_alloc&) {
    std::fputs("tenon-inspect: MemoryAllocationFailed (0x21): out of memory\n", stderr);
    return static_cast<int>(ExitCode::invalid_file);
  }
}
