// SPDX-License-Identifier: MIT
#include "program.hpp"

#include "arguments.hpp"
#include "doctor.hpp"
#include "tenon/host/registry/discovery.hpp"
#include "tool.hpp"

int tenon::doctor::run_program(int argc, char** argv, const std::string& installed) {
  const auto run = [&](const Arguments& arguments) -> tool::Outcome {
    Diagnosis diagnosis = diagnose(arguments, host::discovery({.installed = installed}));
    std::string text =
        arguments.json ? to_json(diagnosis) : to_text(diagnosis, use_color(arguments.color));
    return {diagnosis.code, std::move(text), std::move(diagnosis.failure)};
  };
  return tool::main("tenon-doctor", argc, argv, &parse_arguments, run);
}
