// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

#include "conformance/rules/survey.hpp"

/// Writes the rules as C++ for the kit, and the ids of its tests.
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

}  // namespace detail

/// tests/conformance/kit/verdict/rule_table.hpp.
[[nodiscard]] inline std::string render_table(const Survey& survey) {
  std::string out = R"(// SPDX-License-Identifier: MIT
//
// Made by `./dev rules` from include/tenon/abi; a test holds it equal to them.
#pragma once

#include <string_view>

#include "tenon/abi/version.h"

namespace tenon::inline TENON_RELEASE::conformance {

/// One numbered rule of the boundary.
struct Rule {
  std::string_view id;        ///< "TN-EXE-2".
  std::string_view sentence;  ///< "`execute` MUST NOT write to an input."
  std::string_view source;    ///< Its place: "tenon/abi/backend.h: tenon_backend_api.execute".
};

namespace detail {
// clang-format off
inline constexpr Rule rule_table[] = {
)";
  for (const Rule& rule : survey.rules) {
    const std::string id = detail::literals(rule.id, 5);
    // The sentence begins behind the id, and the source below it.
    const std::size_t indent = 5 + id.size() + 2;
    const std::string sentence = detail::literals(rule.sentence, indent);
    const std::string source = detail::literals(rule.header + ": " + rule.declaration, indent);
    const std::string line = "    {" + id + ", " + sentence + ", " + source + "},\n";
    const bool fits = line.size() <= 101 && std::ranges::count(line, '\n') == 1;
    const std::string gap = fits ? " " : "\n" + std::string(indent, ' ');
    out += "    {" + id + ", " + sentence + "," + gap + source + "},\n";
  }
  out += R"(};
// clang-format on
}  // namespace detail

}  // namespace tenon::inline TENON_RELEASE::conformance
)";
  return out;
}

/// tests/conformance/kit/verdict/test_table.hpp.
[[nodiscard]] inline std::string render_tests(const Survey& survey) {
  std::string out = R"(// SPDX-License-Identifier: MIT
//
// Made by `./dev rules` from the suites of the kit; a test holds it equal to them.
#pragma once

#include <string_view>

#include "tenon/conformance/test.hpp"

namespace tenon::inline TENON_RELEASE::conformance {

/// One test of the kit, for readers of reports, who have no suites.
struct KitTest {
  std::string_view id;     ///< "arguments/leaves-inputs-unchanged".
  int level;               ///< The lowest that runs it.
  Scope scope;             ///< Once, for each backend or case.
  std::string_view rules;  ///< "TN-EXE-2 TN-EXE-3".
};

namespace detail {
// clang-format off
inline constexpr KitTest test_table[] = {
)";
  for (const ConformanceTest& test : survey.tests) {
    std::string scope = "plugin", level = "1", rules;
    for (const std::string& tag : test.tags) {
      if (tag == "backend") scope = tag;
      if (tag == "case") scope = "of_case";
      if (tag.starts_with("level-")) level = tag.substr(6);
      if (tag.starts_with("TN-")) rules += (rules.empty() ? "" : " ") + tag;
    }
    const std::string head = "    {\"" + test.id + "\", " + level + ", Scope::" + scope + ",";
    const std::string tail = detail::literals(rules, 5) + "},";
    const bool fits = head.size() + 1 + tail.size() <= 100 && std::ranges::count(tail, '\n') == 0;
    out += head + (fits ? " " : "\n     ") + tail + "\n";
  }
  out += R"(};
// clang-format on
}  // namespace detail

}  // namespace tenon::inline TENON_RELEASE::conformance
)";
  return out;
}

/// tests/conformance/test_ids.txt.
[[nodiscard]] inline std::string render_ids(const Survey& survey) {
  std::string out =
      "# The id and the name of each test of the kit. Subject files, baselines and command lines\n"
      "# name tests by their ids, so an id that was released never changes; a test may get "
      "another\n"
      "# name. Made by `./dev rules` from the suites; a test compares them.\n";
  for (const ConformanceTest& test : survey.tests) out += test.id + ": " + test.name + "\n";
  return out;
}

}  // namespace tenon::rulebook
