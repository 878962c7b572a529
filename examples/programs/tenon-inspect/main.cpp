// SPDX-License-Identifier: MIT
//
// Shows what a plugin is. docs/tools/inspecting.md describes it.
#include "inspect.hpp"
#include "model.hpp"
#include "terminate.hpp"
#include "tool.hpp"

namespace tenon::inspect { namespace {

Status first_failure(Report& report) {
  if (!report.failure.ok()) return std::move(report.failure);
  if (report.loaded && !report.loaded->ok()) return *std::move(report.loaded);
  if (report.isolated && !report.isolated->failure.ok()) {
    return error(report.isolated->failure.error(), report.isolated->failure.text());
  }
  for (InspectedBackend& backend : report.backends) {
    if (!backend.opened.ok()) return std::move(backend.opened);
  }
  return ok();
}

tool::Outcome show_model(const Arguments& arguments, FileKind kind) {
  if (arguments.load || arguments.isolated) {
    return tool::Outcome::failed(
        tool::ExitCode::wrong_usage,
        error(Error::InvalidArgument, arguments.load ? "--load: " : "--isolated: ",
              arguments.plugin, " is not a plugin (see tenon-inspect --help)"));
  }
  ModelReport report = inspect_model(arguments, kind);
  std::string text = arguments.json
                         ? to_json(report)
                         : to_text(report, arguments.verbose, use_color(arguments.color));
  return {report.code, std::move(text), std::move(report.failure)};
}

tool::Outcome run(const Arguments& arguments) {
  if (!arguments.certificate.empty()) return check_certificate(arguments);
  if (const FileKind kind = kind_of_file(arguments.plugin); kind != FileKind::plugin) {
    return show_model(arguments, kind);
  }
  if (arguments.extract_blob) {
    return tool::Outcome::failed(
        ExitCode::invalid_file,
        error(Error::InvalidProgram, arguments.plugin, ": --extract-blob: not a program"));
  }
  Report report = inspect(arguments);
  std::string text =
      arguments.json ? to_json(report) : to_text(report, arguments, use_color(arguments.color));
  return {report.code, std::move(text), first_failure(report)};
}

}}  // namespace tenon::inspect

int main(int argc, char** argv) {
  return tenon::tool::main("tenon-inspect", argc, argv, &tenon::inspect::parse_arguments,
                           &tenon::inspect::run);
}
