// SPDX-License-Identifier: MIT
//
// Says what a program needs and whether it is here. docs/tools/inspecting.md describes it.
#include "doctor.hpp"
#include "installed_plugins.hpp"
#include "tenon/host/layers/discovery/discovery.hpp"
#include "terminate.hpp"
#include "tool.hpp"

namespace tenon::doctor { namespace {

tool::Outcome run(const Arguments& arguments) {
  Diagnosis diagnosis = diagnose(arguments, host::discovery({.installed = installed_plugins()}));
  std::string text =
      arguments.json ? to_json(diagnosis) : to_text(diagnosis, use_color(arguments.color));
  return {diagnosis.code, std::move(text), std::move(diagnosis.failure)};
}

}}  // namespace tenon::doctor

int main(int argc, char** argv) {
  return tenon::tool::main("tenon-doctor", argc, argv, &tenon::doctor::parse_arguments,
                           &tenon::doctor::run);
}
