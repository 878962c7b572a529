// SPDX-License-Identifier: MIT
#include "arguments.hpp"

#include <CLI/CLI.hpp>
#include <utility>

#include "parse_command_line.hpp"

namespace tenon::list {
namespace {

constexpr const char* footer =
    "Examples:\n"
    "  tenon-list\n"
    "  tenon-list --all --places\n"
    "  tenon-list --tag npu\n"
    "  tenon-list --json | jq -r '.backends[] | select(.hidden_as == null) | .id'\n"
    "  TENON_PLUGIN_PATH=/opt/acme/plugins tenon-list\n"
    "  TENON_DISABLE='Cuda*' tenon-list --all\n"
    "  TENON_PUBLISHERS=/etc/acme/publishers.json tenon-list --all\n"
    "\n"
    "Exit codes:\n"
    "  0 success, also when the list is empty  2 wrong usage\n";

}  // namespace

Result<std::variant<Arguments, PrintAndExit>> parse_arguments(int argc, const char* const* argv) {
  Arguments arguments;
  CLI::App app("Lists the backends that plugins offer. Loads none of them.", "tenon-list");
  add_common_options(app, footer);
  app.add_flag("--all", arguments.all,
               "Also debug and experimental backends and what cannot be used, with reasons");
  // One value each, so that it does not swallow the arguments after it.
  app.add_option("--tag", arguments.tags, "Only backends with this tag; repeatable: with all")
      ->allow_extra_args(false)
      ->type_name("T");
  app.add_flag("--places", arguments.places, "Also where backends were searched");
  app.add_flag("--json", arguments.json, "Print one JSON object instead of a table");
  add_color_option(app, arguments.color);
  TENON_TRY(auto instead, parse_command_line(app, argc, argv));
  if (instead) return std::variant<Arguments, PrintAndExit>(*std::move(instead));
  return std::variant<Arguments, PrintAndExit>(std::move(arguments));
}

}  // namespace tenon::list
