// SPDX-License-Identifier: MIT
#include "program.hpp"

#include "arguments.hpp"
#include "pack.hpp"
#include "tool.hpp"

int tenon::pack::run_program(int argc, char** argv) {
  const auto run = [](const Arguments& arguments) -> tool::Outcome {
    Report report = pack(arguments);
    std::string text = arguments.json ? to_json(report) : to_text(report);
    return {report.code, std::move(text), std::move(report.failure), {}};
  };
  return tool::main("tenon-pack", argc, argv, &parse_arguments, run);
}
