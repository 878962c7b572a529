// SPDX-License-Identifier: MIT
#pragma once

#include <cstdio>
#include <string>
#include <string_view>

#include "printable.hpp"
#include "tenon/core/concat.hpp"
#include "tenon/core/status.hpp"

/// What all programs here do in the same way.
namespace tenon {

/// What a program exits with. The stage decides, not the number of the error.
enum class ExitCode : int {
  success = 0,
  failed = 1,        ///< Outputs differ, a rule failed, something cannot run here.
  wrong_usage = 2,   ///< Arguments.
  invalid_file = 3,  ///< The program, its data or a plugin is not valid.
  no_backend = 4,    ///< A backend is missing or cannot be opened.
  execute_failed = 5,
};

/// "tenon-run: NotFound (0x20): text", in one line with a line feed. The lines of a text that has
/// several are joined by semicolons.
[[nodiscard]] inline std::string error_line(std::string_view tool, const Status& failure) {
  std::string text = describe(failure);
  for (std::size_t at = text.find("\n  "); at != std::string::npos; at = text.find("\n  ", at)) {
    text.replace(at, 3, "; ");
  }
  return concat(tool, ": ", printable(text), "\n");
}

/// Writes the failure to standard error and gives `code` back.
inline ExitCode fail(std::string_view tool, const Status& why, ExitCode code) {
  std::fputs(error_line(tool, why).c_str(), stderr);
  return code;
}

/// Writes `text` to standard output and gives `code` back. That may be a file on a full disk: what
/// cannot be written is not success.
inline ExitCode print(std::string_view tool, const std::string& text, ExitCode code) {
  if (std::fputs(text.c_str(), stdout) >= 0 && std::fflush(stdout) == 0) return code;
  return fail(tool, error(Error::AccessFailed, "standard output cannot be written"),
              ExitCode::wrong_usage);
}

}  // namespace tenon
