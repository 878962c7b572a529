// SPDX-License-Identifier: MIT
#pragma once

#include <CLI/CLI.hpp>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/abi/version.h"
#include "tenon/core/concat.hpp"
#include "tenon/core/result.hpp"
#include "tool.hpp"

namespace tenon { inline namespace TENON_RELEASE {

/// The help of all programs: the usage line, what the program does, arguments, options by use, and
/// the footer with examples and exit codes.
class HelpFormatter final : public CLI::Formatter {
 public:
  [[nodiscard]] std::string make_description(const CLI::App*) const override { return {}; }
  [[nodiscard]] std::string make_usage(const CLI::App* app, std::string name) const override {
    // Versions of CLI11 put different numbers of empty lines around it.
    const std::string usage =
        CLI::detail::trim_copy(CLI::Formatter::make_usage(app, std::move(name)));
    return concat(usage, "\n\n", app->get_description(), "\n");
  }
};

/// Reads the command line into the variables that `app` knows, which has the program's own options.
/// A text for `--help`, which ends with `footer`, and for `--version`; InvalidArgument, which names
/// the program, for what `app` does not accept.
[[nodiscard]] inline Result<std::optional<PrintAndExit>> parse_command_line(
    CLI::App& app, const char* footer, int argc, const char* const* argv) {
  app.formatter(std::make_shared<HelpFormatter>());
  app.footer(footer);
  app.set_help_flag("-h,--help", "Print this text");
  app.set_version_flag("--version", concat(app.get_name(), " " TENON_VERSION_STRING),
                       "Print the version");
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

/// Adds an option that may be repeated and takes one value each time, so that it does not swallow
/// the arguments after it.
inline void add_list(CLI::App& app, const char* name, std::vector<std::string>& values,
                     const char* type, const char* description) {
  app.add_option(name, values, description)->allow_extra_args(false)->type_name(type);
}

/// The two sides of "KEY=VALUE". InvalidArgument names the option, what it has and `form`, what was
/// expected, and `program`.
[[nodiscard]] inline Result<std::pair<std::string, std::string>> key_and_value(
    std::string_view program, const std::string& text, std::string_view option,
    std::string_view form) {
  const std::size_t at = text.find('=');
  if (at == 0 || at == std::string::npos) {
    return error(Error::InvalidArgument, option, " ", text, ": expected ", form, " (see ", program,
                 " --help)");
  }
  return std::pair(text.substr(0, at), text.substr(at + 1));
}

}}  // namespace tenon::TENON_RELEASE
