#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks the numbered rules of the boundary, and the tests that name them.

    check.py ROOT           fails if a rule or a test is wrong, a rule has no test, or the id of a released test is gone
    check.py ROOT release   adds the ids of the tests that are new to tests/conformance/test_ids.txt

ROOT is the directory of the repository.
"""

import collections
import dataclasses
import pathlib
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "kit/verdict"))

import rulebook  # noqa: E402  pylint: disable=wrong-import-position
from rulebook import Problem  # noqa: E402  pylint: disable=wrong-import-position

NOT_OBSERVABLE = "tests/conformance/rules/not_observable.txt"
RELEASED = "tests/conformance/test_ids.txt"


@dataclasses.dataclass
class NotObservable:
    """A rule for plugins that no test of the kit can observe, and the reason."""
    rule: str  # "TN-STR-2"
    reason: str  # Ends with a full stop.
    line: int


@dataclasses.dataclass
class Survey:
    """Rules, and the tests that name them."""
    rules: list
    tests: list
    # Files by the rules that their tests name: "TN-SES-3" -> "tests/unit/host/layers/devices/device_memory_test.cpp".
    files: dict
    not_observable: list = dataclasses.field(default_factory=list)
    released: list = dataclasses.field(default_factory=list)  # (id, line)

    def find(self, name):
        return next((rule for rule in self.rules if rule.id == name), None)

    def tests_of(self, name):
        return [test for test in self.tests if name in test.tags]


def lines_of(text):
    """(line, number) of the lines that are no comment, without white space around them."""
    return [(line.strip(), number) for number, line in enumerate(rulebook.split_lines(text), 1)
            if line.strip() and not line.startswith("#")]


def read_not_observable(text):
    """The list of such rules: a line each, the id first. Lines that begin with # are comments."""
    return [NotObservable(line.partition(" ")[0], line.partition(" ")[2].strip(), number)
            for line, number in lines_of(text)]


def wrong_tests(survey):
    """Mistakes in the tests of the kit."""
    out = []
    known = {"id": {}, "name": {}}
    for test in survey.tests:
        def complain(text, test=test):
            out.append(Problem(test.file, test.line, text))
        for what, text in (("id", test.id), ("name", test.name)):
            other = known[what].setdefault(text, test)
            if other is not test:
                complain(f'"{text}" is the {what} of a test in {other.file}:{other.line} already')
        if not test.id.startswith(f"{test.tags[0]}/"):
            complain(f'"{test.id}" does not begin with its suite [{test.tags[0]}]')
        if not test.rules:
            complain(f'"{test.name}" names no rule in its tags')
        for name in test.rules:
            rule = survey.find(name)
            if rule is None:
                complain(f"{name} is not a rule of the boundary")
            elif rule.is_of_hosts:
                complain(f"{name} is a rule for hosts; no plugin can break it")
    return out


def wrong_exceptions(survey):
    """Mistakes in the list of rules that cannot be observed."""
    out = []
    for exception in survey.not_observable:
        name, rule = exception.rule, survey.find(exception.rule)
        if rule is None:
            wrong = {" is not a rule of the boundary": True}
        else:
            wrong = {
                " is a rule for hosts, which the kit never judges": rule.is_of_hosts,
                " has no reason that ends with a full stop": not exception.reason.endswith("."),
                " has a conformance test": survey.tests_of(name),
                " is in no unit test's tags either": name not in survey.files,
            }
        out += [Problem(NOT_OBSERVABLE, exception.line, name + text) for text, is_wrong in wrong.items() if is_wrong]
    return out


def untested(survey):
    """Rules of hosts that no test in tests/ names, and rules of plugins that no conformance test names, although one
    could."""
    excepted = {exception.rule for exception in survey.not_observable}
    out = []
    for rule in survey.rules:
        if rule.is_of_hosts:
            text = "" if rule.id in survey.files else " is in no test's tags"
        else:
            text = "" if survey.tests_of(rule.id) or rule.id in excepted else " has no conformance test"
        if text:
            out.append(Problem(f"include/{rule.header}", rule.line, rule.id + text))
    return out


def lost_ids(survey):
    """Ids that subject files, baselines and scripts may have, and that no test has any more."""
    ids = {test.id for test in survey.tests}
    return [Problem(RELEASED, line, f'no test has the id "{name}" any more: it was released') for name, line in
            survey.released if name not in ids]


def read_repository(root):
    """Everything in the repository that concerns rules, and the mistakes in headers and suites."""
    rules, wrong_headers = rulebook.read_boundary(root)
    tests, wrong_suites = rulebook.read_kit(root)
    for problem in wrong_headers:
        problem.file = f"include/{problem.file}" if problem.line else problem.file
    files = collections.defaultdict(set)
    for file, text in rulebook.read_files(root / "tests", "tests", {".cpp", ".py"}).items():
        if not file.startswith(f"{rulebook.SUITES}/"):
            for name in rulebook.rule_tags(text):
                files[name].add(file)
    texts = {name: (root / name).read_text(encoding="utf-8") if (root / name).exists() else ""
             for name in (NOT_OBSERVABLE, RELEASED)}
    survey = Survey(rules, tests, dict(files), read_not_observable(texts[NOT_OBSERVABLE]), lines_of(texts[RELEASED]))
    no_ids = [] if (root / RELEASED).exists() else [Problem(RELEASED, 0, "is missing; it lists the released ids")]
    return survey, wrong_headers + wrong_suites + no_ids


def render_ids(survey):
    """The list of the released ids, with the ids of new tests."""
    ids = sorted({name for name, _ in survey.released} | {test.id for test in survey.tests})
    return ("# Ids that subject files, baselines and command lines may have: each stays the id of a test, which may get another\n"
            "# name. tests/conformance/rules/check.py adds the ids of new tests, at a release.\n" +
            "".join(f"{name}\n" for name in ids))


def main():
    if len(sys.argv) not in (2, 3) or sys.argv[2:] not in ([], ["release"]):
        print(__doc__, file=sys.stderr)
        sys.exit(2)
    root = pathlib.Path(sys.argv[1])
    survey, problems = read_repository(root)
    problems += wrong_tests(survey) + wrong_exceptions(survey) + untested(survey) + lost_ids(survey)
    for problem in problems:
        print(f"not ok: {problem}")
    print(f"{len(survey.rules)} rules, {len(survey.tests)} conformance tests, {len(problems)} problems")
    if problems:
        sys.exit(1)
    if sys.argv[2:]:
        (root / RELEASED).write_text(render_ids(survey), encoding="utf-8")


if __name__ == "__main__":
    main()
