// SPDX-License-Identifier: MIT
#include "arguments.hpp"

#include <CLI/CLI.hpp>
#include <utility>

#include "parse_command_line.hpp"

namespace tenon::make_new {
namespace {

constexpr const char* footer =
    "Examples:\n"
    "  tenon-new acme_npu                       # makes ./acme_npu\n"
    "  tenon-new acme_npu --template minimal    # six files\n"
    "  tenon-new acme_npu --template wrapper --id AcmeBackend  # for programs with that id\n"
    "  tenon-new acme_npu --dir backends        # makes backends/acme_npu\n"
    "  tenon-new acme_npu --python              # a Python package with the plugin in it\n"
    "  tenon-new --list\n"
    "\n"
    "Exit codes:\n"
    "  0  success\n"
    "  1  a file cannot be read or written\n"
    "  2  wrong usage, or the directory exists\n"
    "  3  the template is broken\n";

}  // namespace

Result<std::variant<Arguments, PrintAndExit>> parse_arguments(int argc, const char* const* argv) {
  Arguments arguments;
  CLI::App app("Makes a directory with a new backend, which builds and passes its tests.",
               "tenon-new");
  app.add_option("NAME", arguments.name,
                 "Name of the backend: words in lower case with underscores between them");
  app.add_option("--id", arguments.id,
                 "Id by which programs refer to it (default: AcmeNpuBackend for acme_npu)")
      ->type_name("ID");
  auto* const chosen =
      app.add_option("--template", arguments.template_name, "The template to copy (default: full)")
          ->type_name("T");
  app.add_flag_callback(
         "--python", [&arguments] { arguments.template_name = "python"; },
         "Make a Python package with the plugin, as --template python")
      ->excludes(chosen);
  app.add_option("--dir", arguments.directory, "Parent of the new directory (default: .)")
      ->type_name("D");
  app.add_flag("--list", arguments.list, "Print the templates, and make nothing");
  TENON_TRY(auto instead, parse_command_line(app, footer, argc, argv));
  if (instead) return std::variant<Arguments, PrintAndExit>(*std::move(instead));
  if (!arguments.list && arguments.name.empty()) {
    return error(Error::InvalidArgument, "NAME is missing (see tenon-new --help)");
  }
  if (arguments.list && !(arguments.name.empty() && arguments.id.empty())) {
    return error(Error::InvalidArgument, "--list makes nothing: leave out NAME and --id");
  }
  return std::variant<Arguments, PrintAndExit>(std::move(arguments));
}

}  // namespace tenon::make_new
