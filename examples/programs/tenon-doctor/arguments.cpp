// SPDX-License-Identifier: MIT
#include "doctor.hpp"

#include <CLI/CLI.hpp>

#include "parse_command_line.hpp"

namespace tenon::doctor {
namespace {

constexpr const char* footer =
    "Examples:\n"
    "  tenon-doctor model.pte\n"
    "  tenon-doctor model.pte --data weights.ptd\n"
    "  tenon-doctor model.pte --plugin ./libacme.so --method forward\n"
    "  tenon-doctor model.pte --prove\n"
    "  tenon-doctor model.pte --json | jq '.methods[].delegates[] | .problems[]'\n"
    "\n"
    "Exit codes:\n"
    "  0  everything can run here\n"
    "  1  something cannot run here\n"
    "  2  wrong usage\n"
    "  3  the program, a data file or a named plugin is not valid\n";

}  // namespace

Result<std::variant<Arguments, PrintAndExit>> parse_arguments(int argc, const char* const* argv) {
  Arguments arguments;
  CLI::App app(
      "Says for each delegate of a program which plugin serves it, or why none does.\n"
      "Loads and asks plugins, but runs nothing, unless --prove is given.",
      "tenon-doctor");
  app.add_option("MODEL", arguments.model, "The program")->required();
  app.add_option("--method", arguments.method, "Only this method");
  app.add_option("--without-cpu-features", arguments.without_cpu_features,
                 "Choose plugins and variants as on a CPU that lacks these features (avx2,fma)")
      ->type_name("LIST");
  // Each list option takes one value, so that it does not swallow the arguments after it.
  app.add_option("--plugin", arguments.plugins,
                 "Plugin to use before all found plugins; repeatable")
      ->allow_extra_args(false)
      ->type_name("FILE");
  app.add_option("--data", arguments.data, "External data of the program; repeatable")
      ->allow_extra_args(false)
      ->type_name("FILE.ptd");
  app.add_flag(
      "--prove", arguments.prove,
      "Run the golden cases of the program with each variant that can run here, and keep the "
      "verdicts for loads that prove (docs/hosts/proof.md)");
  app.add_flag("--json", arguments.json, "Print one JSON object instead of text");
  add_color_option(app, arguments.color);
  TENON_TRY(auto instead, parse_command_line(app, footer, argc, argv));
  if (instead) return std::variant<Arguments, PrintAndExit>(*std::move(instead));
  if (arguments.model.empty()) {
    return error(Error::InvalidArgument, "MODEL is empty (see tenon-doctor --help)");
  }
  return std::variant<Arguments, PrintAndExit>(std::move(arguments));
}

}  // namespace tenon::doctor
