// SPDX-License-Identifier: MIT
#pragma once

#include <CLI/CLI.hpp>
#include <optional>

#include "print_and_exit.hpp"
#include "tenon/core/concat.hpp"
#include "tenon/core/result.hpp"

namespace tenon {

/// Reads the command line into the variables that `app` knows. A text for `--help` and `--version`;
/// InvalidArgument, which names the program, for what `app` does not accept.
[[nodiscard]] inline Result<std::optional<PrintAndExit>> parse_command_line(
    CLI::App& app, int argc, const char* const* argv) {
  try {
    app.parse(argc, argv);
    return std::optional<PrintAndExit>();
  } catch (const CLI::CallForHelp&) {
    return std::optional(PrintAndExit{app.help()});
  } catch (const CLI::CallForVersion& version) {
    return std::optional(PrintAndExit{concat(version.what(), "\n")});
  } catch (const CLI::Error& wrong) {
    return error(Error::InvalidArgument, wrong.what(), " (see ", app.get_name(), " --help)");
  }
}

}  // namespace tenon
