# SPDX-License-Identifier: MIT
"""Reads the Markdown pages of the repository: their code blocks, headings and links.

It reads the part of CommonMark that the pages use: fenced blocks, blocks that are indented by
four spaces after an empty line, headings with `#`, inline links and link definitions.
"""

import dataclasses
import pathlib
import re

FOLDERS = ("docs", "examples", "include", "reference_backends", "templates", "tests")

FENCE = re.compile(r"( *)(`{3,}|~{3,})\s*([^`]*)$")
HEADING = re.compile(r"#{1,6}\s+(.*?)\s*#*\s*$")
CODE_SPAN = re.compile(r"(`+)(?!`)(.+?)(?<!`)\1(?!`)", re.DOTALL)
LINK = re.compile(r"!?\[(?:[^\[\]]|\[[^\]]*\])*\]\(\s*<?([^\s)>]+)>?(?:\s+\"[^\"]*\")?\s*\)")
DEFINITION = re.compile(r"\s{0,3}\[[^\]]+\]:\s*<?(\S+?)>?(?:\s|$)")
COMMENT = re.compile(r"\s*<!--\s*(.*?)\s*-->\s*$")


@dataclasses.dataclass
class Block:
    """One block of code."""

    page: pathlib.Path
    line: int  # of its first line of code
    language: str  # the text after the fence, "" for none and for indented blocks
    comment: str  # the HTML comment on the line before it, or ""
    text: str

    def __str__(self):
        return f"{self.page}:{self.line}"


@dataclasses.dataclass
class Page:
    path: pathlib.Path
    blocks: list
    anchors: set
    links: list  # (line, target)


def find_pages(root):
    """Paths of all pages, sorted, without build directories and fetched sources."""
    found = list(root.glob("*.md"))
    for folder in FOLDERS:
        found += (root / folder).rglob("*.md")
    return sorted(found)


def anchor_of(heading):
    """The name that GitHub gives to a heading."""
    heading = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", heading)
    heading = re.sub(r"(?<!\w)[*_]+|[*_]+(?!\w)", "", heading)  # emphasis
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


class Reader:
    def __init__(self, path, text):
        self.lines = text.splitlines()
        self.page = Page(path, [], set(), [])
        self.comment = ""
        self.paragraph = []  # (line, text) of the lines so far

    def read(self):
        at = 0
        while at < len(self.lines):
            line = self.lines[at]
            if fence := FENCE.match(line):
                self.end_paragraph()
                at = self.read_fenced(at, fence)
            elif line.startswith("    ") and self.is_start_of_indented(at):
                self.end_paragraph()
                at = self.read_indented(at)
            else:
                self.read_text(at + 1, line)
                at += 1
        self.end_paragraph()
        return self.page

    def add_block(self, line, language, lines):
        text = "".join(line + "\n" for line in lines)
        self.page.blocks.append(Block(self.page.path, line, language, self.comment, text))
        self.comment = ""

    def read_fenced(self, at, fence):
        indent, ticks, language = len(fence[1]), fence[2], fence[3].strip()
        end = at + 1
        while end < len(self.lines) and not self.lines[end].lstrip().startswith(ticks):
            end += 1
        lines = [re.sub(rf"^ {{0,{indent}}}", "", line) for line in self.lines[at + 1:end]]
        self.add_block(at + 2, language, lines)
        return end + 1

    def is_start_of_indented(self, at):
        before = next((line for line in reversed(self.lines[:at]) if line.strip()), "")
        in_list = re.match(r"\s*([-*+]|\d+\.)\s", before) or before.startswith("  ")
        return (at == 0 or not self.lines[at - 1].strip()) and not in_list

    def read_indented(self, at):
        end = at
        while end < len(self.lines) and (
            self.lines[end].startswith("    ") or not self.lines[end].strip()
        ):
            end += 1
        lines = [line[4:] for line in self.lines[at:end]]
        while lines and not lines[-1].strip():
            lines.pop()
        self.add_block(at + 1, "", lines)
        return end

    def read_text(self, number, line):
        if heading := HEADING.match(line):
            self.add_anchor(anchor_of(heading[1]))
        for name in re.findall(r"<a (?:id|name)=\"([^\"]+)\"", line):
            self.page.anchors.add(name)
        if not line.strip() or heading or line.startswith("|"):
            self.end_paragraph()
        self.paragraph.append((number, line))
        if definition := DEFINITION.match(line):
            self.page.links.append((number, definition[1]))
        comment = COMMENT.match(line)
        self.comment = comment[1] if comment else ""

    def end_paragraph(self):
        """Links may begin on one line and end on the next; code has none."""
        text = "\n".join(line for _, line in self.paragraph)
        text = CODE_SPAN.sub(lambda span: re.sub(r"[^\n]", " ", span[0]), text)
        for link in LINK.finditer(text):
            number, _ = self.paragraph[text.count("\n", 0, link.start())]
            self.page.links.append((number, link[1]))
        self.paragraph = []

    def add_anchor(self, anchor):
        name, count = anchor, 0
        while name in self.page.anchors:
            count += 1
            name = f"{anchor}-{count}"
        self.page.anchors.add(name)


def read_page(path):
    """The page at `path`."""
    return Reader(path, path.read_text(encoding="utf-8")).read()
