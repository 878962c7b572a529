# SPDX-License-Identifier: MIT
"""Holds the prose to plain technical English: counts words and phrases that read badly.

* WORDS are counted in all texts outside of tests: comments, messages, pages and build files.
* PHRASES are counted in pages, in the comments of all code, and in the strings of all code.
* OPENINGS are counted in the comments of all code.

Each has limits, the counts that have been reached; a lower count is welcome, and its limit is then lowered with it.

usage: words_test.py ROOT [--list]
"""

import io
import pathlib
import re
import sys
import tokenize

SUFFIXES = {".h", ".hpp", ".c", ".cpp", ".cu", ".cuh", ".mm", ".py", ".md", ".fbs", ".build", ".txt"}
PLACES = ["include", "examples", "templates", "reference_backends", "docs", "README.md", "CHANGELOG.md"]
PLACES += ["tests/conformance/kit", "tests/conformance/program", "dev", "meson.build", "meson_options.txt"]
IN_C = {".h", ".hpp", ".c", ".cpp", ".cu", ".cuh", ".mm", ".rs", ".fbs"}
IN_PYTHON = {".py"}
BY_HASHES = {".build", ".sh"}

# Made of texts that are counted in headers and tests.
MADE = "docs/reference/rules.md"
# Words of a dialogue, from which a model learns.
LEARNT = "examples/applications/chat/dialogues.txt"
# They hold the patterns.
OF_THIS_LINT = {"tests/lint/words_test.py", "tests/lint/planted_words_test.py"}

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
# Name, pattern, largest count in pages, in comments, in strings outside of tests and in strings of tests.
PHRASES = [
    # In comments rules of the boundary, whose texts are frozen; in the kit's strings names of two of its tests.
    ("that of, those of", r"(?<!so\s)\b(?:that|those)\s+of\b", 0, 7, 2, 0),
    ("the same of", r"\bthe\s+same\s+of\b", 0, 0, 0, 0),
    ("of others", r"\bof\s+others\b(?!')", 0, 0, 0, 0),
    ("is none", r"(?<!there\s)\b(?-i:is\s+none)\b(?!\s+of)", 0, 0, 0, 0),
    ("one's own", r"\bone's\s+own\b", 0, 0, 0, 0),
]
# A comment is complete without the one above it, and begins with its noun.
OPENINGS = [
    ("a comment that opens with The same", r"^(?-i:The same)(?=\s*[,.:;(]|\s+(?:of|for|with|without|in|as|by|but|when"
     r"|where|from|on|at|to)\b)", 0),
    # In two headers of the boundary.
    ("a sentence that opens with Those, One that", r"(?:^|(?<=\.\s))(?-i:Those|One (?:that|which|whose))\b", 2),
]

TOKEN = re.compile(r'R"(?P<end>\w*)\(.*?\)(?P=end)"|"(?P<text>(?:\\.|[^"\\\n])*)"|\'(?:\\.|[^\'\\\n])\''
                   r'|(?P<comment>//[^\n]*(?:\n[ \t]*//[^\n]*)*|/\*.*?\*/)', re.S)
MARK = re.compile(r'^\s*(?:///?<?|#|/?\*+|[rf]?""")[ \t]*')


def plain(comment):
    """The lines of a comment without their marks."""
    return "\n".join(MARK.sub("", line).strip() for line in comment.splitlines())


def parts_of_python(text):
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            yield "comment", token.start[0], plain(token.string)
        elif token.type == tokenize.STRING or tokenize.tok_name[token.type] == "FSTRING_MIDDLE":
            is_doc = token.string.startswith('"""')
            yield "comment" if is_doc else "string", token.start[0], plain(token.string) if is_doc else token.string


def parts(suffix, text):
    """("comment" or "string", line, text) of a source."""
    if suffix in IN_PYTHON:
        yield from parts_of_python(text)
        return
    if suffix in BY_HASHES:
        for match in re.finditer(r"(?m)^[ \t]*#[^\n]*(?:\n[ \t]*#[^\n]*)*", text):
            yield "comment", text.count("\n", 0, match.start()) + 1, plain(match[0])
        return
    for match in TOKEN.finditer(text):
        line = text.count("\n", 0, match.start()) + 1
        if match["comment"]:
            yield "comment", line, plain(match["comment"])
        else:
            yield "string", line, match["text"] or match[0]


def kinds_of(path, text):
    """(kind, line, text) of what PHRASES and OPENINGS are counted in."""
    if path.suffix == ".md":
        if path.name != "CHANGELOG.md" and str(path) != MADE:
            yield "page", 1, text
    elif str(path) not in OF_THIS_LINT:
        is_test = path.parts[0] == "tests" and not str(path).startswith(tuple(PLACES))
        for kind, line, part in parts(path.suffix, text):
            yield "string of tests" if kind == "string" and is_test else kind, line, part


def found(texts):
    """(name, limit, [where]) of each pattern and kind of text. `texts` are by path, relative to the root."""
    out = []
    in_words = {path: text for path, text in texts.items()
                if path.suffix in SUFFIXES | {""} and str(path) not in (MADE, LEARNT) and str(path).startswith(tuple(PLACES))}
    for name, pattern, limit in WORDS:
        hits = [(path, text.count("\n", 0, match.end()) + 1, match[0]) for path, text in in_words.items()
                for match in re.finditer(pattern, text, re.I)]
        out.append((name, limit, hits))
    pieces = [(path, *piece) for path, text in texts.items() for piece in kinds_of(path, text)]
    rows = [(name, pattern, kind, limit) for name, pattern, *limits in PHRASES
            for kind, limit in zip(("page", "comment", "string", "string of tests"), limits)]
    rows += [(name, pattern, "comment", limit) for name, pattern, limit in OPENINGS]
    for name, pattern, kind, limit in rows:
        hits = [(path, line + part.count("\n", 0, match.end()), match[0])
                for path, of, line, part in pieces if of == kind for match in re.finditer(pattern, part, re.I)]
        out.append((f"{name} ({kind})", limit, hits))
    return out


def texts_of(root):
    suffixes = SUFFIXES | IN_C | BY_HASHES
    for place in [*PLACES, "tests"]:
        path = root / place
        for file in [path] if path.is_file() else sorted(path.rglob("*")):
            if file.is_file() and (file.suffix in suffixes or file == path) and "__pycache__" not in file.parts:
                yield file.relative_to(root), file.read_text(errors="replace")


def main():
    root = pathlib.Path(sys.argv[1])
    texts = dict(texts_of(root))
    if len(texts) < 100:
        sys.exit(f"found only {len(texts)} files under {root}")
    failed = False
    for name, limit, hits in found(texts):
        is_bad = len(hits) > limit
        failed |= is_bad
        if is_bad or "--list" in sys.argv:
            for path, line, text in hits:
                print(f"{path}:{line}: {text}")
        print(f"{'not ok' if is_bad else 'ok'}: {name}: {len(hits)}, expected at most {limit}")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
