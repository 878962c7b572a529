// SPDX-License-Identifier: MIT
//
// Makes a program of a blob that a runtime's own compiler made. docs/tools/tenon-pack.md describes
// it.
#include "pack.hpp"
#include "terminate.hpp"
#include "tool.hpp"

namespace tenon::pack { namespace {

tool::Outcome run(const Arguments& arguments) {
  Report report = pack(arguments);
  std::string text = arguments.json ? to_json(report) : to_text(report);
  return {report.code, std::move(text), std::move(report.failure), {}};
}

}}  // namespace tenon::pack

int main(int argc, char** argv) {
  return tenon::tool::main("tenon-pack", argc, argv, &tenon::pack::parse_arguments,
                           &tenon::pack::run);
}
