# SPDX-License-Identifier: MIT
"""`pytest --tenon-plugin acme.so`: the tests of tenon-conformance, an item each.

A plugin's file is a node of pytest, and its items have the paths that `tenon-conformance --list` prints:

    acme.so::arguments/leaves-inputs-unchanged/AcmeBackend/add

The kit is run once for each plugin, when the first of its items is: with all tests, or with those that were
selected. In a worker of pytest-xdist each item has a run of its own, as no worker knows what the others run.
"""

from __future__ import annotations

import json
import os
import pathlib
import re
import subprocess
import tempfile
from collections.abc import Generator, Iterator
from typing import Any

import pytest

from . import _programs

# Path, rules and name; what its loads take is behind the rules, and in a line of its own for all tests.
_LISTED = re.compile(r"(.*)  \(level \d+;([^;)]*)(?:;[^)]*)?\) (.*)")
_SPECIAL = re.compile(r"([\\*?[])")
_NOT_JUDGED = ("not_applicable", "unsupported", "blocked")
# Of the kit: rules are broken or tests blocked, which the report says of each test.
_JUDGED = (0, 1)
# Of each plugin that was judged: whether it passes, and the kit's line.
_VERDICTS = pytest.StashKey[list[tuple[pathlib.Path, bool, str]]]()


class Kit:
    """One plugin or subject file, and the program that judges it."""

    def __init__(self, path: pathlib.Path, words: list[str], program: str) -> None:
        self.path = path
        self._command = [program, *words]

    def tests(self) -> list[tuple[str, list[str], str]]:
        """For each test of the level its path, rules and name. The plugin is not loaded."""
        done = subprocess.run([*self._command, "--list"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, encoding="utf-8", errors="backslashreplace", check=False)
        if done.returncode != 0:
            raise KitError(done.stderr.strip() or f"tenon-conformance --list ended with {done.returncode}")
        return [(found[1], found[2].split(), found[3])
                for found in map(_LISTED.fullmatch, done.stdout.splitlines()) if found]

    def judge(self, *selection: str) -> dict[str, Any]:
        """The report of a run of the kit."""
        with tempfile.TemporaryDirectory(prefix="tenon-pytest-") as folder:
            file = pathlib.Path(folder, "report.json")
            done = subprocess.run([*self._command, *selection, f"--json={file}", "--color=never"],
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                  encoding="utf-8", errors="backslashreplace", check=False)
            if done.returncode not in _JUDGED or not file.is_file():
                raise KitError(done.stderr.strip() or f"tenon-conformance ended with {done.returncode} and no report")
            report: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
            if report["good"] and done.returncode != 0:  # Such as a declaration of the subject file that is not needed.
                report |= {"good": False, "verdict": done.stderr.strip()}
            return report


class KitError(Exception):
    """The kit could not judge: its own message."""


class KitFile(pytest.File):
    """A plugin's file, or a subject file without one."""

    kit: Kit

    def collect(self) -> Iterator[KitItem]:
        try:
            listed = self.kit.tests()
        except KitError as failure:
            raise self.CollectError(str(failure)) from failure
        self._results: dict[str, dict[str, Any]] | None = None
        self._failure: KitError | None = None
        self._listed = len(listed)
        for path, rules, about in listed:
            yield KitItem.from_parent(self, name=path, rules=rules, about=about)

    def result(self, item: KitItem) -> dict[str, Any]:
        """What the kit found in the test of an item."""
        if hasattr(self.config, "workerinput"):
            tests = _by_path(self.kit.judge(f"--test={item.name}", "--jobs=1"))
        else:
            tests = self._judge_selected()
        try:
            return tests[item.name]
        except KeyError:
            raise KitError(f"the kit's report has no test {item.name}") from None

    def _judge_selected(self) -> dict[str, dict[str, Any]]:
        if self._failure:
            raise self._failure
        if self._results is None:
            selected = [item.name for item in self.session.items if item.parent is self]
            globs = [] if len(selected) == self._listed else [
                "--only=" + _SPECIAL.sub(r"\\\1", name) for name in selected]
            try:
                report = self.kit.judge(*globs)
            except KitError as failure:
                self._failure = failure
                raise
            self._results = _by_path(report)
            self.config.stash[_VERDICTS].append((self.path, report["good"], report["verdict"]))
        return self._results


class KitItem(pytest.Item):
    """A test of the kit."""

    parent: KitFile

    def __init__(self, *, rules: list[str], about: str, **more: Any) -> None:
        super().__init__(**more)
        self._about = about
        self.result: dict[str, Any] = {}
        self.add_marker("tenon")
        self.extra_keyword_matches.update(rules)
        self.user_properties.append(("rules", " ".join(rules)))

    def setup(self) -> None:
        """Runs the kit, if that was not done. What is no judgement ends here: skipped, or an error."""
        try:
            self.result = self.parent.result(self)
        except KitError as failure:
            pytest.fail(str(failure), pytrace=False)
        outcome, reason = self.result["outcome"], self.result["reason"]
        self.user_properties.append(("outcome", outcome))
        if outcome == "kit_error":
            pytest.fail(f"an error of the kit itself: {reason}", pytrace=False)
        if outcome in _NOT_JUDGED:
            pytest.skip(f"{outcome.replace('_', ' ')}: {reason}")

    def runtest(self) -> None:
        if self.result["output"]:
            self.add_report_section("call", "stdout", self.result["output"])
        outcome = self.result["outcome"]
        if outcome == "expected_failure":
            pytest.xfail(self.result["reason"])
        if outcome != "passed":
            pytest.fail("\n".join(self._found()), pytrace=False)

    def _found(self) -> Iterator[str]:
        yield f"{self._about}: {self.result['outcome'].replace('_', ' ')}"
        if self.result["reason"]:
            yield self.result["reason"]
        for finding in self.result["findings"]:
            yield f"{finding['rule']}  {finding['text']}".strip()
        for crash in self.result["crashes"]:
            yield from (f"{name}: {value}" for name, value in crash.items() if value not in (None, "", []))

    def reportinfo(self) -> tuple[pathlib.Path, int | None, str]:
        return self.path, None, self.name


class KitPlugin:
    """The hooks, in a run with one of the options."""

    def __init__(self, kits: list[Kit]) -> None:
        self._kits = {kit.path: kit for kit in kits}
        self._leading = {place for path in self._kits for place in (path, *path.parents)}
        self._opened: set[pathlib.Path] = set()
        self._blocked = 0

    @pytest.hookimpl(hookwrapper=True)
    def pytest_ignore_collect(self, collection_path: pathlib.Path) -> Generator[None, Any, None]:
        """Opens folders that pytest leaves out, such as build and a virtual environment's, for a plugin in them alone: since
        version 9 a file's argument counts for nothing when a folder above it is an argument as well."""
        made = yield
        is_inside = collection_path.parent in self._opened
        if collection_path not in self._leading:
            if is_inside:
                made.force_result(True)
        elif is_inside or made.get_result():
            self._opened.add(collection_path)
            made.force_result(False)

    def pytest_collect_file(self, file_path: pathlib.Path, parent: pytest.Collector) -> KitFile | None:
        # Once: before pytest 8 the folder that has it collects it again.
        kit = self._kits.pop(file_path, None)
        if kit is None:
            return None
        file = KitFile.from_parent(parent, path=file_path)
        file.kit = kit
        return file

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, Any, None]:
        """The time is that of the test's process, and not that of waiting for the whole run."""
        made = yield
        if isinstance(item, KitItem) and item.result:
            report = made.get_result()
            report.duration = item.result["seconds"] or 0.0 if call.when == "call" else 0.0

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "setup" and ("outcome", "blocked") in map(tuple, report.user_properties):
            self._blocked += 1

    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        """What could not be judged is no success: the exit code of the kit is 1 then."""
        is_good = all(good for _, good, _ in session.config.stash[_VERDICTS]) and not self._blocked
        if exitstatus == pytest.ExitCode.OK and not is_good:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        verdicts = terminalreporter.config.stash[_VERDICTS]
        if not verdicts and not self._blocked:
            return
        terminalreporter.section("tenon-conformance")
        for path, _, verdict in verdicts:
            terminalreporter.line(f"{path}: {verdict}")
        if not verdicts:
            were = "was" if self._blocked == 1 else "were"
            terminalreporter.line(f"INCOMPLETE: {self._blocked} of the tests {were} blocked")


