// SPDX-License-Identifier: MIT
#include "program.hpp"

#include <cstdio>
#include <new>
#include <utility>
#include <variant>

#include "arguments.hpp"
#include "compile.hpp"
#include "tenon/host/discovery.hpp"
#include "tool.hpp"

namespace {

using namespace tenon::compile;
using tenon::ExitCode;

ExitCode run(int argc, char** argv, const char* installed) {
  auto parsed = parse_arguments(argc, argv);
  if (!parsed.ok()) {
    return tenon::fail("tenon-compile", std::move(parsed).status(), ExitCode::wrong_usage);
  }
  if (const auto* only = std::get_if<tenon::PrintAndExit>(&*parsed)) {
    return tenon::print("tenon-compile", only->text, ExitCode::success);
  }
  const auto& arguments = std::get<Arguments>(*parsed);
  const Report report = compile(arguments, tenon::host::discovery({.installed = installed}));
  const ExitCode code = tenon::print(
      "tenon-compile", arguments.json ? to_json(report) : to_text(report), report.code);
  if (report.failure.ok()) return code;
  return tenon::fail("tenon-compile", report.failure, code);
}

}  // namespace

int tenon::compile::run_program(int argc, char** argv, const char* installed) {
  try {
    return static_cast<int>(run(argc, argv, installed));
  } catch (const std::bad_alloc&) {
    std::fputs("tenon-compile: MemoryAllocationFailed (0x21): out of memory\n", stderr);
    return static_cast<int>(ExitCode::failed);
  }
}
