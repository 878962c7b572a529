# SPDX-License-Identifier: MIT
"""Holds the sources to what they promise about themselves.

* The boundary (include/tenon/abi): each sentence with MUST belongs to a numbered rule, ids are
  unique, and each function pointer says the four things of abi/tenon.h in its closed vocabulary.
* Every source: the licence comes first, no file grows beyond what a reader takes in, nothing is
  left for later, and rules that are referred to exist.

Rules that no test names in a tag are listed for information.
"""

import pathlib
import re
import sys

MAX_LINES = 450
SUFFIXES = {".h", ".hpp", ".c", ".cpp", ".cu", ".mm", ".py", ".fbs", ".sh"}
FOLDERS = ["include", "examples", "tests", "templates", "reference_backends", "docs"]
ROOT_SCRIPTS = ["meson.build", "dev", ".ci/run"]

RULE = re.compile(r"TN-[A-Z]{3}-[0-9]+")
TAG = re.compile(r"\[(TN-[A-Z]+-[0-9]+)\]")
# Split, so that this file does not contain what it looks for.
UNFINISHED = re.compile(r"\bTO" r"DO\b|\bFIX" r"ME\b|\bXX" r"X\b|\bfor " r"now\b", re.I)

VOCABULARY = {
    "threads": r"any|per-delegate|exclusive",
    "ownership": r"(none|borrowed|gives|takes)( \(.+\))?",
    "errors": r"never|status|null",
    "lifetime": r".+",
}
FUNCTION_POINTER = re.compile(r"\(\s*\*\s*(\w+)\s*\)\s*\(")

problems = []


def complain(path, line, text):
    problems.append(f"{path}:{line}: {text}")


def comment_blocks(text):
    """(line of the first, lines without their marker) of each run of comment lines."""
    block, start = [], 0
    for number, line in enumerate(text.splitlines() + [""], 1):
        match = re.match(r"\s*//[/!]?<?( ?)(.*)$", line)
        if match:
            start = start if block else number
            block.append(match[2])
        elif block:
            yield start, block
            block = []


def rules_of(path, text):
    """Ids that a header defines. Complains about a MUST outside of a rule."""
    ids = []
    for start, block in comment_blocks(text):
        indent = None
        for offset, line in enumerate(block):
            item = re.match(r"(\s*)(TN-\S+)\s+", line)
            depth = len(line) - len(line.lstrip())
            if item:
                if not RULE.fullmatch(item[2]):
                    complain(path, start + offset, f"{item[2]} is not of the form TN-AREA-N")
                ids.append((item[2], start + offset))
                indent = len(item[1]) + 1
            elif not line.strip() or (indent is not None and depth < indent):
                indent = None
            # "Sentences with MUST" speaks about such sentences and is none.
            if re.search(r"(?<!with )\bMUST\b", line) and indent is None:
                complain(path, start + offset, f"MUST without a rule id: {line.strip()}")
    return ids


def check_function_pointers(path, lines):
    """Number of function pointers in a header, each with its four lines in order."""
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
        keys = [text.split(":")[0] for text in comment if text.split(":")[0] in VOCABULARY]
        if keys != list(VOCABULARY):
            complain(path, index + 1, f"{match[1]}: expected {list(VOCABULARY)}, found {keys}")
            continue
        for text in comment:
            key, _, value = text.partition(":")
            if key in VOCABULARY and not re.fullmatch(VOCABULARY[key], value.strip()):
                complain(path, index + 1, f"{match[1]}: unknown word in `{text}`")
    return found


def sources(root):
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in SUFFIXES or path.name in ("meson.build", "tenon-plugin.map"):
                if path.is_file() and "__pycache__" not in path.parts:
                    yield path
    yield from (root / name for name in ROOT_SCRIPTS)


def check_source(path, name, text, known):
    lines = text.splitlines()
    first = lines[1:3] if text.startswith("#!") else lines[:1]
    if path.suffix != ".map" and not any("SPDX-License-Identifier: MIT" in line for line in first):
        complain(name, 1, "expected SPDX-License-Identifier: MIT in the first line")
    if len(lines) > MAX_LINES:
        complain(name, len(lines), f"{len(lines)} lines, expected at most {MAX_LINES}")
    for number, line in enumerate(lines, 1):
        if UNFINISHED.search(line):
            complain(name, number, f"unfinished: {line.strip()}")
        for rule in RULE.findall(line):
            if rule not in known:
                complain(name, number, f"{rule} is no rule of the boundary")


def main():
    root = pathlib.Path(sys.argv[1])
    defined, pointers = {}, 0
    for path in sorted((root / "include/tenon/abi").rglob("*.h")):
        name, text = path.relative_to(root), path.read_text()
        for rule, line in rules_of(name, text):
            if rule in defined:
                complain(name, line, f"{rule} is defined in {defined[rule]} already")
            defined[rule] = f"{name}:{line}"
        pointers += check_function_pointers(name, text.splitlines())
    if len(defined) < 30 or pointers < 25:
        complain("include/tenon/abi", 0, f"found {len(defined)} rules, {pointers} functions")

    tested, checked = set(), 0
    for path in sources(root):
        name, text = path.relative_to(root), path.read_text()
        checked += 1
        check_source(path, name, text, defined)
        if name.parts[0] == "tests":
            tested.update(TAG.findall(text))
    for path in sorted((root / "docs").rglob("*.md")):
        for number, line in enumerate(path.read_text().splitlines(), 1):
            if UNFINISHED.search(line):
                complain(path.relative_to(root), number, f"unfinished: {line.strip()}")

    for problem in problems:
        print(f"not ok: {problem}")
    untested = sorted(set(defined) - tested, key=lambda rule: defined[rule])
    print(f"{len(untested)} of {len(defined)} rules are in no test's tags: {' '.join(untested)}")
    print(f"{checked} sources, {pointers} functions of the boundary, {len(problems)} problems")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
