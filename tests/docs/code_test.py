#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The code in the pages is code that is compiled. A block is preceded by a comment that says where
its text comes from,

    <!-- code: docs/snippets/smooth.cpp -->            the whole file
    <!-- code: docs/snippets/smooth.cpp [init] -->     the text between two lines `// [init]`
    <!-- diff: docs/snippets/a.cpp docs/snippets/b.cpp -->  what makes the second of the first

and is that text. Each block of C or C++ has one, and the build compiles each source that is named; blocks of other
languages may have one. Blocks of the language diff have one too.

usage: code_test.py ROOT COMPILED_SOURCE...
       code_test.py ROOT --write               puts the sources into the pages
"""

import difflib
import pathlib
import re
import sys
import tempfile
import textwrap
import unittest

from pages import find_pages, read_page

root = pathlib.Path(sys.argv[1]).resolve()
compiled = {pathlib.Path(source).resolve() for source in sys.argv[2:]}

COMPILED_LANGUAGES = {"c", "c++", "cc", "cpp"}
# README.md has a test of its own (readme_test.py); templates are built by theirs.
LEFT_OUT = {root / "README.md"}

ORIGIN = re.compile(r"code: (\S+?)(?: \[([\w-]+)\])?")
DIFF = re.compile(r"diff: (\S+) (\S+)")
MARK = re.compile(r"\s*(?://|#) \[([\w-]+)\]\s*")


def without_marks(text):
    return "".join(line for line in text.splitlines(True) if not MARK.fullmatch(line.rstrip("\n")))


def parts_of(text):
    """The text between the two lines of each mark, without other marks and indentation."""
    lines = text.splitlines(True)
    at = {}
    for number, line in enumerate(lines):
        if mark := MARK.fullmatch(line.rstrip("\n")):
            at.setdefault(mark[1], []).append(number)
    parts = {}
    for name, places in at.items():
        if len(places) != 2:
            raise ValueError(f"[{name}] is on {len(places)} lines, expected 2")
        first, last = places
        parts[name] = textwrap.dedent(without_marks("".join(lines[first + 1:last])))
    return parts


def text_from(comment, read):
    """The code that a block with this comment has to be."""
    if diff := DIFF.fullmatch(comment):
        before, after = (read(path).splitlines(True) for path in diff.groups())
        return "".join(difflib.unified_diff(before, after, *diff.groups()))
    path, mark = ORIGIN.fullmatch(comment).groups()
    return parts_of(read(path))[mark] if mark else without_marks(read(path))


def sources_of(comment):
    """The sources that a comment names."""
    if diff := DIFF.fullmatch(comment):
        return list(diff.groups())
    origin = ORIGIN.fullmatch(comment)
    return [origin[1]] if origin else []


def problem_of(block, read, is_compiled):
    """The problem of a block, or None. `read` returns the text of a path from the root."""
    paths = sources_of(block.comment)
    if not paths:
        if block.language in COMPILED_LANGUAGES:
            return "has no comment `<!-- code: FILE -->` before it"
        if block.language == "diff":
            return "has no comment `<!-- diff: FILE FILE -->` before it"
        return None
    for path in paths if block.language in COMPILED_LANGUAGES or block.language == "diff" else ():
        if not is_compiled(path):
            return f"{path} is not compiled by the build"
    try:
        expected = text_from(block.comment, read)
    except (OSError, KeyError, ValueError) as failure:
        return f"{block.comment}: {failure!r}"
    if block.text != expected:
        return f"differs from {block.comment}, which has\n{expected}"
    return None


def checked_pages():
    paths = [path for path in find_pages(root) if path not in LEFT_OUT]
    return [path for path in paths if root / "templates" not in path.parents]


def read_source(path):
    return (root / path).read_text(encoding="utf-8")


def write_pages():
    for path in checked_pages():
        lines = path.read_text(encoding="utf-8").splitlines(True)
        for block in reversed(read_page(path).blocks):
            if sources_of(block.comment):
                first = block.line - 1
                last = first + len(block.text.splitlines())
                lines[first:last] = [text_from(block.comment, read_source)]
        path.write_text("".join(lines), encoding="utf-8")


class Pages(unittest.TestCase):
    def setUp(self):
        self.blocks = [block for path in checked_pages() for block in read_page(path).blocks]

    def test_blocks_are_what_is_compiled(self):
        for block in self.blocks:
            with self.subTest(str(block)):
                self.assertIsNone(
                    problem_of(block, read_source, lambda path: root / path in compiled)
                )
        num_compiled = sum(block.language in COMPILED_LANGUAGES for block in self.blocks)
        self.assertGreater(num_compiled, 15)

    def test_each_part_of_a_snippet_is_shown(self):
        shown = {block.comment for block in self.blocks}
        for path in sorted((root / "docs/snippets").iterdir()):
            name = path.relative_to(root)
            with self.subTest(str(name)):
                parts = parts_of(path.read_text(encoding="utf-8"))
                unused = [part for part in parts if f"code: {name} [{part}]" not in shown]
                self.assertEqual(unused, [])

    def test_each_snippet_is_compiled(self):
        there = {path for path in (root / "docs/snippets").glob("*.cpp")}
        self.assertEqual(there - compiled, set())


class WrongBlocks(unittest.TestCase):
    """The test finds wrong blocks."""

    SOURCE = "int a;\n  // [one]\n  int b;\n  // [two]\n    int c;\n  // [one]\n  // [two]\n"

    def problem(self, page):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "page.md"
            path.write_text(page)
            [block] = read_page(path).blocks
        files = {"x.cpp": self.SOURCE, "y.cpp": "int a;\n", "not_built.cpp": "int a;\n"}

        def read(name):
            if name not in files:
                raise FileNotFoundError(name)
            return files[name]

        return problem_of(block, read, lambda name: name in ("x.cpp", "y.cpp"))

    def test_what_is_right(self):
        for page in (
            "<!-- code: x.cpp [one] -->\n```cpp\nint b;\n  int c;\n```\n",
            "<!-- code: x.cpp [two] -->\n```cpp\nint c;\n```\n",
            "<!-- code: x.cpp -->\n```cpp\nint a;\n  int b;\n    int c;\n```\n",
            "```json\n{}\n```\n",
            "<!-- diff: x.cpp y.cpp -->\n```diff\n--- x.cpp\n+++ y.cpp\n@@ -1,7 +1 @@\n int a;\n-  // [one]\n-  int b;\n"
            "-  // [two]\n-    int c;\n-  // [one]\n-  // [two]\n```\n",
        ):
            with self.subTest(page):
                self.assertIsNone(self.problem(page))

    def test_what_is_wrong(self):
        for page, text in (
            ("```cpp\nint a;\n```\n", "no comment"),
            ("<!-- code: x.cpp [two] -->\n```cpp\nint d;\n```\n", "differs"),
            ("<!-- code: x.cpp [gone] -->\n```cpp\nint a;\n```\n", "gone"),
            ("<!-- code: gone.cpp -->\n```json\n{}\n```\n", "gone.cpp"),
            ("<!-- code: not_built.cpp -->\n```cpp\nint a;\n```\n", "not compiled"),
            ("```diff\n-int a;\n```\n", "no comment"),
            ("<!-- diff: x.cpp y.cpp -->\n```diff\n-int a;\n```\n", "differs"),
            ("<!-- diff: x.cpp not_built.cpp -->\n```diff\n-int a;\n```\n", "not compiled"),
        ):
            with self.subTest(page):
                self.assertIn(text, self.problem(page))

    def test_a_mark_that_is_not_closed(self):
        with self.assertRaisesRegex(ValueError, "1 lines"):
            parts_of("// [one]\nint a;\n")


if __name__ == "__main__":
    if sys.argv[2:] == ["--write"]:
        write_pages()
        sys.exit()
    unittest.main(argv=sys.argv[:1], verbosity=2)
