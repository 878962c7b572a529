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
    "  0  success, also when the list is empty\n"
    "  2  wrong usage\n";

}  // namespace

Result<std::variant<Arguments, PrintAndExit>> parse_arguments(int argc, const char* const* argv) {
  Arguments arguments;
  CLI::App app("Lists the backends that plugins offer. Loads no plugin.", "tenon-list");
  app.add_flag("--all", arguments.all,
               "Also list debug and experimental backends, and unusable plugins with reasons");
  // One value each, so that it does not swallow the arguments after it.
  app.add_option("--tag", arguments.tags,
                 "List only backends with this tag; repeatable, for backends with all of them")
      ->allow_extra_args(false)
      ->type_name("T");
  app.add_flag("--places", arguments.places, "Also list where plugins were searched");
  app.add_flag("--json", arguments.json, "Print one JSON object instead of text");
  add_color_option(app, arguments.color);
  TENON_TRY(auto instead, parse_command_line(app, footer, argc, argv));
  if (instead) return std::variant<Arguments, PrintAndExit>(*std::move(instead));
  return std::variant<Arguments, PrintAndExit>(std::move(arguments));
}

}  // namespace tenon::list
