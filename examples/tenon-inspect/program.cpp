// SPDX-License-Identifier: MIT
#include "program.hpp"

#include "arguments.hpp"
#include "certificate.hpp"
#include "inspect.hpp"
#include "tool.hpp"

namespace {

/// The first failure of a report.
tenon::Status first_failure(tenon::inspect::Report& report) {
  if (!report.failure.ok()) return std::move(report.failure);
  if (report.loaded && !report.loaded->ok()) return *std::move(report.loaded);
  for (tenon::inspect::InspectedBackend& backend : report.backends) {
    if (!backend.opened.ok()) return std::move(backend.opened);
  }
  return tenon::ok();
}

}  // namespace

int tenon::inspect::run_program(int argc, char** argv) {
  const auto run = [](const Arguments& arguments) -> tool::Outcome {
    if (!arguments.certificate.empty()) return check_certificate(arguments);
    Report report = inspect(arguments);
    std::string text =
        arguments.json ? to_json(report) : to_text(report, arguments, use_color(arguments.color));
    return {report.code, std::move(text), first_failure(report)};
  };
  return tool::main("tenon-inspect", argc, argv, &parse_arguments, run);
}
