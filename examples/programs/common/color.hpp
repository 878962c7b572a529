// SPDX-License-Identifier: MIT
#pragma once

#if defined(_WIN32)
#include <io.h>
#else
#include <unistd.h>
#endif

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

namespace tenon { inline namespace TENON_RELEASE {

/// When a tool writes colours, as `--color` says.
enum class ColorWhen { automatic, always, never };

/// The role of a piece of text. Colour alone carries no information.
enum class Style { plain, title, good, bad, weak };

/// Whether `stream` writes to a terminal.
[[nodiscard]] inline bool is_terminal(std::FILE* stream) noexcept {
#if defined(_WIN32)
  return ::_isatty(::_fileno(stream)) != 0;
#else
  return ::isatty(::fileno(stream)) == 1;
#endif
}

/// Whether to write colours to standard output. `automatic`: to a terminal that can show them,
/// which TERM says also on Windows, unless NO_COLOR is set (no-color.org).
[[nodiscard]] inline bool use_color(ColorWhen when) {
  if (when != ColorWhen::automatic) return when == ColorWhen::always;
  const char* no_color = std::getenv("NO_COLOR");
  const char* terminal = std::getenv("TERM");
  if (no_color && *no_color != '\0') return false;
  return terminal && std::string_view(terminal) != "dumb" && is_terminal(stdout);
}

/// `text` with the sequences of `style` around it when `on`.
[[nodiscard]] inline std::string styled(std::string_view text, Style style, bool on) {
  if (!on || style == Style::plain) return std::string(text);
  const std::string_view code = style == Style::title  ? "\x1b[1m"
                                : style == Style::good ? "\x1b[32m"
                                : style == Style::bad  ? "\x1b[31m"
                                                       : "\x1b[2m";
  return std::string(code) + std::string(text) + "\x1b[0m";
}

/// Adds `--color auto|always|never`.
inline void add_color_option(CLI::App& app, ColorWhen& when) {
  const auto set = [&when](const std::string& text) {
    when = text == "always"  ? ColorWhen::always
           : text == "never" ? ColorWhen::never
                             : ColorWhen::automatic;
  };
  app.add_option_function<std::string>("--color", set,
                                       "Colours: auto (only on a terminal), always, never")
      ->check(CLI::IsMember({"auto", "always", "never"}).description(""))
      ->type_name("WHEN");
}

}}  // namespace tenon::TENON_RELEASE
