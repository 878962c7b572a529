// SPDX-License-Identifier: MIT
//
// Runs one method of a program and compares its outputs. docs/tools/tenon-run.md describes it.
#include "arguments.hpp"
#include "report.hpp"
#include "run.hpp"
#include "terminate.hpp"
#include "tool.hpp"

int main(int argc, char** argv) {
  using namespace tenon::run;
  const auto run = [](const Arguments& arguments) -> tenon::tool::Outcome {
    Report report = tenon::run::run(arguments);
    const bool prints = arguments.json || report.failure.ok();
    std::string text = !prints ? std::string() : arguments.json ? to_json(report) : to_text(report);
    return {report.code, std::move(text), std::move(report.failure), std::move(report.warnings)};
  };
  return tenon::tool::main("tenon-run", argc, argv, &parse_arguments, run);
}
