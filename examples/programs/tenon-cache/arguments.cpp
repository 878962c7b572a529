// SPDX-License-Identifier: MIT
#include "arguments.hpp"

#include <CLI/CLI.hpp>
#include <string>
#include <utility>

#include "parse_command_line.hpp"
#include "tenon/host/platform/path_text.hpp"

namespace tenon::cache {
namespace {

constexpr const char* footer =
    "Examples:\n"
    "  tenon-cache\n"
    "  tenon-cache --verify\n"
    "  tenon-cache --prune 500MB\n"
    "  tenon-cache --prune 0\n"
    "  tenon-cache --directory /var/cache/acme --json | jq '[.files[].nbytes] | add'\n"
    "\n"
    "Exit codes:\n"
    "  0  success, also when nothing is cached\n"
    "  1  a file does not verify\n"
    "  2  wrong usage\n";

}  // namespace

Result<std::variant<Arguments, PrintAndExit>> parse_arguments(int argc, const char* const* argv) {
  Arguments arguments;
  std::string directory;
  std::uint64_t prune = 0;
  CLI::App app(
      "Lists the cached results of preparing blobs (tenon-run --prepared), the last used first.",
      "tenon-cache");
  app.add_option("--directory", directory,
                 "The cache (default: TENON_PREPARED_DIR or the user's cache directory)")
      ->type_name("DIR");
  app.add_flag("--verify", arguments.verify, "Verify each file, as a load does");
  const auto* pruned =
      app.add_option("--prune", prune,
                     "First remove the files that were unused for the longest time, until the rest "
                     "takes at most SIZE (bytes, or with KB, MB, GB, KiB, MiB, GiB)")
          ->type_name("SIZE")
          ->transform(CLI::AsSizeValue(false));
  app.add_flag("--json", arguments.json, "Print one JSON object instead of text");
  TENON_TRY(auto instead, parse_command_line(app, footer, argc, argv));
  if (instead) return std::variant<Arguments, PrintAndExit>(*std::move(instead));
  if (pruned->count() != 0) arguments.prune = prune;
  arguments.directory = host::path_of(directory);
  return std::variant<Arguments, PrintAndExit>(std::move(arguments));
}

}  // namespace tenon::cache
