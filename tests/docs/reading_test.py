# SPDX-License-Identifier: MIT
"""Compares the page that leads through the loader with its files: each file of the loader is in one table, with its lines;
a table's sum is the sum of its rows; each name in the ways to the plugin is in its file.

reading_test.py ROOT [--write]

Lines may differ a little, so that not each change of the loader is one of the page. `--write` counts them again.
"""

import pathlib
import re
import sys

PAGE = "docs/project/reading-the-loader.md"
INCLUDE = "include/tenon"
LOADER = f"{INCLUDE}/host/loader"

HEADING = re.compile(r"#+ (.*)")
FILE = re.compile(r"\| `([^`]+)` \| ([\d,]+) \| ")
SUM = re.compile(r"\| together \| ([\d,]+) \| ")
ALL = re.compile(r"All of these: ([\d,]+) files, ([\d,]+) lines\.")
STEP = re.compile(r"\| (\d+) \| `([^`]+)` \| `([^`]+)` \| ")


def number(text):
    return int(text.replace(",", ""))


def is_near(written, counted):
    return abs(written - counted) <= max(10, counted // 10)


class Page:
    """Reads the page line by line. `fixed` is the page with counted lines."""

    def __init__(self, root, text):
        self.root = root
        self.problems, self.fixed = [], []
        self.base = INCLUDE
        self.listed, self.total = [], 0  # Of the loader.
        self.sums = {"written": 0, "counted": 0}  # Of the table that is being read.
        self.steps = 0
        for self.number, line in enumerate(text.splitlines(), 1):
            self.fixed.append(self.read(line))
        self.check_all_listed()

    def wrong(self, text):
        self.problems.append(f"{PAGE}:{self.number}: {text}")

    def read(self, line):
        """The line as it is to be."""
        if heading := HEADING.match(line):
            self.steps = 0
            self.base = {"The files of the loader": LOADER, "Four ways to the plugin": INCLUDE}.get(heading[1], self.base)
        elif row := FILE.match(line):
            return self.read_file(line, row)
        elif row := SUM.match(line):
            return self.read_sum(line, row)
        elif row := ALL.match(line):
            if (number(row[1]), number(row[2])) != (len(self.listed), self.total):
                self.wrong(f"expected {len(self.listed)} files and {self.total:,} lines, the sums of the tables")
            counted = sum(self.count(path) for path in self.listed)
            return f"All of these: {len(self.listed)} files, {counted:,} lines."
        elif row := STEP.match(line):
            self.read_step(*row.groups())
        return line

    def count(self, path):
        file = self.root / path
        return len(file.read_bytes().splitlines()) if file.is_file() else 0

    def read_file(self, line, row):
        path, written = f"{self.base}/{row[1]}", number(row[2])
        counted = self.count(path)
        if not counted:
            self.wrong(f"there is no file {path}")
        elif not is_near(written, counted):
            self.wrong(f"{path} has {counted:,} lines, expected about {written:,}")
        if self.base == LOADER:
            if path in self.listed:
                self.wrong(f"{path} is in the tables twice")
            self.listed.append(path)
            self.total += written
        self.sums["written"] += written
        self.sums["counted"] += counted
        return line.replace(f"| {row[2]} |", f"| {counted:,} |", 1)

    def read_sum(self, line, row):
        if number(row[1]) != self.sums["written"]:
            self.wrong(f"expected {self.sums['written']:,}, the sum of the table")
        line = line.replace(f"| {row[1]} |", f"| {self.sums['counted']:,} |", 1)
        self.sums = {"written": 0, "counted": 0}
        return line

    def read_step(self, step, name, path):
        self.steps += 1
        file = self.root / INCLUDE / path
        if int(step) != self.steps:
            self.wrong(f"expected step {self.steps}, found {step}")
        if not file.is_file():
            self.wrong(f"there is no file {INCLUDE}/{path}")
        elif not re.search(rf"\b{re.escape(name.split('::')[-1])}\b", file.read_text(encoding="utf-8")):
            self.wrong(f"{INCLUDE}/{path} has no {name}")

    def check_all_listed(self):
        for file in sorted((self.root / LOADER).rglob("*.hpp")):
            path = file.relative_to(self.root).as_posix()
            if path not in self.listed:
                self.wrong(f"{path} is in no table")


def main():
    root = pathlib.Path(sys.argv[1])
    page = Page(root, (root / PAGE).read_text(encoding="utf-8"))
    if "--write" in sys.argv:
        (root / PAGE).write_text("\n".join(page.fixed) + "\n", encoding="utf-8")
        page = Page(root, (root / PAGE).read_text(encoding="utf-8"))
    for problem in page.problems:
        print(f"not ok: {problem}")
    print(f"{len(page.listed)} files, {page.total:,} lines, {len(page.problems)} problems")
    sys.exit(1 if page.problems or not page.listed else 0)


if __name__ == "__main__":
    main()
