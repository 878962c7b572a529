# SPDX-License-Identifier: MIT
"""Holds the sources to what they promise about themselves.

* The boundary (include/tenon/abi): a function pointer that differs from what abi/tenon.h says of all has brackets in its
  closed vocabulary.
* Every source: the licence comes first, no file and no directory grows beyond what a reader takes
  in, nothing is left for later, and rules that are referred to exist. A namespace of the release is in the form that ctags
  reads.
* What Windows' programs are built from: no waits on atomics, nor classes that wait so.
* CHANGELOG.md: each item is a whole sentence.

The rules themselves, and which tests name them, are checked by tests/conformance/rules.
"""

import pathlib
import re
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "conformance/kit/verdict"))

import rulebook  # noqa: E402  pylint: disable=wrong-import-position
from problems import leave  # noqa: E402  pylint: disable=wrong-import-position

MAX_LINES = 600
MAX_FILES = 25
# With more files: one for each case, or data.
LARGE_FOLDERS = ("tests/conformance/cases", "tests/conformance/zoo", "tests/fixtures")
SUFFIXES = {".h", ".hpp", ".c", ".cpp", ".cu", ".mm", ".py", ".fbs", ".sh"}
NAMES = ("meson.build", "tenon-plugin.map", ".cpp.in")
FOLDERS = ["include", "examples", "tests", "templates", "reference_backends", "docs"]
ROOT_SCRIPTS = ["CMakeLists.txt", "meson.build", "dev", ".ci/run"]

RULE = re.compile(r"TN-[A-Z]{3}-[0-9]+")
# Split, so that this file does not contain what it looks for.
UNFINISHED = re.compile(r"\bTO" r"DO\b|\bFIX" r"ME\b|\bXX" r"X\b|\bfor " r"now\b", re.I)
# ctags finds no function behind it.
UNREAD_NAMESPACE = re.compile(r"\bnamespace tenon::" r"inline\b")
# Before GCC 16 they miss what wakes them where the system has no futex: see RunControl::await_notified.
ATOMIC_WAIT = re.compile(r"#include <(?:barrier|latch|semaphore)>|\batomic_(?:wait|notify_)|\.wait\([^;]*\bmemory_order")
ON_WINDOWS = ("include/", "tests/conformance/kit/", "examples/programs/common/", "examples/backends/")

# Threads, ownership, errors; what is said of all functions is left out.
BRACKETS = re.compile(
    r"\[(?:any|per-delegate|exclusive)(?:, (?:gives: [^\]]+|takes))?(?:, (?:never|null))?\](?: [A-Z`].*\.)?")
FUNCTION_POINTER = re.compile(r"\(\s*(?:TENON_CALL\s*)?\*\s*(\w+)\s*\)\s*\(")

problems = []


def complain(path, line, text):
    problems.append(f"{path}:{line}: {text}")


def check_function_pointers(path, lines):
    """Number of function pointers in a header, each with a comment whose brackets, if it has any, are in the last
    paragraph and say a difference."""
    found = 0
    for index, line in enumerate(lines):
        match = FUNCTION_POINTER.search(line)
        if not match or line.lstrip().startswith("//"):
            continue
        found += 1
        first = index
        while first > 0 and lines[first - 1].lstrip().startswith("///"):
            first -= 1
        # A declaration that began on the line above has its comment before that.
        comment = [text.strip().removeprefix("///").strip() for text in lines[first:index]]
        if not comment:
            complain(path, index + 1, f"{match[1]}: expected a comment")
            continue
        begins = [number for number, text in enumerate(comment) if text.startswith("[")]
        if not begins:
            continue
        tag = " ".join(comment[begins[0]:])
        if len(begins) > 1 or not BRACKETS.fullmatch(tag) or (begins[0] > 0 and comment[begins[0] - 1]):
            complain(path, index + 1,
                     f"{match[1]}: expected brackets of abi/tenon.h in the last paragraph, found `{tag}`")
        elif tag == "[any]":
            complain(path, index + 1, f"{match[1]}: `[any]` says nothing that is not said of all functions")
    return found


def sources(root):
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in SUFFIXES or path.name.endswith(NAMES):
                if path.is_file() and "__pycache__" not in path.parts:
                    yield path
    yield from (root / name for name in ROOT_SCRIPTS)


def check_lines(name, lines, rules):
    for number, line in enumerate(lines, 1):
        if UNFINISHED.search(line):
            complain(name, number, f"unfinished: {line.strip()}")
        if UNREAD_NAMESPACE.search(line):
            complain(name, number, "expected `namespace tenon { inline namespace TENON_RELEASE {`, which ctags reads")
        for rule in RULE.findall(line):
            if rule not in rules:
                complain(name, number, f"{rule} is no rule of the boundary")


def check_source(path, name, text, rules):
    lines = text.splitlines()
    first = lines[1:3] if text.startswith("#!") else lines[:1]
    if path.suffix != ".map" and not any("SPDX-License-Identifier: MIT" in line for line in first):
        complain(name, 1, "expected SPDX-License-Identifier: MIT in the first line")
    if len(lines) > MAX_LINES:
        complain(name, len(lines), f"{len(lines)} lines, expected at most {MAX_LINES}")
    if str(name).startswith(ON_WINDOWS):
        for number, line in enumerate(lines, 1):
            if ATOMIC_WAIT.search(line):
                complain(name, number, "expected a mutex and a condition variable: waits on atomics are not reliable")
    check_lines(name, lines, rules)


def check_changelog(name, lines):
    """An item ends with the sentence's full stop, or what stands for it, before the next one begins."""
    text, at = "", 0
    for number, line in enumerate([*lines, "- "], 1):
        if line.startswith("  ") and text:
            text += line
        else:
            if text and not re.search(r"[.:)]$", text.rstrip()):
                complain(name, at, f"the item ends in mid-sentence: ...{text.rstrip()[-60:]}")
            text, at = (line, number) if line.startswith("- ") and line != "- " else ("", number)


def main():
    root = pathlib.Path(sys.argv[1])
    pointers = 0
    for path in sorted((root / "include/tenon/abi").rglob("*.h")):
        pointers += check_function_pointers(path.relative_to(root), path.read_text().splitlines())
    rules = {rule.id for rule in rulebook.read_boundary(root)[0]}
    if len(rules) < 30 or pointers < 25:
        complain("include/tenon", 0, f"found {len(rules)} rules, {pointers} functions")

    checked = 0
    for path in sources(root):
        name, text = path.relative_to(root), path.read_text()
        checked += 1
        check_source(path, name, text, rules)
    for path in sorted((root / "docs").rglob("*.md")):
        check_lines(path.relative_to(root), path.read_text().splitlines(), rules)

    check_changelog("CHANGELOG.md", (root / "CHANGELOG.md").read_text().splitlines())

    for folder in ["include", "examples", "reference_backends", "tests"]:
        for path in [root / folder, *sorted(p for p in (root / folder).rglob("*") if p.is_dir())]:
            count = sum(file.is_file() for file in path.iterdir())
            if str(path.relative_to(root)).startswith(LARGE_FOLDERS):
                continue
            if count > MAX_FILES and path.name != "__pycache__":
                complain(path.relative_to(root), 0, f"{count} files, expected at most {MAX_FILES}")

    leave(problems, f"{checked} sources, {pointers} functions of the boundary, {len(problems)} problems")


if __name__ == "__main__":
    main()
