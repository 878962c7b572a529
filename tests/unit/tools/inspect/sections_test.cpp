// SPDX-License-Identifier: MIT
#include "sections.hpp"

#include <string>
#include <utility>

#include "support/catch.hpp"

TEST_CASE("a control character in any piece of a section is an escape") {
  tenon::Sections sections(false);
  sections.title("a\x1b[2J");
  sections.line("b\x1b[2J", 7);
  sections.styled_line("c\x1b[2J", tenon::Style::bad, "d\x1b[2J");
  CHECK(std::move(sections).take() ==
        "a\\x1b[2J\n"
        "  b\\x1b[2J7\n"
        "  c\\x1b[2J  d\\x1b[2J\n");
}
