// SPDX-License-Identifier: MIT
#include "program.hpp"

#include <cstdio>
#include <new>
#include <utility>
#include <variant>

#include "arguments.hpp"
#include "doctor.hpp"
#include "tenon/host/discovery.hpp"
#include "tool.hpp"

namespace {

using namespace tenon::doctor;
using tenon::ExitCode;

ExitCode run(int argc, char** argv, const char* installed) {
  auto parsed = parse_arguments(argc, argv);
  if (!parsed.ok()) {
    return tenon::fail("tenon-doctor", std::move(parsed).status(), ExitCode::wrong_usage);
  }
  if (const auto* only = std::get_if<tenon::PrintAndExit>(&*parsed)) {
    return tenon::print("tenon-doctor", only->text, ExitCode::success);
  }
  const auto& arguments = std::get<Arguments>(*parsed);
  const Diagnosis diagnosis = diagnose(arguments, tenon::host::discovery({.installed = installed}));
  const ExitCode code = tenon::print(
      "tenon-doctor",
      arguments.json ? to_json(diagnosis) : to_text(diagnosis, tenon::use_color(arguments.color)),
      diagnosis.code);
  if (diagnosis.failure.ok()) return code;
  return tenon::fail("tenon-doctor", diagnosis.failure, code);
}

}  // namespace

int tenon::doctor::run_program(int argc, char** argv, const char* installed) {
  try {
    return static_cast<int>(run(argc, argv, installed));
  } catch (const std::bad_alloc&) {
    std::fputs("tenon-doctor: MemoryAllocationFailed (0x21): out of memory\n", stderr);
    return static_cast<int>(ExitCode::invalid_file);
  }
}
