// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

#include "conformance/rules/survey.hpp"

/// Writes the rules and their tests: as C++ for the kit, as a page for people.
namespace tenon::rulebook {

namespace detail {

/// `text` as literals below each other, none beyond column 100; the first begins at `indent`.
[[nodiscard]] inline std::string literals(std::string_view text, std::size_t indent) {
  const std::size_t width = 100 - indent - 3;  // Two quotes and a comma.
  std::string out, line;
  const auto finish_line = [&] {
    if (!out.empty()) out += "\n" + std::string(indent, ' ');
    out += "\"" + line + "\"";
    line.clear();
  };
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size() - 1) + 1;
    std::string word;
    for (const char c : text.substr(0, end)) {
      if (c == '"' || c == '\\') word.push_back('\\');
      word.push_back(c);
    }
    if (!line.empty() && line.size() + word.size() > width) finish_line();
    line += word;
    text.remove_prefix(end);
  }
  finish_line();
  return out;
}

[[nodiscard]] inline std::string source_of(const Rule& rule) {
  return rule.header + ":" + std::to_string(rule.line);
}

[[nodiscard]] inline std::string file_name(std::string_view path) {
  return std::string(path.substr(path.rfind('/') + 1));
}

/// A link from the page docs/reference/rules.md to a file of the repository.
[[nodiscard]] inline std::string link(const std::string& text, const std::string& path) {
  return "[" + text + "](../../" + path + ")";
}

/// The tests that can find the rule broken, for the page.
[[nodiscard]] inline std::string tests_of(const Survey& survey, const Rule& rule) {
  std::string out;
  const auto append = [&out](const std::string& item) {
    out.append(out.empty() ? "" : ", ").append(item);
  };
  for (const ConformanceTest* test : survey.tests_of(rule.id)) {
    append("\"" + test->name + "\" (" + link(file_name(test->file), test->file) + ")");
  }
  if (!out.empty()) return "Tested by " + out + ".";
  const NotObservable* exception = survey.exception_for(rule.id);
  if (rule.keeper() == Keeper::plugin && exception == nullptr) return "No test of the kit yet.";
  if (const auto files = survey.files.find(rule.id); files != survey.files.end()) {
    for (const std::string& file : files->second) append(link(file, file));
  }
  const std::string tested = out.empty() ? "No test yet." : "Tested in " + out + ".";
  if (exception == nullptr) return tested;
  return "The kit cannot observe it. " + exception->reason + " " + tested;
}

}  // namespace detail

/// include/tenon/conformance/rule_table.hpp.
[[nodiscard]] inline std::string render_table(const Survey& survey) {
  std::string out = R"(// SPDX-License-Identifier: MIT
//
// Made by `./dev rules` from include/tenon/abi; a test holds it equal to them.
#pragma once

#include <string_view>

namespace tenon::conformance {

/// One numbered rule of the boundary.
struct Rule {
  std::string_view id;        ///< "TN-EXE-2".
  std::string_view sentence;  ///< "`execute` MUST NOT write to an input."
  std::string_view source;    ///< Its place: "tenon/abi/backend.h:233".
};

namespace detail {
// clang-format off
inline constexpr Rule rule_table[] = {
)";
  for (const Rule& rule : survey.rules) {
    const std::string id = detail::literals(rule.id, 5);
    const std::string sentence = detail::literals(rule.sentence, 5);
    const std::string source = detail::literals(detail::source_of(rule), 5);
    const std::string line = "    {" + id + ", " + sentence + ", " + source + "},\n";
    const bool fits = line.size() <= 101 && std::ranges::count(line, '\n') == 1;
    const std::string gap = fits ? " " : "\n     ";
    out += "    {" + id + "," + gap + sentence + "," + gap + source + "},\n";
  }
  out += R"(};
// clang-format on
}  // namespace detail

}  // namespace tenon::conformance
)";
  return out;
}

/// docs/reference/rules.md.
[[nodiscard]] inline std::string render_page(const Survey& survey) {
  const auto of_hosts = std::ranges::count(survey.rules, Keeper::host, &Rule::keeper);
  const auto total = static_cast<std::ptrdiff_t>(survey.rules.size());
  std::string out = "# Rules of the boundary\n\n";
  out += "The contract between plugins and hosts: every MUST in\n" +
         detail::link("include/tenon/abi", "include/tenon/abi") +
         ", with the id that findings, logs and tests name. An id is never used again.\n" + "Of " +
         std::to_string(total) + " rules plugins keep " + std::to_string(total - of_hosts) +
         " and hosts " + std::to_string(of_hosts) +
         ".\n\nMade by `./dev rules` from the headers and the tests' tags; a test compares "
         "them.\n";
  std::string_view header, declaration;
  for (const Rule& rule : survey.rules) {
    if (rule.header != header) {
      header = rule.header;
      declaration = {};
      out += "\n## " + rule.header + "\n";
    }
    if (rule.declaration != declaration) {
      declaration = rule.declaration;
      out += "\n### `" + rule.declaration + "`\n";
    }
    const std::string path = "include/" + rule.header + "#L" + std::to_string(rule.line);
    const std::string name = detail::file_name(detail::source_of(rule));
    out += "\n#### " + rule.id + "\n\n" + rule.sentence + "\n\n";
    out += rule.keeper() == Keeper::host ? "Kept by the host (" : "Kept by the plugin (";
    out += detail::link(name, path) + "). " + detail::tests_of(survey, rule) + "\n";
  }
  return out;
}

}  // namespace tenon::rulebook
