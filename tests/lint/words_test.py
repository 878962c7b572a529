# SPDX-License-Identifier: MIT
"""Holds the prose outside tests to plain technical English: counts words that read badly.

The sources are comments, messages, pages and build files: all of what a reader or a user sees. Each
word has a limit, the count that has been reached; a lower count is welcome, and its limit is then
lowered with it.

usage: words_test.py ROOT [--list]
"""

import pathlib
import re
import sys

SUFFIXES = {".h", ".hpp", ".c", ".cpp", ".cu", ".cuh", ".mm", ".py", ".md", ".fbs", ".build", ".txt"}
PLACES = ["include", "examples", "templates", "reference_backends", "docs", "README.md", "CHANGELOG.md"]
PLACES += ["tests/conformance/kit", "tests/conformance/program", "dev", "meson.build", "meson_options.txt"]

# Name, pattern, largest count.
WORDS = [
    ("lie, lies, lay", r"\b(?:lie|lies|lay|lain)\b", 0),
    ("tell, told", r"\b(?:tells?|told)\b", 0),
    # Names of files and of a target.
    ("beside", r"\bbeside\b", 4),
    # The name of a test of the kit, from which the seed of its random bytes comes.
    ("nobody, somebody, whoever", r"\b(?:nobody|somebody|whoever)\b", 1),
    ("stand, stands (for is)", r"\b(?:stands?|stood)\b(?![-_ ]?(?:in\b|ins\b|alone|-in))", 0),
    ("goes, gone (for is destroyed)", r"\b(?:goes|gone)\b", 0),
    # A rule has a sentence, in the kit's reports and in JSON.
    ("sentence (for message)", r"\bsentences?\b(?!_)", 20),
    ("a doc line that opens with What", r"(?m)^\s*///<?\s*What\b", 0),
]


def files(root):
    for place in PLACES:
        path = root / place
        if path.is_file():
            yield path
        for file in sorted(path.rglob("*")) if path.is_dir() else ():
            if file.is_file() and file.suffix in SUFFIXES:
                yield file


def main():
    root = pathlib.Path(sys.argv[1])
    show = "--list" in sys.argv
    texts = {path.relative_to(root): path.read_text(errors="replace") for path in files(root)}
    if len(texts) < 100:
        sys.exit(f"found only {len(texts)} files under {root}")
    failed = False
    for name, pattern, limit in WORDS:
        count = 0
        for path, text in texts.items():
            for match in re.finditer(pattern, text, re.I):
                count += 1
                if show:
                    line = text.count("\n", 0, match.end()) + 1
                    print(f"{path}:{line}: {text.splitlines()[line - 1].strip()}")
        failed |= count > limit
        print(f"{'not ok' if count > limit else 'ok'}: {name}: {count}, expected at most {limit}")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
