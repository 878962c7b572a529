# SPDX-License-Identifier: MIT
"""Holds the prose outside tests to plain technical English: counts words that read badly.

The sources are comments, messages, pages and build files: all that a reader or a user sees. PHRASES are counted in pages
and public headers only. Each word has a limit, the count that has been reached; a lower count is welcome, and its limit
is then lowered with it.

usage: words_test.py ROOT [--list]
"""

import pathlib
import re
import sys

SUFFIXES = {".h", ".hpp", ".c", ".cpp", ".cu", ".cuh", ".mm", ".py", ".md", ".fbs", ".build", ".txt"}
PLACES = ["include", "examples", "templates", "reference_backends", "docs", "README.md", "CHANGELOG.md"]
PLACES += ["tests/conformance/kit", "tests/conformance/program", "dev", "meson.build", "meson_options.txt"]

# Made of texts that are counted in headers and tests.
MADE = "docs/reference/rules.md"

# Name, pattern, largest count.
WORDS = [
    ("lie, lies, lay", r"\b(?:lie|lies|lay|lain)\b", 0),
    ("tell, told", r"\b(?:tells?|told)\b", 0),
    # Names of files and of a target.
    ("beside", r"\bbeside\b", 2),
    # The name of a test of the kit, from which the seed of its random bytes comes.
    ("nobody, somebody, whoever", r"\b(?:nobody|somebody|whoever)\b", 1),
    ("stand, stands (for is)", r"\b(?:stands?|stood)\b(?![-_ ]?(?:in\b|ins\b|alone|-in))", 0),
    ("goes, gone (for is destroyed)", r"\b(?:goes|gone)\b", 0),
    # A rule has a sentence, in the kit's reports and in JSON.
    ("sentence (for message)", r"\bsentences?\b(?!_)", 19),
    ("a doc line that opens with What", r"(?m)^\s*///<?\s*What\b", 0),
]
# Nouns say it better: "the host's name", not "that of the host". "So that of three ..." and "there is none" are good English.
PHRASES = [
    # Six rules of the boundary, whose texts are frozen, and four string literals.
    ("that of, those of", r"(?<!so )\b(?:that|those)\s+of\b", 10),
    ("the same of", r"\bthe\s+same\s+of\b", 0),
    ("of others", r"\bof\s+others\b(?!')", 0),
    # A string literal.
    ("is none", r"(?<!there )\b(?-i:is\s+none)\b(?! of)", 1),
    ("one's own", r"\bone's\s+own\b", 0),
    # A comment is complete without the one above it.
    ("a doc comment that opens with The same", r"(?m)(?:^(?!\s*///)[^\n]*\n\s*///|///<)\s*(?-i:The same)"
     r"(?=\s*[,.:;(]|\s+(?:of|for|with|without|in|as|by|but|when|where|from|on|at|to)\b)", 0),
]


def files(root):
    for place in PLACES:
        path = root / place
        if path.is_file():
            yield path
        for file in sorted(path.rglob("*")) if path.is_dir() else ():
            if file.is_file() and file.suffix in SUFFIXES and file != root / MADE:
                yield file


def is_page_or_public_header(path):
    if path.suffix == ".md":
        return path.name != "CHANGELOG.md"
    return path.parts[0] == "include" and path.suffix in (".h", ".hpp") and not {"impl", "detail"} & set(path.parts)


def main():
    root = pathlib.Path(sys.argv[1])
    show = "--list" in sys.argv
    texts = {path.relative_to(root): path.read_text(errors="replace") for path in files(root)}
    if len(texts) < 100:
        sys.exit(f"found only {len(texts)} files under {root}")
    failed = False
    chosen = {path: text for path, text in texts.items() if is_page_or_public_header(path)}
    for name, pattern, limit, sources in [*((*row, texts) for row in WORDS), *((*row, chosen) for row in PHRASES)]:
        count = 0
        for path, text in sources.items():
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
