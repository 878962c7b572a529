// SPDX-License-Identifier: MIT
#include "arguments.hpp"

#include <CLI/CLI.hpp>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "parse_command_line.hpp"
#include "tenon/host/layers/isolation/worker_settings.hpp"

namespace tenon::isolate {
namespace {

constexpr const char* footer =
    "Examples:\n"
    "  tenon-isolate acme.so                       # makes acme-isolated.so next to it\n"
    "  tenon-isolate acme.so -o plugins/acme-isolated.so --deadline-ms 2000\n"
    "  tenon-isolate acme.so --restart 3 --own-worker --force\n"
    "  tenon-isolate acme.so --profile strict --read /opt/acme/share\n"
    "\n"
    "Exit codes:\n"
    "  0  success\n"
    "  1  not supported on this system\n"
    "  2  wrong usage, or OUT exists or cannot be written\n"
    "  3  PLUGIN is no plugin, or cannot be isolated\n";

}  // namespace

Result<std::variant<Arguments, PrintAndExit>> parse_arguments(int argc, const char* const* argv) {
  Arguments arguments;
  CLI::App app("Makes a plugin that runs another plugin in a separate process.", "tenon-isolate");
  app.add_option("PLUGIN", arguments.plugin, "The plugin to isolate")->required();
  app.add_option("-o,--output", arguments.out, "The plugin to write (default: PLUGIN-isolated.so)")
      ->type_name("OUT");
  app.add_option("--deadline-ms", arguments.deadline_ms,
                 "End the worker when a call takes longer (default: 0, no limit)")
      ->type_name("MS");
  app.add_option("--restart", arguments.restart,
                 "New workers for a delegate whose worker died (default: 0)")
      ->type_name("N");
  app.add_flag("--own-worker", arguments.own_worker,
               "Start a worker for each delegate, not one for the backend");
  app.add_flag("--share-memory", arguments.share_memory,
               "Do not copy planned tensors: the plugin can then change them at any time");
  app.add_option("--profile", arguments.profile,
                 "What the worker gives up: none, open, driver or strict (default: none)")
      ->type_name("NAME")
      ->check(CLI::IsMember(std::vector<std::string>(std::begin(host::worker_profile_names),
                                                     std::end(host::worker_profile_names))));
  add_list(app, "--read", arguments.readable, "PATH",
           "A file or directory that the worker may read; the plugin's own is one. Repeatable");
  add_list(app, "--write", arguments.writable, "PATH",
           "A directory that the worker may write to (profile driver). Repeatable");
  add_list(app, "--device", arguments.devices, "PATH",
           "A device that the worker may use (profile driver). Repeatable");
  add_list(app, "--program", arguments.programs, "PATH",
           "A program, or a directory of programs, that the worker may start (profile driver). "
           "Repeatable");
  app.add_option("--worker", arguments.worker,
                 "The program tenon-worker (default: the installed one of this version)")
      ->type_name("FILE");
  app.add_flag("--force", arguments.force, "Replace OUT");
  app.add_flag("--json", arguments.json, "Print one JSON object instead of text");
  TENON_TRY(auto instead, parse_command_line(app, footer, argc, argv));
  if (instead) return std::variant<Arguments, PrintAndExit>(*std::move(instead));
  return std::variant<Arguments, PrintAndExit>(std::move(arguments));
}

}  // namespace tenon::isolate
