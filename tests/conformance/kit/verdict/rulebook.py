# SPDX-License-Identifier: MIT
"""Reads the numbered rules out of the headers of the boundary, and the tests of the kit out of its suites.

    rulebook.py TEMPLATE ABI SUITES OUTPUT DEPFILE

fills TEMPLATE (tables.cpp.in) with the rules of the folder ABI (include/tenon/abi) and the tests of the folder SUITES, and
writes into DEPFILE what ninja must watch: each file that was read, and the folders, for files that are new. A mistake in
a header or a suite is an error, with its place.

A rule is an item of a `///` comment: "TN-AREA-N  text with MUST.", indented by two columns or more, continued on lines
that are indented further. It belongs to the declaration that follows the comment.
"""

import dataclasses
import pathlib
import re
import sys

ABI = "tenon/abi"
SUITES = "tests/conformance/kit/suites"

MUST = re.compile(r"(?<!\w)MUST(?!\w)", re.ASCII)
LEVEL = re.compile(r"level-(?:[1-9]|10)")
TAG = re.compile(r"\[(TN-[^\] \n]*)\]")
TOKEN = re.compile(r"""
    (?P<skipped> \s+ | //[^\n]* | /\*.*?(?:\*/|\Z) | '(?:[^'\\]|\\.)*\\?(?:'|\Z) )
  | (?:u8|[uUL])?R"(?P<end>[^(]*)\( (?P<raw>.*?) (?:\)(?P=end)"|\Z)
  | (?P<word> [0-9][\w']* | \w+ )
  | "(?P<text> (?:[^"\\]|\\.)* ) \\? (?:"|\Z)
  | (?P<mark> . )""", re.VERBOSE | re.DOTALL | re.ASCII)


@dataclasses.dataclass
class Problem:
    """A mistake in the headers or the tests."""
    file: str
    line: int
    text: str

    def __str__(self):
        return f"{self.file}:{self.line}: {self.text}"


@dataclasses.dataclass
class Rule:
    """One rule, as it is printed."""
    id: str  # "TN-EXE-2"
    text: str  # "`execute` MUST NOT write to an input."
    header: str  # "tenon/abi/backend.h"
    line: int  # Of the id, from 1.
    declaration: str = ""  # "tenon_backend_api.execute"; empty without one.

    @property
    def is_of_hosts(self):
        """Rules for hosts say so: "A host ... MUST", "The host MUST"."""
        return self.text.startswith(("A host ", "The host "))


@dataclasses.dataclass
class ConformanceTest:
    """`TENON_CONFORMANCE_TEST("suite/id", "name", "[suite][level-3][case][TN-EXE-2]")` in a suite."""
    id: str  # The compiler checks its form (is_test_id in tenon/conformance/test.hpp).
    name: str
    tags: list  # Without their brackets, in their order.
    file: str  # "tests/conformance/kit/suites/arguments.cpp"
    line: int

    @property
    def rules(self):
        return [tag for tag in self.tags if tag.startswith("TN-")]

    @property
    def level(self):
        return next((int(tag[len("level-"):]) for tag in reversed(self.tags) if tag.startswith("level-")), 1)

    @property
    def scope(self):
        """As the enumeration `Scope` of the kit names it."""
        found = [tag for tag in self.tags if tag in ("plugin", "backend", "case")] or ["plugin"]
        return "of_case" if found[-1] == "case" else found[-1]


def split_lines(text):
    lines = text.split("\n")
    return lines[:-1] if lines[-1] == "" else lines


def has_must(text):
    """Whether `text` contains MUST as a word, and not only in backticks."""
    return MUST.search(re.sub(r"`[^`]*(?:`|$)", "`", text)) is not None


def declared_name(text):
    """The name that `text` declares, a declaration up to its `;` or `{`; empty without a name."""
    text = text.strip()
    if text.startswith("#"):
        define = re.match(r"#define (\w*)", text, re.ASCII)
        return define[1] if define else ""
    pointer = re.search(r"\(TENON_CALL\*\s*(\w*)", text, re.ASCII) or re.search(r"\(\*\s*(\w*)", text, re.ASCII)
    if pointer:
        return pointer[1]
    name = re.search(r"(\w*)\s*$", re.split(r"[\[{;=:]", text)[0], re.ASCII)[1]
    return "" if name in ("enum", "union", "struct") else name


