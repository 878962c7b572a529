// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "kit/fixtures/loaded_plugin.hpp"
#include "kit/suites/suite.hpp"
#include "tenon/conformance/test.hpp"
#include "tenon/core/struct_size.hpp"
#include "tenon/host/layers/inspect/binary_lint.hpp"
#include "tenon/host/layers/inspect/elf_library.hpp"
#include "tenon/host/loader/plugin/peek.hpp"
#include "tenon/host/platform/trusted_path.hpp"

/// Suite "binary": the file, before any of its code runs and after it is loaded.
namespace tenon { inline namespace TENON_RELEASE { namespace conformance {

TENON_KIT_SUITE(binary)

namespace {

/// The rule that a check of the lint judges; empty for a check without a rule.
[[nodiscard]] constexpr std::string_view rule_of_lint(std::string_view id) noexcept {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 9> rules = {{
      {"TN-BIN-1", "TN-BIN-1"},
      {"TN-BIN-2", "TN-BIN-2"},
      {"no-gnu-unique", "TN-BIN-10"},
      {"no-nodelete", "TN-BIN-10"},
      {"run-path", "TN-BIN-12"},
      {"needed-names", "TN-BIN-12"},
      {"nx-stack", "TN-BIN-12"},
      {"no-writable-code", "TN-BIN-12"},
      {"no-textrel", "TN-BIN-12"},
  }};
  for (const auto& [check, rule] : rules) {
    if (check == id) return rule;
  }
  return {};
}

/// The rule in parentheses at the end of a text: "... (TN-BIN-4)"; empty for none.
[[nodiscard]] std::string_view rule_in(std::string_view text) noexcept {
  const std::size_t open = text.rfind("(TN-");
  if (open == std::string_view::npos || !text.ends_with(')')) return {};
  return text.substr(open + 1, text.size() - open - 2);
}

}  // namespace

TENON_CONFORMANCE_TEST("binary/contains-nothing-forbidden",
                       "the file shows nothing that a plugin must not have",
                       "[binary][level-1][plugin][TN-BIN-1][TN-BIN-2][TN-BIN-10][TN-BIN-12]") {
  const auto file = kit.need(host::open_file(kit.plugin(), host::Trust::caller), "the file");
  const auto library = host::with_bytes(
      file, [](std::span<const std::byte> bytes) { return host::read_elf_library(bytes); });
  // These checks do not apply to Mach-O and PE.
  if (!library.ok()) kit.not_applicable("not an ELF library: ", library.text());
  for (const host::LintResult& check : host::lint_plugin(*library)) {
    const std::string_view rule = rule_of_lint(check.id);
    if (rule.empty() || check.verdict != host::Verdict::fail) continue;
    kit.violated(rule, check.title, ": ", check.text);
  }
}

TENON_CONFORMANCE_TEST("binary/record-is-readable", "a host reads the record from the file",
                       "[binary][level-1][plugin][TN-BIN-4][TN-BIN-5][TN-BIN-6][TN-BIN-7]"
                       "[TN-BIN-8][TN-BIN-9][TN-BIN-14]") {
  const auto record = host::peek(kit.plugin());
  if (record.ok()) return;
  const std::string_view rule = rule_in(record.text());
  if (rule.empty()) kit.blocked(record.text());
  kit.violated(rule, record.text());
}

TENON_CONFORMANCE_TEST("binary/finds-every-symbol",
                       "every symbol is found when the library is loaded",
                       "[binary][level-1][plugin][TN-BIN-11]") {
  auto file = kit.need(host::open_file(kit.plugin(), host::Trust::caller), "the file");
  if (const auto record = host::peek(file); !record.ok()) kit.blocked(record.text());
  const auto library = host::Library::load(std::move(file));
  kit.expect("TN-BIN-11", library.ok(), library.text());
}

TENON_CONFORMANCE_TEST("binary/memory-matches-file",
                       "in memory the plugin describes itself as in the file",
                       "[binary][level-1][plugin][TN-BIN-3]") {
  const LoadedPlugin plugin = kit.need(LoadedPlugin::load(kit.plugin()), "the plugin");
  const std::span object(reinterpret_cast<const std::byte*>(&plugin.head()),
                         plugin.head().object_size);
  const auto in_memory = host::read_record(object, "in memory");
  if (!kit.expect("TN-BIN-3", in_memory.ok(), in_memory.text())) return;
  kit.expect("TN-BIN-3", *in_memory == plugin.record(), "the file says ", plugin.record().name, " ",
             plugin.record().version, " with ", plugin.record().backends.size(),
             " backends, memory ", in_memory->name, " ", in_memory->version, " with ",
             in_memory->backends.size(), "; or other fields differ");
}

TENON_CONFORMANCE_TEST("binary/table-per-backend",
                       "the body has a table for each backend of the head",
                       "[binary][level-1][plugin][TN-BIN-13]") {
  const LoadedPlugin plugin = kit.need(LoadedPlugin::load(kit.plugin()), "the plugin");
  const tenon_plugin_body& body = plugin.body();
  if (!kit.expect("TN-BIN-13", TENON_HAS_MEMBER(body, backends), "the body says it has ",
                  body.struct_size, " bytes, expected at least ", sizeof body)) {
    return;
  }
  kit.expect("TN-BIN-13", body.num_backends == plugin.head().num_backends, "the head says ",
             plugin.head().num_backends, " backends, the body ", body.num_backends);
  if (!kit.expect("TN-BIN-13", body.backends != nullptr, "`backends` is null")) return;
  for (std::uint32_t i = 0; i < std::min(body.num_backends, plugin.head().num_backends); ++i) {
    kit.expect("TN-BIN-13", body.backends[i] != nullptr, "the table of backend ", i, " is null");
  }
}

}}}  // namespace tenon::TENON_RELEASE::conformance
