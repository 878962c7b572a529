# SPDX-License-Identifier: MIT
"""Makes docs/reference/rules.md, the page of the rules (`tests/docs/links_test.py . --write`).

Rules and tests of the kit are read as the kit's build reads them; other tests are found by their tags.
"""

import collections
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tests/conformance/kit/verdict"))

import rulebook  # noqa: E402  pylint: disable=wrong-import-position

PAGE = "docs/reference/rules.md"
NOT_OBSERVABLE = "tests/conformance/rules/not_observable.txt"


def _link(text, path):
    return f"[{text}](../../{path})"


def _tests_of_suites(root):
    """For each rule, the tests of the kit that name it, as the page shows them."""
    out = collections.defaultdict(list)
    for test in rulebook.read_kit(root)[0]:
        for rule in test.rules:
            out[rule].append(f"`{test.id}` ({test.name}; {_link(test.file.rpartition('/')[2], test.file)})")
    return out


def _tagged_files(root):
    """For each rule, the other tests that name it in a tag."""
    out = collections.defaultdict(set)
    for path, text in rulebook.read_files(root / "tests", "tests", {".cpp", ".py"}).items():
        if not path.startswith(f"{rulebook.SUITES}/"):
            for rule in rulebook.rule_tags(text):
                out[rule].add(path)
    return out


def _reasons(root):
    """Why the kit cannot observe a rule."""
    lines = (root / NOT_OBSERVABLE).read_text(encoding="utf-8").splitlines()
    return dict(line.split(maxsplit=1) for line in lines if line.strip() and not line.startswith("#"))


def page(root):
    """The text of the page, for the repository at `root`."""
    tests, files, reasons = _tests_of_suites(root), _tagged_files(root), _reasons(root)
    rules = rulebook.read_boundary(root)[0]
    of_hosts = sum(rule.is_of_hosts for rule in rules)
    out = [
        "# Rules of the boundary\n",
        "The contract between plugins and hosts: every MUST in",
        f"{_link('include/tenon/abi', 'include/tenon/abi')}, with the id that findings, logs and tests name. "
        "An id is never used again.",
        f"Of {len(rules)} rules plugins keep {len(rules) - of_hosts} and hosts {of_hosts}.",
    ]
    shown_header = shown_declaration = None
    for rule in rules:
        name = rule.id
        if rule.header != shown_header:
            shown_header, shown_declaration = rule.header, None
            out.append(f"\n## {rule.header}")
        if rule.declaration != shown_declaration:
            shown_declaration = rule.declaration
            out.append(f"\n### `{rule.declaration}`")
        keeper = "host" if rule.is_of_hosts else "plugin"
        place = _link(f"{rule.header.rpartition('/')[2]}:{rule.line}", f"include/{rule.header}#L{rule.line}")
        if tests[name]:
            tested = f"Tested by {', '.join(tests[name])}."
        else:
            tested = f"Tested in {', '.join(_link(path, path) for path in sorted(files[name]))}."
        if name in reasons:
            tested = f"The kit cannot observe it. {reasons[name]} {tested}"
        out.append(f"\n#### {name}\n\n{rule.text}\n\nKept by the {keeper} ({place}). {tested}")
    return "\n".join(out) + "\n"