class HeaderReader:
    """Reads one header, line by line. `header` is its path as it is included."""

    def __init__(self, header, text):
        self.header = header
        self.lines = split_lines(text)
        self.at = 0
        self.rules, self.problems = [], []
        self.block = []  # Rules of the comment that is being read.
        self.column = 0  # Of the last rule's id.
        self.is_open = False  # Whether the last rule may continue.
        self.struct = ""  # The enclosing struct; empty outside of one.

    def read(self):
        for self.at, whole in enumerate(self.lines):
            line = whole.strip()
            if line.startswith("///") and not line.startswith("///<"):
                self._read_doc_line(line[3:])
                continue
            self._finish_block()
            code, slashes, comment = line.partition("//")
            self._refuse_must(slashes + comment)
            self._track_struct(code.strip())
        self.at = len(self.lines)
        self._finish_block()
        return self

    def _read_doc_line(self, content):
        # Columns of the text, without the one space after the slashes.
        column = len(content) - len(content.lstrip(" "))
        text = content.strip()
        if text.startswith("TN-") and column > 1:
            name, _, text = text.partition(" ")
            self.block.append(Rule(name, text.strip(), self.header, self.at + 1))
            self.column, self.is_open = column, True
        elif self.is_open and text and column > self.column:
            rule = self.block[-1]
            rule.text = f"{rule.text} {text}".lstrip()
        else:
            self.is_open = False
            self._refuse_must(text)

    def _finish_block(self):
        """The comment ends; its rules belong to the following declaration."""
        self.is_open = False
        if not self.block:
            return
        parts = []
        for line in self.lines[self.at:]:
            code = line.partition("//")[0].strip()
            if not code:
                break
            parts.append(code)
            if code.startswith("#") or re.search("[;{]", code):
                break
        name = declared_name(" ".join(parts))
        for rule in self.block:
            if rule.text.startswith("MUST"):
                rule.text = f"`{name}` {rule.text}"
            rule.declaration = f"{self.struct}.{name}" if self.struct and name else name
            self._check(rule)
        self.rules += self.block
        self.block = []

    def _check(self, rule):
        wrong = {
            " is not of the form TN-AREA-N": not re.fullmatch(r"TN-[A-Z]{3}-[1-9][0-9]*", rule.id),
            f" has no MUST: {rule.text}": not has_must(rule.text),
            " does not end with a full stop": not rule.text.endswith("."),
            " has no declaration below it": not rule.declaration,
        }
        self.problems += [Problem(rule.header, rule.line, rule.id + text) for text, is_wrong in wrong.items() if is_wrong]

    def _refuse_must(self, comment):
        if has_must(comment):
            self.problems.append(Problem(self.header, self.at + 1, f"MUST without a rule id: {comment.strip()}"))

    def _track_struct(self, code):
        begin = re.match(r"typedef struct (\w*).*\{$", code, re.ASCII)
        if begin:
            self.struct = begin[1]
        elif self.struct and re.match(rf"\}}.*\b{self.struct}\s*(;|$)", code):
            self.struct = ""


def read_headers(texts):
    """The rules of all headers, `texts` by path, in the order of their paths and lines, and the mistakes."""
    rules, problems, places = [], [], {}
    for header in sorted(texts):
        found = HeaderReader(header, texts[header]).read()
        problems += found.problems
        for rule in found.rules:
            if rule.id in places:
                problems.append(Problem(header, rule.line, f"{rule.id} is defined in {places[rule.id]} already"))
            places.setdefault(rule.id, f"{header}:{rule.line}")
        rules += found.rules
    if not rules:
        problems.append(Problem(f"include/{ABI}", 0, "found no rule"))
    return rules, problems


def split_tags(text):
    """"[a][b]" -> a, b. Empty for any other text."""
    return re.findall(r"\[([^\]]*)\]", text) if re.fullmatch(r"(?:\[[^\]]*\])*", text) else []


def tokens_of(source):
    """(kind, value, place) of the words, texts and marks of a C++ source, without its comments and white space."""
    for match in TOKEN.finditer(source):
        if match["raw"] is not None:
            yield "text", match["raw"], match.start()
        elif match["text"] is not None:
            yield "text", re.sub(r"\\(.)", r"\1", match["text"], flags=re.DOTALL), match.start()
        elif match["skipped"] is None:
            kind = "word" if match["word"] else "mark"
            yield kind, match[kind], match.start()


def _read_test(tokens, at):
    """The three texts of a test whose macro is the token before `at`, adjacent texts joined, or None."""
    def take(kind, value=None):
        nonlocal at
        taken = ""
        while at < len(tokens) and tokens[at][0] == kind and value in (None, tokens[at][1]):
            taken += tokens[at][1]
            at += 1
            if kind == "mark":
                break
        return taken
    parts = [take("mark", "("), take("text"), take("mark", ","), take("text"), take("mark", ","), take("text"),
             take("mark", ")")]
    return parts[1::2] if all(parts) else None


