#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A page has at most 1,500 words besides its code, and all pages of docs together at most
95,000, code and bars of tables too, as `wc -w` counts. Pages that are looked up, and not read from the beginning to the
end, may be longer.

usage: length_test.py ROOT
"""

import pathlib
import re
import sys
import tempfile
import unittest

from pages import read_page

root = pathlib.Path(sys.argv[1]).resolve()

OF_A_PAGE, IN_ALL = 1_500, 95_000
# Made from sources, which decide their length.
MADE = ("docs/aoti/functions.md", "docs/reference/rules.md")
LOOKED_UP = (*MADE, "docs/project/decisions.md", "docs/project/reading-the-loader.md", "docs/python/reference.md",
             "docs/reference/layout.md")


def words(text):
    """Bars of tables and marks of lists are no words."""
    return sum(bool(re.search(r"\w", word)) for word in text.split())


def prose(path):
    """The words of a page besides its code."""
    return words(path.read_text(encoding="utf-8")) - sum(words(f"{block.text} {block.language}") for block in read_page(path).blocks)


def problems(base, of_a_page=OF_A_PAGE, in_all=IN_ALL):
    pages = {path.relative_to(base).as_posix(): path for path in [base / "README.md", *sorted((base / "docs").rglob("*.md"))]}
    for place, path in pages.items():
        if place not in LOOKED_UP and (count := prose(path)) > of_a_page:
            yield f"{place} has {count} words besides its code, expected at most {of_a_page}"
    count = sum(len(path.read_text(encoding="utf-8").split()) for place, path in pages.items()
                if place not in (*MADE, "README.md"))
    if count > in_all:
        yield f"docs has {count} words, expected at most {in_all}"


class Lengths(unittest.TestCase):
    def test_pages_are_short(self):
        self.assertEqual(list(problems(root)), [])

    def test_pages_that_may_be_long_are_there(self):
        self.assertEqual([place for place in LOOKED_UP if not (root / place).is_file()], [])

    def test_a_long_page_is_found(self):
        with tempfile.TemporaryDirectory(prefix="tenon-length-") as folder:
            base = pathlib.Path(folder)
            (base / "docs/reference").mkdir(parents=True)
            (base / "README.md").write_text("# One two\n\n| a | b |\n|---|---|\n\n```sh\nc d e f\n```\n\n- g\n")
            (base / "docs/reference/layout.md").write_text("a b c d e f g h\n")
            self.assertEqual(list(problems(base, 5, 8)), [])
            self.assertEqual(list(problems(base, 5, 7)), ["docs has 8 words, expected at most 7"])
            self.assertEqual(list(problems(base, 4, 8)), ["README.md has 5 words besides its code, expected at most 4"])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