def _by_path(report: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {_path_of(test): test for subject in report["subjects"] for test in subject["tests"]}


def _path_of(test: dict[str, Any]) -> str:
    parts = [test["id"] or f"{test['suite']}/{test['name']}", test["backend"], test["case"],
             f"#{test['repeat'] + 1}" if test["repeat"] else ""]
    return "/".join(filter(None, parts))


def _existing(option: str, paths: list[pathlib.Path], base: pathlib.Path) -> list[pathlib.Path]:
    found = [pathlib.Path(os.path.abspath(base / path)) for path in paths]
    for path in found:
        if not path.exists():
            raise pytest.UsageError(f"{option}: there is no file {path}")
    return found


def register(config: pytest.Config) -> None:
    """Adds the plugins and subjects of the options to what is collected."""
    base = config.invocation_params.dir
    plugins = _existing("--tenon-plugin", config.getoption("tenon_plugin"), base)
    subjects = _existing("--tenon-subject", config.getoption("tenon_subject"), base)
    cases = _existing("--tenon-cases", config.getoption("tenon_cases"), base)
    program = os.environ.get("TENON_CONFORMANCE") or _programs.find("conformance")
    if program is None or not os.access(program, os.X_OK):
        where = f"{program} (TENON_CONFORMANCE)" if program else f"tenon-conformance is {_programs.places()}"
        raise pytest.UsageError(f"--tenon-plugin: there is no conformance kit: {where}")
    level = config.getoption("tenon_level")
    common = [f"--cases={path}" for path in cases] + ([f"--level={level}"] if level else [])
    kits = []
    if len(plugins) == len(subjects) == 1:  # They belong together, as the kit has it.
        kits.append(Kit(plugins[0], [str(plugins[0]), f"--subject={subjects[0]}", *common], str(program)))
    else:
        kits += [Kit(path, [str(path), *common], str(program)) for path in plugins]
        kits += [Kit(path, [f"--subject={path}", *common], str(program)) for path in subjects]
    config.stash[_VERDICTS] = []
    config.pluginmanager.register(KitPlugin(kits), "tenon-kit")
    given = {os.path.abspath(base / str(each).partition("::")[0]) for each in config.args}
    config.args[:0] = [str(kit.path) for kit in kits if str(kit.path) not in given]
