#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests of `./dev rest`: which slices there are, how they run, what is recorded, and what `.ci/run` prints.

usage: rest_test.py BUILD SOURCE
"""

import io
import json
import math
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from unittest import mock

sys.dont_write_bytecode = True
DEV = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(DEV.parent))

from dev import all_tests, suites as suites_of_meson, totals  # noqa: E402  pylint: disable=wrong-import-position
from dev.cross.command import TARGETS  # noqa: E402  pylint: disable=wrong-import-position
from dev.rest import record, runner  # noqa: E402  pylint: disable=wrong-import-position
from dev.rest.in_copy import InCopy  # noqa: E402  pylint: disable=wrong-import-position
from dev.rest.slices import MAX_MINUTES, SLICES, Slice  # noqa: E402  pylint: disable=wrong-import-position
from dev.totals import Totals  # noqa: E402  pylint: disable=wrong-import-position

build, source = map(pathlib.Path, sys.argv[1:3])
# These tests are no part of `.ci/run`, which may have no time left when they start.
os.environ.pop(runner.CI_STARTED, None)


def chosen_by(words):
    """The suites that words of `meson test` take, and those that they leave out."""
    return [{words[i + 1] for i, word in enumerate(words) if word == option} for option in ("--suite", "--no-suite")]


def selections(command):
    """What the slices with this `./dev` command and suites choose."""
    return [chosen_by(words) for each in SLICES for _, words in each.words()
            if words[:2] == ["./dev", command] and "--suite" in words and "--threads" not in words]


def takes(chosen, suites):
    """Whether a test of these suites is in one of the selections."""
    return any((not wanted or suites & wanted) and not suites & unwanted for wanted, unwanted in chosen)


def tests_of_build():
    """{test: its suites} of the build."""
    shown = subprocess.run(["meson", "introspect", "--tests", build], capture_output=True, text=True, check=True).stdout
    return {test["name"]: {suite.split(":")[-1] for suite in test["suite"]} for test in json.loads(shown)}


def is_running(process):
    """Whether a process is there and not only its exit status."""
    status = pathlib.Path("/proc", process, "status")
    return status.exists() and "\nState:\tZ" not in status.read_text()


class Table(unittest.TestCase):
    def test_names_are_unique_and_each_slice_is_short(self):
        names = [each.name for each in SLICES]
        self.assertEqual(len(names), len(set(names)))
        for each in SLICES:
            self.assertRegex(each.name, r"^[a-z][a-z0-9-]*$")
            self.assertLessEqual(each.minutes, MAX_MINUTES, each.name)
            self.assertTrue(each.commands and each.about, each.name)

    def test_each_test_is_in_a_slice_of_each_build(self):
        never = {"slow", "package", "install", "ages", "gates"}
        tests = tests_of_build()
        self.assertGreater(len(tests), 50)
        for name, suites in tests.items():
            if not suites & never:
                with self.subTest(name):
                    self.assertTrue(takes(selections("quick"), suites))

    def test_each_test_is_in_dev_test_or_in_a_slice(self):
        of_ci = [chosen_by(words) for words in (all_tests.PLAIN, all_tests.SANITIZED, all_tests.THREADS)]
        left = {name: suites for name, suites in tests_of_build().items() if not takes(of_ci, suites)}
        self.assertTrue(left)
        for name, suites in left.items():
            with self.subTest(name):
                self.assertTrue(takes(selections("slow"), suites))

    def test_each_test_that_can_run_so_is_in_dev_test_or_in_a_slice_with_the_sanitizers(self):
        chosen = [chosen_by(all_tests.SANITIZED), *selections("sanitized")]
        _, never = chosen_by(suites_of_meson.NEVER_SANITIZED)
        for name, suites in tests_of_build().items():
            if suites & {"unit", "kernels", "conformance", "slow", "fuzz"} and not suites & {*never, "package"}:
                with self.subTest(name):
                    self.assertTrue(takes(chosen, suites))

    def test_each_platform_of_cross_is_in_a_slice(self):
        ours = {words[2] for each in SLICES for _, words in each.words() if words[:2] == ["./dev", "cross"]}
        self.assertEqual(ours, set(TARGETS))

    def test_each_exported_model_is_in_a_slice(self):
        models = re.findall(r'^    "(\w+)": Case\(', (source / "tests/live/models/cases.py").read_text(), re.M)
        self.assertGreater(len(models), 15)
        ours = [words[i + 1] for each in SLICES for _, words in each.words() if "models" in words
                for i, word in enumerate(words) if word == "--only"]
        self.assertEqual(sorted(ours), sorted(models))


class Runs(unittest.TestCase):
    def run_slice(self, *commands, minutes=1.0):
        out = io.StringIO()
        return runner.run_slice(Slice("one", "a test", commands, minutes), out), out.getvalue()

    def test_commands_are_counted_by_their_totals_or_as_one(self):
        outcome, _ = self.run_slice("echo 'x 9 passed, 9 failed'", "printf '2 passed, 0 failed, 1 skipped\\n3 passed, 0 failed, 1 "
                                    "skipped\\n'", "echo 'arm64: 4 passed, 0 failed'", "sh -c 'exit 77'")
        self.assertEqual(outcome.totals, Totals(8, 0, 2))

    def test_a_command_that_fails_is_a_failure_whatever_it_printed(self):
        for command, expected in (("false", Totals(0, 1, 0)), ("sh -c 'echo 3 passed, 0 failed; exit 1'", Totals(3, 1, 0)),
                                  ("sh -c 'echo 3 passed, 2 failed; exit 1'", Totals(3, 2, 0)),
                                  ("sh -c 'kill -SEGV $$'", Totals(0, 1, 0))):
            with self.subTest(command):
                outcome, shown = self.run_slice(command)
                self.assertEqual(outcome.totals, expected)
                self.assertIn(f"failed: {command}: {expected}, exit status ".replace("'", ""), shown)

    def test_a_command_beyond_its_limit_is_ended_with_what_it_started(self):
        # On a busy machine the shell may print nothing within the first limit.
        for limit in (0.5, 5, 50):
            out = io.StringIO()
            found = runner.run_command({}, ["sh", "-c", "sleep 600 & echo $!; echo 5 passed, 0 failed; wait"], limit, out)
            if found.passed:
                break
        self.assertEqual(found, Totals(5, 1, 0))
        self.assertIn("did not end within", out.getvalue())
        self.assertFalse(is_running(out.getvalue().split()[0]))

    def test_variables_before_a_program_are_its_environment(self):
        outcome, shown = self.run_slice("GREETING=hello sh -c 'echo $GREETING $TENON_TIMEOUTS'")
        self.assertIn("hello 3\n", shown)
        self.assertEqual(outcome.totals, Totals(1, 0, 0))

    def test_nothing_is_started_when_ci_has_no_time_left(self):
        self.assertEqual(runner.time_left({}, 10_000), math.inf)
        self.assertEqual(runner.time_left({runner.CI_STARTED: "1000"}, 1100), runner.CI_SECONDS - 100)
        for seconds, minutes in ((-1, 0), (90, 2)):
            with mock.patch.dict(os.environ, {runner.CI_STARTED: str(time.time() - runner.CI_SECONDS + seconds)}):
                outcome, shown = self.run_slice("echo no", minutes=minutes)
            self.assertEqual((outcome.totals, outcome.left, shown), (Totals(0, 0, 1), ["echo no"], ""))

    def test_what_still_runs_at_the_end_of_ci_is_ended_and_is_no_failure(self):
        with mock.patch.dict(os.environ, {runner.CI_STARTED: str(time.time() - runner.CI_SECONDS + 3)}):
            outcome, shown = self.run_slice("sleep 600", "echo no", minutes=0)
        self.assertEqual((outcome.totals, outcome.left), (Totals(0, 0, 2), ["sleep 600", "echo no"]))
        self.assertIn("skipped: sleep 600: did not end within", shown)


def result(name, commits, failed=0, passed=1):
    return {"slice": name, "commit": "abc", "tree": f"tree {commits}", "commits": commits, "committed": commits,
            "date": "2026-11-24", "passed": passed, "failed": failed, "skipped": 0, "seconds": 1, "processor_seconds": 1,
            "processors": 2}


def past(count):
    """A history of so many commits, one each second."""
    return [(number, f"tree {number}") for number in range(count, 0, -1)]


class Record(unittest.TestCase):
    SLICES = (Slice("one", "a", ("true",), 1, since=100), Slice("two", "b", ("true",), 1, since=100))

    def test_the_last_result_of_each_slice_is_kept_with_its_last_run_without_a_failure(self):
        kept = {}
        for each in (result("one", 200), result("one", 210, failed=1), result("one", 205), result("two", 210, passed=0)):
            record.take(kept, each)
        self.assertEqual((kept["one"]["commits"], kept["one"]["failed"], kept["one"]["green"]), (210, 1, 200))
        # One in which everything was skipped shows nothing.
        self.assertIsNone(kept["two"]["green"])

    def test_slices_that_are_too_old_are_named(self):
        kept = {}
        record.take(kept, result("one", 200))
        self.assertEqual(record.ages(self.SLICES, kept, past(400)), ([], ["two: never ran"]))
        old, notes = record.ages(self.SLICES, kept, past(401))
        self.assertEqual(len(old), 1)
        self.assertIn("two: never ran, expected at most 300", old[0])
        old, notes = record.ages(self.SLICES, kept, past(501))
        self.assertIn("one: last ran without a failure 301 commits ago", old[0])
        record.take(kept, result("one", 501, failed=2))
        old, notes = record.ages(self.SLICES, kept, past(501))
        self.assertEqual(len(old), 2)
        record.take(kept, result("one", 501))
        record.take(kept, result("gone", 501))
        old, notes = record.ages(self.SLICES, kept, past(501))
        self.assertEqual([text.split(":")[0] for text in old], ["two", "gone"])
        self.assertEqual(notes, [])

    def test_ages_survive_a_squash_and_a_history_that_is_shorter(self):
        kept = {}
        record.take(kept, result("one", 200))
        one = kept["one"]
        self.assertEqual(record.age_of(200, one, past(250)), 50)
        # All commits before the tree became one with it.
        self.assertEqual(record.age_of(200, one, past(250)[:51]), 50)
        # The tree is gone, as are the twenty commits around it: they became one that is newer.
        self.assertEqual(record.age_of(200, one, [*past(250)[:40], (211, "squashed"), *past(190)]), 41)
        # An old record has the number alone.
        self.assertEqual([record.age_of(200, {"green": 200}, past(count)) for count in (250, 100)], [50, 0])
        # After a squash the number of commits of a newer result is smaller.
        record.take(kept, result("one", 300) | {"commits": 20})
        self.assertEqual((kept["one"]["green"], kept["one"]["green_tree"]), (20, "tree 300"))
        record.take(kept, {"slice": "old", "green": 5} | {name: value for name, value in result("old", 5).items()
                                                         if name not in ("tree", "committed")})
        record.take(kept, result("old", 6))
        self.assertEqual(kept["old"]["green_committed"], 6)

    def test_the_record_is_read_as_it_was_written(self):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            (root / record.FILE).parent.mkdir(parents=True)
            self.assertEqual(record.read(root), {})
            kept = {}
            record.take(kept, result("one", 200))
            record.write(kept, root)
            self.assertEqual(record.read(root), kept)


class CommandLine(InCopy):
    def test_all_slices_run_in_turn_and_are_recorded_where_the_tree_is_that_of_a_commit(self):
        shown = self.run_it("./dev", "rest")
        self.assertEqual(shown.splitlines()[-1], "3 passed, 0 failed, 0 skipped")
        self.assertIn("two: not recorded", shown)
        self.commit()
        self.run_it("./dev", "rest")
        self.assertEqual({name: (one["passed"], one["commits"], one["green"]) for name, one in self.recorded().items()},
                         {"one": (1, 1, 1), "two": (2, 1, 1)})
        # A changed record is no other tree.
        self.commit()
        for _ in range(2):
            self.assertNotIn("not recorded", self.run_it("./dev", "rest"))
        self.assertEqual(self.recorded()["two"]["commits"], 2)
        self.assertEqual(self.recorded()["two"]["tree"], self.git("rev-parse", "HEAD^{tree}").strip())
        (self.root / "other").write_text("")
        self.assertIn("one: not recorded", self.run_it("./dev", "rest", "--slice", "0"))

    def test_the_slice_follows_from_the_number_of_commits(self):
        self.commit()
        self.run_it("./dev", "rest")
        for name in ("one", "two", "one"):
            self.commit()
            self.assertIn(f"== rest: {name}:", self.run_it("./dev", "rest", "--slice", "auto"))

    def test_a_slice_that_never_ran_without_a_failure_has_no_turn(self):
        self.slices(("one", "false"), ("two", "true"))
        self.commit()
        self.run_it("./dev", "rest", expect=1)
        for _ in range(2):
            self.commit()
            self.assertIn("== rest: two:", self.run_it("./dev", "rest", "--slice", "auto"))

    def test_only_a_slice_for_which_ci_has_the_time_has_a_turn(self):
        self.slices(("long", "true", 12), ("one", "true", 4), ("two", "true", 5), ("gcc", "./dev slow --help", 1))
        self.commit()
        self.run_it("./dev", "rest")
        started = {runner.CI_STARTED: str(time.time() - runner.CI_SECONDS + 6 * 60)}
        seen = set()
        for _ in range(3):
            self.commit()
            seen |= set(re.findall(r"== rest: (\w+):", self.run_it("./dev", "rest", "--slice", "auto", **started)))
        self.assertEqual(seen, {"one", "two"})
        late = {runner.CI_STARTED: str(time.time() - runner.CI_SECONDS + 3 * 60)}
        self.assertEqual(self.run_it("./dev", "rest", "--slice", "auto", **late).split("\n")[-2],
                         "0 passed, 0 failed, 0 skipped")

    def test_slices_are_listed_and_named(self):
        listed = json.loads(self.run_it("./dev", "rest", "--list", "--json"))
        self.assertEqual([each["name"] for each in listed], ["one", "two"])
        self.assertIn("one", self.run_it("./dev", "rest", "--list"))
        found = json.loads(self.run_it("./dev", "rest", "--slice", "two", "--json"))
        self.assertEqual((found["passed"], found["slices"][0]["slice"]), (2, "two"))
        self.run_it("./dev", "rest", "--slice", "three", expect=2)
        self.run_it("./dev", "rest", "--slice", "2", expect=2)

    def test_what_a_slice_started_ends_with_it(self):
        self.slices(("one", "sh -c 'echo $$ >started; sleep 600'"))
        for sign, status in ((signal.SIGTERM, 143), (signal.SIGHUP, 129)):
            (self.root / "started").unlink(missing_ok=True)
            with subprocess.Popen(["./dev", "rest"], cwd=self.root, env=self.environment, stdout=subprocess.DEVNULL) as rest:
                while not (self.root / "started").exists() or not (self.root / "started").read_text().strip():
                    time.sleep(0.05)
                rest.send_signal(sign)
                self.assertEqual(rest.wait(), status)
            self.assertFalse(is_running((self.root / "started").read_text().strip()))

    def test_ci_ends_with_one_line_of_totals_over_both(self):
        self.commit()
        shown = self.run_it(".ci/run")
        self.assertEqual(shown.splitlines()[-1], "9 passed, 0 failed, 1 skipped")
        self.assertEqual(self.recorded(), {})
        (self.root / "log").write_text(shown)
        self.run_it("./dev", "rest", "--take", "log")
        self.assertEqual(self.recorded()["two"]["passed"], 2)

    def test_a_failure_of_either_fails_ci(self):
        self.commit()
        self.dev("echo 7 passed, 1 failed, 0 skipped; exit 1")
        self.assertEqual(self.run_it(".ci/run", expect=1).splitlines()[-1], "9 passed, 1 failed, 0 skipped")
        self.dev("exit 1")
        self.assertEqual(self.run_it(".ci/run", expect=1).splitlines()[-1], "2 passed, 1 failed, 0 skipped")
        self.dev("echo 7 passed, 0 failed, 0 skipped")
        self.slices(("one", "true"), ("two", "false"))
        self.assertEqual(self.run_it(".ci/run", expect=1).splitlines()[-1], "7 passed, 1 failed, 0 skipped")


class Sums(unittest.TestCase):
    def test_lines_that_are_no_totals_are_none(self):
        self.assertEqual(totals.of_line("windows-quick: 3 passed, 1 failed\n"), Totals(3, 1, 0))
        for line in ("3 passed", "about 3 passed, 1 failed", "3 passed, 1 failed, and more", "-3 passed, 1 failed"):
            self.assertIsNone(totals.of_line(line), line)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
