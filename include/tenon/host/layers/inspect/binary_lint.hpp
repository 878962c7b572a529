// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/host/layers/inspect/elf_library.hpp"

/// Judges a plugin's file by what it shows without being loaded.
namespace tenon { inline namespace TENON_RELEASE { namespace host {

/// The result of a check.
enum class Verdict : std::uint8_t {
  pass,
  information,  ///< Neither good nor bad.
  warning,      ///< Works, and may fail later.
  fail,         ///< Breaks a rule of the boundary, or opens the host to attack.
};

/// "pass", "information", "warning", "fail".
[[nodiscard]] constexpr std::string_view verdict_name(Verdict verdict) noexcept {
  constexpr std::string_view names[] = {"pass", "information", "warning", "fail"};
  return names[static_cast<std::size_t>(verdict)];
}

/// One check of one file.
struct LintResult {
  std::string_view id;     ///< The rule of the boundary (TN-BIN-1), or a name of this list.
  std::string_view title;  ///< What is right: "exports one object".
  Verdict verdict = Verdict::pass;
  std::string text;  ///< What was found, and how to mend it.
};

/// All checks of a plugin's file, always the same ones in the same order. `no-old-rpath` is only
/// there for a library that has a DT_RPATH.
[[nodiscard]] std::vector<LintResult> lint_plugin(const ElfLibrary& library);

}}}  // namespace tenon::TENON_RELEASE::host
