// SPDX-License-Identifier: MIT
//
// Compiles what PyTorch exported to a program. docs/aot/tenon-compile.md describes it.
#include "compile.hpp"
#include "installed_plugins.hpp"
#include "tenon/host/layers/discovery/discovery.hpp"
#include "terminate.hpp"
#include "tool.hpp"

namespace tenon::compile { namespace {

tool::Outcome run(const Arguments& arguments) {
  Report report = compile(arguments, host::discovery({.installed = installed_plugins()}));
  std::string text = arguments.json ? to_json(report) : to_text(report);
  return {report.code, std::move(text), std::move(report.failure), std::move(report.warnings)};
}

}}  // namespace tenon::compile

int main(int argc, char** argv) {
  tenon::compile::name_plugins_that_crash();
  return tenon::tool::main("tenon-compile", argc, argv, &tenon::compile::parse_arguments,
                           &tenon::compile::run);
}
