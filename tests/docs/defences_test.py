#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Each promise of docs/SECURITY.md names its tests, and each of them exists.

usage: defences_test.py ROOT
"""

import pathlib
import re
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from lint.problems import leave  # noqa: E402  pylint: disable=wrong-import-position

TABLE = re.compile(r"^\| promise \| how \| tests \|\n\|---\|---\|---\|\n((?:\|.*\n)+)", re.M)
# A Catch2 case, or a test of Meson or a row of a table of such; the name may begin on the line behind.
CASE = re.compile(r'TEST_CASE\(\s*((?:"(?:[^"\\]|\\.)*"\s*)+)')
LITERAL = re.compile(r'"((?:[^"\\]|\\.)*)"')
MESON = re.compile(r"(?:\btest\(\s*|\n  )'((?:[^'\\]|\\.)* (?:[^'\\]|\\.)*)'(?=[:,])")


def find_tests(root):
    names = set()
    for path in sorted((root / "tests").rglob("*.cpp")):
        for match in CASE.finditer(path.read_text(errors="replace")):
            names.add("".join(LITERAL.findall(match[1])))
    for path in sorted((root / "tests").rglob("meson.build")):
        names.update(MESON.findall(path.read_text()))
    for path in sorted((root / "tests/conformance/zoo").glob("*.c")):
        names.update(f"zoo: {name}" for name in re.findall(r"^#ifdef ZOO_(\w+)$", path.read_text(), re.M))
    return names


def problems(page, tests):
    table = TABLE.search(page)
    if not table:
        return ["there is no table of promises with the columns promise, how and tests"]
    out = []
    for row in table[1].splitlines():
        promise, _, last = row.strip("| ").rpartition("|")
        names = LITERAL.findall(last)
        what = promise.split("|")[0].strip()
        if not names:
            out.append(f"{what}: names no test")
        out += [f"{what}: there is no test '{name}'" for name in names if name not in tests]
    return out


def main():
    root = pathlib.Path(sys.argv[1])
    tests = find_tests(root)
    page = (root / "docs/SECURITY.md").read_text()
    found = problems(page, tests)
    # The check itself must be able to fail.
    broken = "| promise | how | tests |\n|---|---|---|\n| a | b | \"no such test\" |\n| c | d | |\n"
    if len(problems(broken, tests)) != 2 or len(problems("", tests)) != 1 or len(tests) < 1000:
        found.append("the check finds nothing in a table that is wrong, or too few tests")
    leave(found, f"{len(tests)} tests, {len(found)} problems")


if __name__ == "__main__":
    main()
