#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Links in all pages lead to an existing file of this repository, heading or line. Links to the network are not
followed. The pages that are made from sources are up to date; --write makes them.

usage: links_test.py ROOT [--write]
"""

import pathlib
import re
import sys
import tempfile
import unittest
import urllib.parse

from pages import find_pages, read_page

root = pathlib.Path(sys.argv[1]).resolve()
sys.path.insert(0, str(root / "docs/site"))

import build  # noqa: E402

# Sources that name a page by its path from the root.
MENTION = re.compile(r"\bdocs/[\w/-]+\.md\b")
SOURCES = {".c", ".cpp", ".cu", ".h", ".hpp", ".md", ".mm", ".py", ".json", ".fbs"}


class Checker:
    def __init__(self, base):
        self.base = base
        self.pages = {path: read_page(path) for path in find_pages(base)}
        self.num_links = 0

    def problems(self):
        for path, page in self.pages.items():
            for line, target in page.links:
                self.num_links += 1
                if problem := self.problem(path, target):
                    yield f"{path.relative_to(self.base)}:{line}: {target}: {problem}"

    def problem(self, path, target):
        """The problem of a link, or None."""
        parts = urllib.parse.urlsplit(target)
        if parts.scheme in ("http", "https"):
            return None if parts.netloc else "a URL without a host"
        if parts.scheme:
            return f"the scheme {parts.scheme} is not for pages"
        goal = path
        if parts.path:
            goal = (path.parent / urllib.parse.unquote(parts.path)).resolve()
            if self.base not in [goal, *goal.parents]:
                return "leads out of the repository"
            if goal not in self.pages and not goal.exists():
                return "there is no such file"
        if not parts.fragment:
            return None
        if goal in self.pages:
            anchors = self.pages[goal].anchors
            return None if parts.fragment in anchors else "the page has no such heading"
        number = re.fullmatch(r"L(\d+)", parts.fragment)
        if not number or not goal.is_file():
            return "only pages have headings"
        num_lines = len(goal.read_text(encoding="utf-8").splitlines())
        return None if 1 <= int(number[1]) <= num_lines else f"the file has {num_lines} lines"


class Repository(unittest.TestCase):
    def test_pages_that_are_made_from_sources_are_those_of_today(self):
        for place, text in build.generated_pages(root).items():
            with self.subTest(place):
                self.assertEqual((root / place).read_text(encoding="utf-8"), text, "run links_test.py ROOT --write")

    def test_links_lead_somewhere(self):
        checker = Checker(root)
        self.assertEqual(list(checker.problems()), [])
        self.assertGreater(checker.num_links, 100)

    def test_every_page_is_in_the_index(self):
        index = read_page(root / "docs/README.md")
        listed = {target.split("#")[0] for _, target in index.links}
        pages = {path.relative_to(root / "docs") for path in (root / "docs").rglob("*.md")}
        there = {str(path) for path in pages if path.parts[0] not in ("README.md", "site")}
        self.assertEqual(there - listed, set(), "docs/README.md does not name them")

    def test_the_site_has_the_sections_pages_and_titles_of_the_index(self):
        shown, sections = {}, (root / "docs/site/mkdocs.yml").read_text().split("\nnav:\n")[1]
        for line in sections.splitlines():
            if name := re.fullmatch(r"  - ([^:]+):", line):
                pages = shown.setdefault(name[1], [])
            elif page := re.search(r'- "?(.+?)"?: (\S+\.md)$', line):
                if page[2] not in ("index.md", "readme.md", "pages.md", "changelog.md") and not page[2].startswith("api/"):
                    pages.append((page[1], page[2]))
        listed = {}
        for line in (root / "docs/README.md").read_text().splitlines():
            if line.startswith("## "):
                pages = listed.setdefault(line[3:], [])
            elif page := re.match(r"- \[([^]]+)\]\(([^)#]+\.md)\)", line):
                pages.append((page[1], page[2]))
        self.assertEqual({name: pages for name, pages in listed.items() if pages},
                         {name: pages for name, pages in shown.items() if pages})

    def test_pages_that_sources_speak_of_are_there(self):
        missing = []
        for folder in ("include", "examples", "reference_backends", "templates", "tests", "docs"):
            for path in (root / folder).rglob("*"):
                if path.suffix not in SOURCES or not path.is_file() or path.samefile(__file__):
                    continue
                for page in MENTION.findall(path.read_text(encoding="utf-8")):
                    # A template names its own pages, by paths from its root.
                    places = [root, *(p for p in path.parents if root in p.parents)]
                    if not any((place / page).exists() for place in places):
                        missing.append(f"{path.relative_to(root)}: {page}")
        self.assertEqual(missing, [])


class BrokenPages(unittest.TestCase):
    """The checker finds broken links."""

    def check(self, text, others=()):
        with tempfile.TemporaryDirectory() as folder:
            base = pathlib.Path(folder).resolve()
            (base / "docs").mkdir()
            (base / "docs/page.md").write_text(text)
            (base / "docs/made.md").write_text("## A made page\n")
            (base / "docs/source.c").write_text("one\ntwo\n")
            for name, content in others:
                (base / "docs" / name).write_text(content)
            return list(Checker(base).problems())

    def test_good_links(self):
        text = (
            "# A `name`, and more\n\n[a](#a-name-and-more) [b](source.c) [c](source.c#L2)\n"
            "[d](https://example.org/x#y) [e](other.md#one-two) [f]\n\n[f]: other.md\n"
        )
        self.assertEqual(self.check(text, [("other.md", "## One _two_\n")]), [])

    def test_a_second_heading_of_one_name_has_a_number(self):
        self.assertEqual(self.check("# Use\n# Use\n[a](#use) [b](#use-1)\n"), [])
        self.assertEqual(len(self.check("# Use\n# Use\n[a](#use-2)\n")), 1)

    def test_headings_of_another_page_are_found(self):
        self.assertEqual(self.check("[a](made.md) [b](made.md#a-made-page)\n"), [])
        self.assertEqual(
            self.check("[a](made.md#part)\n"), ["docs/page.md:1: made.md#part: the page has no such heading"]
        )

    def test_what_is_missing_is_named(self):
        for link, text in (
            ("gone.md", "no such file"),
            ("#gone", "no such heading"),
            ("other.md#gone", "no such heading"),
            ("source.c#L3", "has 2 lines"),
            ("source.c#two", "only pages"),
            ("../../etc/passwd", "out of the repository"),
            ("https:///x", "without a host"),
            ("file:///x", "scheme file"),
        ):
            with self.subTest(link):
                found = self.check(f"[x]({link})\n", [("other.md", "# One\n")])
                self.assertEqual(len(found), 1, found)
                self.assertIn(text, found[0])
                self.assertTrue(found[0].startswith("docs/page.md:1: "), found[0])

    def test_a_link_may_be_broken_into_lines(self):
        found = self.check("one\n\ntwo [a\nb](gone.md)\n")
        self.assertEqual(found, ["docs/page.md:3: gone.md: there is no such file"])

    def test_code_has_no_links(self):
        text = "`[a](gone)` and `[a]\n(gone)`\n\n```cpp\n[](int) {}(1);\n```\n\n    [b](gone)\n"
        self.assertEqual(self.check(text), [])


def write():
    """Makes the pages that are made from sources."""
    for place, text in build.generated_pages(root).items():
        (root / place).write_text(text, encoding="utf-8")
        print(f"wrote {place}")


if __name__ == "__main__":
    if "--write" in sys.argv:
        write()
        sys.exit()
    unittest.main(argv=sys.argv[:1], verbosity=2)
