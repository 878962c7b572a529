# SPDX-License-Identifier: MIT
"""Writes docs/reference/rules.md, the page of the rules, for the site. It is not committed.

The rules are those of the kit's table, which tests/conformance/rules holds equal to the headers; the tests
are found in the suites and by the tags of all other tests.
"""

import collections
import re

PAGE = "docs/reference/rules.md"
TABLE = "tests/conformance/kit/verdict/rule_table.hpp"
SUITES = "tests/conformance/kit/suites"
NOT_OBSERVABLE = "tests/conformance/rules/not_observable.txt"

TEXT = r'"(?:[^"\\]|\\.)*"'
TEXTS = rf"{TEXT}(?:\s*{TEXT})*"
ENTRY = re.compile(rf"^    \{{({TEXTS}),\s*({TEXTS}),\s*({TEXTS})\}},$", re.MULTILINE)
TEST = re.compile(rf"TENON_CONFORMANCE_TEST\(\s*({TEXTS}),\s*({TEXTS}),\s*({TEXTS})\)")
TAG = re.compile(r"\[(TN-[^\]\s]+)\]")


def _joined(texts):
    """Adjacent literals of C++ as one text."""
    return "".join(re.sub(r"\\(.)", r"\1", text[1:-1]) for text in re.findall(TEXT, texts))


def _link(text, path):
    return f"[{text}](../../{path})"


def _tests_of_suites(root):
    """For each rule, the tests of the kit that name it, as the page shows them."""
    out = collections.defaultdict(list)
    for path in sorted((root / SUITES).glob("*.cpp")):
        for test in TEST.finditer(path.read_text(encoding="utf-8")):
            name, text, tags = (_joined(part) for part in test.groups())
            for rule in TAG.findall(tags):
                out[rule].append(f"`{name}` ({text}; {_link(path.name, f'{SUITES}/{path.name}')})")
    return out


def _tagged_files(root):
    """For each rule, the other tests that name it in a tag."""
    out = collections.defaultdict(set)
    for path in (root / "tests").rglob("*"):
        if path.suffix in (".cpp", ".py") and path.is_file() and path.parent != root / SUITES:
            for rule in TAG.findall(path.read_text(encoding="utf-8")):
                out[rule].add(path.relative_to(root).as_posix())
    return out


def _reasons(root):
    """Why the kit cannot observe a rule."""
    lines = (root / NOT_OBSERVABLE).read_text(encoding="utf-8").splitlines()
    return dict(line.split(maxsplit=1) for line in lines if line.strip() and not line.startswith("#"))


def page(root):
    """The text of the page, for the repository at `root`."""
    tests, files, reasons = _tests_of_suites(root), _tagged_files(root), _reasons(root)
    entries = ENTRY.findall((root / TABLE).read_text(encoding="utf-8"))
    rules = [[_joined(part) for part in entry] for entry in entries]
    of_hosts = {name for name, text, _ in rules if text.startswith(("A host ", "The host "))}
    out = [
        "# Rules of the boundary\n",
        "The contract between plugins and hosts: every MUST in",
        f"{_link('include/tenon/abi', 'include/tenon/abi')}, with the id that findings, logs and tests name. "
        "An id is never used again.",
        f"Of {len(rules)} rules plugins keep {len(rules) - len(of_hosts)} and hosts {len(of_hosts)}.",
    ]
    shown_header = shown_declaration = None
    for name, text, source in rules:
        header, declaration = source.split(": ")
        if header != shown_header:
            shown_header, shown_declaration = header, None
            out.append(f"\n## {header}")
            lines = (root / "include" / header).read_text(encoding="utf-8").splitlines()
        if declaration != shown_declaration:
            shown_declaration = declaration
            out.append(f"\n### `{declaration}`")
        [number] = [at for at, line in enumerate(lines, 1) if re.match(rf"\s*///\s+{name}\s", line)]
        keeper = "host" if name in of_hosts else "plugin"
        place = _link(f"{header.rpartition('/')[2]}:{number}", f"include/{header}#L{number}")
        if tests[name]:
            tested = f"Tested by {', '.join(tests[name])}."
        else:
            tested = f"Tested in {', '.join(_link(path, path) for path in sorted(files[name]))}."
        if name in reasons:
            tested = f"The kit cannot observe it. {reasons[name]} {tested}"
        out.append(f"\n#### {name}\n\n{text}\n\nKept by the {keeper} ({place}). {tested}")
    return "\n".join(out) + "\n"