def read_suite(file, text):
    """The tests of one suite, and the mistakes."""
    tests, problems = [], []
    tokens = list(tokens_of(text))
    for at, (kind, value, place) in enumerate(tokens):
        if kind != "word" or value != "TENON_CONFORMANCE_TEST":
            continue
        line = text.count("\n", 0, place) + 1
        parts = _read_test(tokens, at + 1)
        tags = split_tags(parts[2]) if parts else []
        wrong_level = next((tag for tag in tags if tag.startswith("level-") and not LEVEL.fullmatch(tag)), None)
        if wrong_level:
            problems.append(Problem(file, line, f"expected a tag from [level-1] to [level-10], found [{wrong_level}]"))
        elif tags:
            tests.append(ConformanceTest(parts[0], parts[1], tags, file, line))
        else:
            problems.append(Problem(file, line, 'expected TENON_CONFORMANCE_TEST("suite/id", "name", "[suite][tag]")'))
    return tests, problems


def read_suites(texts):
    """The tests of all suites, `texts` by path, in the order of their paths and lines, and the mistakes."""
    tests, problems = [], []
    for file in sorted(texts):
        found = read_suite(file, texts[file])
        tests += found[0]
        problems += found[1]
    return tests, problems


def rule_tags(text):
    """The ids of rules in tags of `text`: "[TN-EXE-2]"."""
    return set(TAG.findall(text))


def read_files(folder, name, endings):
    """The texts of the files below `folder` with one of `endings`, by their paths, which begin with `name`. The program
    ends at a file that is not UTF-8."""
    return {f"{name}/{path.relative_to(folder).as_posix()}": read_text(path)
            for path in folder.rglob("*") if path.suffix in endings and path.is_file()}


def read_text(path):
    """The text of one file. A file that is not UTF-8 ends the program."""
    content = path.read_bytes()
    try:
        # Lines end as in a file that is opened as a text.
        return content.decode("utf-8").replace("\r\n", "\n").replace("\r", "\n")
    except UnicodeDecodeError as wrong:
        line = content.count(b"\n", 0, wrong.start) + 1
        sys.exit(str(Problem(str(path), line, f"byte 0x{content[wrong.start]:02x} is not UTF-8")))


def read_boundary(root):
    """The rules of the repository at `root`, and the mistakes; their files are below include."""
    return read_headers(read_files(root / "include" / ABI, ABI, {".h"}))


def read_kit(root):
    """The tests of the repository at `root`, and the mistakes."""
    return read_suites(read_files(root / SUITES, SUITES, {".cpp"}))


def literal(text):
    """`text` in C++."""
    return '"' + re.sub(r'(["\\])', r"\\\1", text) + '"'


def render_rules(rules):
    """The rules as elements of an array of `Rule`."""
    return "\n".join(f"    {{{literal(rule.id)}, {literal(rule.text)},\n     "
                     f"{literal(f'{rule.header}: {rule.declaration}')}}}," for rule in rules)


def render_tests(tests):
    """The tests as elements of an array of `KitTest`."""
    return "\n".join(f"    {{{literal(test.id)}, {test.level}, Scope::{test.scope}, {literal(' '.join(test.rules))}}},"
                     for test in tests)


def main():
    if len(sys.argv) != 6:
        sys.exit(__doc__)
    template, abi, suites, output, depfile = map(pathlib.Path, sys.argv[1:])
    rules, wrong_headers = read_headers(read_files(abi, ABI, {".h"}))
    tests, wrong_suites = read_suites(read_files(suites, SUITES, {".cpp"}))
    for problem in wrong_headers:
        problem.file = f"include/{problem.file}" if problem.line else problem.file
    if not tests and not wrong_suites:  # Compilers take an empty table, by which every report is complete.
        wrong_suites.append(Problem(SUITES, 0, "found no test"))
    if wrong_headers or wrong_suites:
        sys.exit("\n".join(str(problem) for problem in wrong_headers + wrong_suites))
    text = template.read_text(encoding="utf-8")
    text = text.replace("@rules@", render_rules(rules)).replace("@tests@", render_tests(tests))
    # A file that stays as it is is not compiled again.
    if not output.exists() or output.read_text(encoding="utf-8") != text:
        output.write_text(text, encoding="utf-8")
    read = [path for folder in (abi, suites)
            for path in (folder, *folder.rglob("*")) if path.is_dir() or path.suffix in (".h", ".cpp")]
    target, *names = (str(path).replace(" ", "\\ ") for path in (sys.argv[4], *(path.as_posix() for path in sorted(read))))
    depfile.write_text(f"{target}: {' '.join(names)}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
