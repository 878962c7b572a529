// SPDX-License-Identifier: MIT
#include "program.hpp"

#include "arguments.hpp"
#include "certificate.hpp"
#include "inspect.hpp"
#include "model.hpp"
#include "tool.hpp"

namespace {

/// The first failure of a report.
tenon::Status first_failure(tenon::inspect::Report& report) {
  if (!report.failure.ok()) return std::move(report.failure);
  if (report.loaded && !report.loaded->ok()) return *std::move(report.loaded);
  if (report.isolated && !report.isolated->failure.ok()) {
    return error(report.isolated->failure.error(), report.isolated->failure.text());
  }
  for (tenon::inspect::InspectedBackend& backend : report.backends) {
    if (!backend.opened.ok()) return std::move(backend.opened);
  }
  return tenon::ok();
}

tenon::tool::Outcome show_model(const tenon::inspect::Arguments& arguments,
                                tenon::inspect::FileKind kind) {
  namespace inspect = tenon::inspect;
  if (arguments.load || arguments.isolated) {
    return tenon::tool::Outcome::failed(
        tenon::tool::ExitCode::wrong_usage,
        tenon::error(tenon::Error::InvalidArgument, arguments.load ? "--load: " : "--isolated: ",
                     arguments.plugin, " is not a plugin (see tenon-inspect --help)"));
  }
  inspect::ModelReport report = inspect::inspect_model(arguments, kind);
  std::string text = arguments.json ? inspect::to_json(report)
                                    : inspect::to_text(report, arguments.verbose,
                                                       tenon::use_color(arguments.color));
  return {report.code, std::move(text), std::move(report.failure)};
}

}  // namespace

int tenon::inspect::run_program(int argc, char** argv) {
  const auto run = [](const Arguments& arguments) -> tool::Outcome {
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
  };
  return tool::main("tenon-inspect", argc, argv, &parse_arguments, run);
}
