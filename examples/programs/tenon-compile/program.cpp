// SPDX-License-Identifier: MIT
#include "program.hpp"

#include "arguments.hpp"
#include "compile.hpp"
#include "name_crash.hpp"
#include "tenon/host/registry/discovery.hpp"
#include "tool.hpp"

int tenon::compile::run_program(int argc, char** argv, const std::string& installed) {
  name_plugins_that_crash();
  const auto run = [&](const Arguments& arguments) -> tool::Outcome {
    Report report = compile(arguments, host::discovery({.installed = installed}));
    std::string text = arguments.json ? to_json(report) : to_text(report);
    return {report.code, std::move(text), std::move(report.failure), std::move(report.warnings)};
  };
  return tool::main("tenon-compile", argc, argv, &parse_arguments, run);
}
