// SPDX-License-Identifier: MIT
#include "inspect.hpp"

#include <CLI/CLI.hpp>

#include "parse_command_line.hpp"

namespace tenon::inspect {
namespace {

constexpr const char* footer =
    "Examples:\n"
    "  tenon-inspect libacme.so\n"
    "  tenon-inspect libacme.so --load\n"
    "  tenon-inspect libacme.so --isolated --run model.pte\n"
    "  tenon-inspect libacme.so --verbose\n"
    "  tenon-inspect libacme.so --certificate report.json --level 9\n"
    "  tenon-inspect model.pte\n"
    "  tenon-inspect model.pte --extract-blob 0 -o blob.bin\n"
    "  tenon-inspect libacme.so --json | jq '.lint[] | select(.verdict == \"fail\")'\n"
    "\n"
    "Exit codes:\n"
    "  0  no check fails\n"
    "  1  a check fails, or the report does not vouch for the plugin\n"
    "  2  wrong usage, or a damaged report\n"
    "  3  FILE is no plugin, program or data file\n"
    "  4  with --load or --isolated: it cannot be loaded, or a backend cannot be opened\n";

}  // namespace

Result<std::variant<Arguments, PrintAndExit>> parse_arguments(int argc, const char* const* argv) {
  Arguments arguments;
  CLI::App app(
      "Shows the record of a plugin and checks its file, or shows the methods, delegates, data "
      "and\n"
      "memory plan of a program (.pte, .ptd). Loads a plugin only with --load or --isolated.",
      "tenon-inspect");
  app.add_option("FILE", arguments.plugin, "The plugin, program or data file")->required();
  app.add_flag("--load", arguments.load,
               "Load the plugin, and show its devices, options and availability");
  CLI::Option* const isolated = app.add_flag("--isolated", arguments.isolated,
                                             "Load the plugin in separate processes, and show its "
                                             "system calls, files, devices and narrowest profile");
  app.add_option("--run", arguments.run, "With --isolated: run each method of a program on zeros")
      ->type_name("MODEL.pte")
      ->needs(isolated);
  app.add_flag("--verbose", arguments.verbose, "Show all symbols, named data, calls and files");
  app.add_flag("--json", arguments.json, "Print one JSON object instead of text");
  app.add_option("--certificate", arguments.certificate,
                 "Only check the plugin against a report of tenon-conformance (--json)")
      ->type_name("REPORT")
      ->excludes("--load", "--isolated", "--verbose", "--json");
  app.add_option("--level", arguments.certificate_level,
                 "The lowest level that the report may have (default: 5)")
      ->check(CLI::Range(1, 10))
      ->type_name("N")
      ->needs("--certificate");
  CLI::Option* const output =
      app.add_option("-o,--output", arguments.output, "The file for the blob")->type_name("FILE");
  CLI::Option* const extract =
      app.add_option("--extract-blob", arguments.extract_blob,
                     "Write a delegate's blob, by its number in the list, to the file of -o")
          ->type_name("N")
          ->excludes("--certificate")
          ->needs(output);
  output->needs(extract);
  add_color_option(app, arguments.color);
  TENON_TRY(auto instead, parse_command_line(app, footer, argc, argv));
  if (instead) return std::variant<Arguments, PrintAndExit>(*std::move(instead));
  if (extract->count() != 0 && arguments.output.empty()) {
    return error(Error::InvalidArgument, "-o is empty (see tenon-inspect --help)");
  }
  if (arguments.plugin.empty()) {
    return error(Error::InvalidArgument, "FILE is empty (see tenon-inspect --help)");
  }
  return std::variant<Arguments, PrintAndExit>(std::move(arguments));
}

}  // namespace tenon::inspect
