// SPDX-License-Identifier: MIT
//
// docs/pt2.md shows this code and what it prints.
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>

#include "support/catch.hpp"
#include "tenon/aot/compiler/edge_program_text.hpp"
#include "tenon/aot/compiler/pt2_reader.hpp"

using namespace tenon;

namespace page_test {

Status print(const std::string& path, std::ostream& out) {
  // [page]
  TENON_TRY(const aot::Pt2Program archive, aot::read_pt2(path));
  for (const aot::Pt2Method& method : archive.methods) {
    out << aot::to_text(method.program.view());
  }
  // [page]
  return ok();
}

std::string content(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

/// The lines between the marks, without their indent.
std::string shown_code(const std::string& source) {
  const std::string mark = "  // [page]\n";
  const std::size_t begin = source.find(mark) + mark.size();
  std::istringstream lines(source.substr(begin, source.find(mark, begin) - begin));
  std::string out;
  for (std::string line; std::getline(lines, line);) out += line.substr(2) + "\n";
  return out;
}

}  // namespace page_test

using namespace page_test;

TEST_CASE("the page about archives shows code that runs, and what it prints", "[pt2]") {
  const std::string page = content(TENON_TEST_ROOT "/docs/pt2.md");
  const std::string code = shown_code(content(TENON_TEST_ROOT "/tests/unit/pt2/page_test.cpp"));
  REQUIRE(code.starts_with("TENON_TRY"));
  CHECK_THAT(page, ContainsSubstring("```cpp\n" + code + "```"));
  std::ostringstream printed;
  const Status status =
      print(std::string(TENON_TEST_FIXTURES) + "/pt2/mlp_decomposed/model.pt2", printed);
  INFO(status.text());
  REQUIRE(status.ok());
  CHECK_THAT(page, ContainsSubstring("```\n" + printed.str() + "```"));
}
