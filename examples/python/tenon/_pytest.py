# SPDX-License-Identifier: MIT
"""`pytest --tenon-plugin acme.so`: the tests of tenon-conformance, an item each.

A plugin's file is a node of pytest, and its items have the paths that `tenon-conformance --list` prints:

    acme.so::arguments/leaves-inputs-unchanged/AcmeBackend/add

The kit is run once for each plugin, when the first of its items is: with all tests, or with those that were
selected. In a worker of pytest-xdist each item has a run of its own, as no worker knows what the others run.
"""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import re
import subprocess
import tempfile
from collections.abc import Callable, Generator, Iterator
from typing import Any

import pytest

from . import _programs

# Path, rules and name; what its loads take is behind the rules, and in a line of its own for all tests.
_LISTED = re.compile(r"(.*)  \(level \d+;([^;)]*)(?:;[^)]*)?\) (.*)")
_SPECIAL = re.compile(r"([\\*?[])")
_PROGRESS = re.compile(r"\[ *(\d+)/(\d+)\] ")
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

    def judge(self, *selection: str, show: Callable[[str], object] | None = None) -> dict[str, Any]:
        """The report of a run of the kit. `show` gets the text of the progress after each test."""
        with tempfile.TemporaryDirectory(prefix="tenon-pytest-") as folder:
            file = pathlib.Path(folder, "report.json")
            words = [*self._command, *selection, f"--json={file}", "--color=never", *(["--progress"] if show else [])]
            said = ""
            with subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                  encoding="utf-8", errors="backslashreplace") as kit:
                for line in kit.stderr or ():
                    progress = _PROGRESS.match(line)
                    if not progress:
                        said += line
                    elif show:
                        show(f"{self.path.name}: {progress[1]} of {progress[2]} tests")
            if kit.returncode not in _JUDGED or not file.is_file():
                raise KitError(said.strip() or f"tenon-conformance ended with {kit.returncode} and no report")
            report: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
            if report["good"] and kit.returncode != 0:  # Such as a declaration of the subject file that is not needed.
                report |= {"good": False, "verdict": said.strip()}
            return report


@contextlib.contextmanager
def _shown(item: pytest.Item) -> Iterator[Callable[[str], object] | None]:
    """A function that shows a text in place of the item's line of a terminal until the end; None elsewhere."""
    terminal = item.config.pluginmanager.getplugin("terminalreporter")
    if terminal is None or not terminal.isatty:
        yield None
        return
    capture = item.config.pluginmanager.getplugin("capturemanager")  # Else the first item would get the output.
    with capture.global_and_fixture_disabled() if capture else contextlib.nullcontext():
        try:
            yield lambda text: terminal.rewrite(text, erase=True, flush=True)
        finally:
            terminal.rewrite("", erase=True)
            terminal.rewrite("")
            terminal.ensure_newline()  # So that the line of the item is written again.
            terminal.pytest_runtest_logstart(item.nodeid, item.location)


class KitError(Exception):
    """The kit could not judge: its own message."""


class KitFile(pytest.File):
    """A plugin's file, or a subject file without one."""

    kit: Kit

    @classmethod
    def of(cls, kit: Kit, parent: pytest.Collector) -> KitFile:
        file: KitFile = cls.from_parent(parent, path=kit.path)
        file.kit = kit
        return file

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
            tests = self._judge_selected(item)
        try:
            return tests[item.name]
        except KeyError:
            raise KitError(f"the kit's report has no test {item.name}") from None

    def _judge_selected(self, item: KitItem) -> dict[str, dict[str, Any]]:
        if self._failure:
            raise self._failure
        if self._results is None:
            selected = [item.name for item in self.session.items if item.parent is self]
            globs = [] if len(selected) == self._listed else [
                "--only=" + _SPECIAL.sub(r"\\\1", name) for name in selected]
            try:
                with _shown(item) as show:
                    report = self.kit.judge(*globs, show=show)
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

    def __init__(self, kits: list[Kit], given: set[pathlib.Path]) -> None:
        """`given` are those kits' paths that are arguments of pytest, too, such as those with the path of a test."""
        self._kits = {kit.path: kit for kit in kits}
        self._given = given
        self._blocked = 0

    def pytest_collect_file(self, file_path: pathlib.Path, parent: pytest.Collector) -> KitFile | None:
        # Once: before pytest 8 the folder that has it collects it again.
        kit = self._kits.pop(file_path, None) if file_path in self._given else None
        return KitFile.of(kit, parent) if kit else None

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, session: pytest.Session, items: list[pytest.Item]) -> None:
        """Puts the others before the tests of the arguments. They are no arguments themselves: with a folder as an
        argument, versions 8 and 9 leave out one of the two, or what is in folders such as build and a virtual
        environment's."""
        files = [KitFile.of(kit, session) for kit in self._kits.values()]
        items[:0] = [item for file in files for item in session.genitems(file)]

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, Any, None]:
        """Counts the time of the test's process, and not the wait for the whole run."""
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
    given = {pathlib.Path(os.path.abspath(base / str(each).partition("::")[0])) for each in config.args}
    config.pluginmanager.register(KitPlugin(kits, given & {kit.path for kit in kits}), "tenon-kit")
