// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "tenon/conformance/loaded_plugin.hpp"
#include "tenon/conformance/test.hpp"
#include "tenon/host/binary_lint.hpp"
#include "tenon/host/elf_library.hpp"
#include "tenon/host/peek.hpp"
#include "tenon/host/trusted_path.hpp"

/// Suite "binary": what the file shows before any of its code runs.
namespace tenon::conformance {

namespace detail {

/// The rule that a check of the lint is about; empty for what is no rule.
[[nodiscard]] constexpr std::string_view rule_of_lint(std::string_view id) noexcept {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 9> rules = {{
      {"TN-BIN-1", "TN-BIN-1"},
      {"TN-BIN-2", "TN-BIN-2"},
      {"no-gnu-unique", "TN-BIN-10"},
      {"no-nodelete", "TN-BIN-10"},
      {"run-path", "TN-BIN-12"},
      {"nx-stack", "TN-BIN-12"},
      {"no-writable-code", "TN-BIN-12"},
      {"no-textrel", "TN-BIN-12"},
  }};
  for (const auto& [check, rule] : rules) {
    if (check == id) return rule;
  }
  return {};
}

}  // namespace detail

TENON_CONFORMANCE_TEST("the file shows nothing that a plugin must not have",
                       "[binary][level-1][plugin][TN-BIN-1][TN-BIN-2][TN-BIN-10][TN-BIN-12]") {
  auto file = kit.need(host::open_file(kit.plugin(), host::Trust::caller), "the file");
  auto library = kit.need(
      host::with_bytes(
          file, [](std::span<const std::byte> bytes) { return host::read_elf_library(bytes); }),
      "the library");
  for (const host::LintResult& check : host::lint_plugin(library)) {
    const std::string_view rule = detail::rule_of_lint(check.id);
    if (rule.empty() || check.verdict != host::Verdict::fail) continue;
    kit.broke(rule, check.title, ": ", check.text);
  }
}

}  // namespace tenon::conformance
