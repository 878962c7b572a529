#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests of `./dev`: what it selects, counts, installs, starts and ends.

usage: dev_test.py BUILD SOURCE
"""

import argparse
import contextlib
import io
import json
import os
import pathlib
import signal
import subprocess
import sys
import time
import unittest
from unittest import mock

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from dev import builds, packages, suites, targets  # noqa: E402  pylint: disable=wrong-import-position
from dev.in_folder import InFolder  # noqa: E402  pylint: disable=wrong-import-position
from dev.part import Failed, alone  # noqa: E402  pylint: disable=wrong-import-position
from dev.progress import Progress  # noqa: E402  pylint: disable=wrong-import-position
from dev.totals import FAILED, PASSED, SKIPPED, Totals  # noqa: E402  pylint: disable=wrong-import-position

BUILD, SOURCE = (pathlib.Path(path).resolve() for path in sys.argv[1:3])


class Counts(InFolder):
    def test_a_program_that_fails_or_is_not_there_is_a_failure(self):
        self.part.check("good", ["true"])
        self.part.check("bad", ["sh", "-c", "echo why; exit 3"])
        self.part.check("none", ["no-such-program"])
        self.assertEqual((self.names(PASSED), self.names(FAILED)), (["good"], ["bad", "none"]))
        self.assertIn("why\n", self.printed())
        self.assertIn("dev: no-such-program: No such file or directory\n", self.printed())

    def test_a_function_fails_by_what_it_returns_and_by_its_failure(self):
        def fails():
            raise Failed("for this reason")

        self.part.check("good", lambda: None)
        self.part.check("bad", lambda: False)
        self.part.check("worse", fails)
        self.assertEqual((self.names(PASSED), self.names(FAILED)), (["good"], ["bad", "worse"]))
        self.assertIn("dev: for this reason\n", self.printed())

    def test_the_totals_are_the_last_line_after_the_names_of_failures(self):
        for name, outcome in (("one", PASSED), ("two", FAILED), ("three", SKIPPED), ("four", FAILED)):
            self.part.add(name, outcome)
        self.part.print_totals()
        self.assertEqual(self.printed(), "\nfailed: two\nfailed: four\n1 passed, 2 failed, 1 skipped\n")

    def test_an_aside_is_counted_and_shown_when_it_is_joined(self):
        def counts(part, name):
            part.check(name, ["sh", "-c", "echo from the aside; exit 1"])

        aside = self.part.aside("one", counts, "its check")
        self.assertTrue(self.part.join(aside))
        self.assertEqual(self.names(FAILED), ["its check"])
        self.assertIn("from the aside\n", self.printed())

    def test_an_aside_that_does_not_come_to_its_end_has_failed(self):
        def raises(part):
            part.check("first", ["true"])
            raise FileNotFoundError("no folder")

        self.assertFalse(self.part.join(self.part.aside("one", raises)))
        self.assertFalse(self.part.join(self.part.aside("two", lambda part: part.run(["false"]))))
        self.assertEqual(self.names(PASSED), ["first"])
        self.assertEqual(self.names(FAILED), ["one: FileNotFoundError: no folder", "two: false: exit status 1"])
        self.assertIn("Traceback", self.printed())

    def test_asides_run_at_the_same_time_and_one_of_a_name_alone(self):
        def waits(part, mine, other):
            pathlib.Path(mine).touch()
            part.run(["sh", "-c", f"for i in $(seq 600); do [ ! -f {other} ] || exit 0; sleep 0.05; done; exit 1"])

        def writes(_):
            with alone("log"):
                with open("log", "a", encoding="utf-8") as log:
                    log.write("in ")
                    log.flush()
                    time.sleep(0.05)
                    log.write("out ")

        pair = [self.part.aside("a", waits, "here", "there"), self.part.aside("b", waits, "there", "here")]
        self.assertTrue(all([self.part.join(each) for each in pair]))
        for aside in [self.part.aside(name, writes) for name in "cde"]:
            self.part.join(aside)
        self.assertEqual(pathlib.Path("log").read_text(encoding="utf-8"), "in out " * 3)

    def test_each_test_of_meson_is_a_check(self):
        os.makedirs("build/quick/meson-logs")
        results = [{"name": name, "result": result} for name, result in (
            ("a", "OK"), ("b", "EXPECTEDFAIL"), ("c", "SKIP"), ("d", "FAIL"), ("e", "TIMEOUT"))]
        lines = "\\n".join(map(json.dumps, results))
        self.program("meson", f"echo \"$@\"; printf '{lines}\\n' >build/quick/meson-logs/testlog.json; exit 1")
        with mock.patch.dict(os.environ, TENON_TIMEOUTS="3"):
            suites.run_tests(self.part, builds.QUICK, ["--suite", "lint"])
        self.assertIn("test -C build/quick --no-rebuild --print-errorlogs --timeout-multiplier 3 --suite lint\n",
                      self.printed())
        self.assertEqual(self.part.totals(), Totals(2, 2, 1))
        self.assertEqual(self.names(FAILED), ["quick: d: FAIL", "quick: e: TIMEOUT"])

    def test_a_run_of_meson_without_results_has_failed_and_an_older_one_does_not_count(self):
        os.makedirs("build/quick/meson-logs")
        log = pathlib.Path("build/quick/meson-logs/testlog.json")
        log.write_text('{"name": "old", "result": "OK"}\n', encoding="utf-8")
        self.program("meson", "exit 2")
        suites.run_tests(self.part, builds.QUICK, [])
        self.assertEqual(self.part.totals(), Totals(0, 1, 0))
        self.assertEqual(self.names(FAILED), ["quick: meson test: exit status 2"])


class Times(InFolder):
    def test_a_second_run_says_how_long_it_takes(self):
        first = Progress(["test"])
        self.assertRegex(first.at("one"), r"^one  \[0:00, processor \d+m\d+\.\d{3}s \d+m\d+\.\d{3}s\]$")
        first.started -= 185
        first.keep()
        self.assertRegex(Progress(["test"]).at("one"), r"^one  \[0:00, about 3:0\d left, processor ")
        self.assertNotIn("left", Progress(["test"]).at("two"))
        self.assertNotIn("left", Progress(["test", "--other"]).at("one"))


class Compiled(InFolder):
    TESTS = [{"name": name, "suite": [f"tenon:{suite}" for suite in of], "depends": depends} for name, of, depends in (
        ("core", ["unit"], ["core-test"]), ("run", ["unit", "programs"], ["run-test", "tenon-run"]),
        ("words", ["lint"], []), ("prefix", ["install"], ["inspect"]))]

    def select(self, suite=(), no_suite=(), test=()):
        return targets.select(self.TESTS, argparse.Namespace(suite=suite, no_suite=no_suite, test=test),
                              {"libtenon"})

    def test_what_selected_tests_need_is_compiled(self):
        self.assertEqual(self.select(suite=["unit"]), {"core-test", "run-test", "tenon-run"})
        self.assertEqual(self.select(suite=["unit"], no_suite=["programs"]), {"core-test"})
        self.assertEqual(self.select(suite=["lint"]), set())
        self.assertEqual(self.select(test=["core"]), {"core-test"})
        self.assertEqual(self.select(suite=["install"]), {"inspect", "libtenon"})
        with self.assertRaisesRegex(ValueError, "no test has the name other"):
            self.select(test=["core", "other"])

    def test_the_targets_of_a_build_exist(self):
        files = targets.of_tests([str(BUILD), "--test", "core"])
        self.assertTrue(files)
        shown = subprocess.run([SOURCE / ".ci/targets-of-tests", BUILD, "--test", "core"], capture_output=True, text=True,
                               check=True).stdout
        self.assertEqual(shown.split(), files)
        with self.assertRaises(SystemExit), contextlib.redirect_stderr(io.StringIO()) as errors:
            targets.of_tests([str(BUILD), "--test", "no such test"])
        self.assertIn("no test has the name no such test", errors.getvalue())

    def test_suites_alone_say_what_is_compiled(self):
        compiled = []
        self.patch(mock.patch.object(builds, "compile_in", lambda part, folder, names=None: compiled.append(names)))
        self.patch(mock.patch.object(targets, "of_tests", lambda words: ["some"] if "unit" in words else []))
        for words in (["--suite", "unit"], ["--suite", "lint"], [], ["--suite", "unit", "core"], ["core"]):
            builds.compile_selected(self.part, builds.QUICK, words)
        self.assertEqual(compiled, [["some"], None, None, None])

    def test_a_build_is_made_once_and_then_given_its_options(self):
        self.program("meson", 'echo "$CC $CXX $CC_LD: $*" >>log\n[ "$1" != setup ] || touch build/asan/build.ninja')
        self.program("ninja", 'echo "ninja $*" >>log')
        for _ in range(2):
            builds.configure(self.part, builds.ASAN)
        made, known, again, regenerated = pathlib.Path("log").read_text(encoding="utf-8").splitlines()
        self.assertTrue(made.startswith("clang clang++ lld: setup build/asan --werror -Dbuildtype=debug "
                                        "-Db_sanitize=address,undefined -Db_lundef=false -Dfuzz=true "), made)
        self.assertIn(": configure build/asan -Dbuildtype=debug -Db_sanitize=address,undefined", again)
        # Before it an option that is new since the build was made is unknown; after it targets have other names.
        self.assertEqual([known, regenerated], ["ninja -C build/asan --quiet build.ninja"] * 2)

    def test_a_build_that_is_not_made_fails_with_what_meson_printed(self):
        self.program("meson", "echo no compiler; exit 1")
        with self.assertRaisesRegex(Failed, "build/quick is not configured"):
            builds.configure(self.part, builds.QUICK)
        self.assertIn("no compiler\n", self.printed())


class Installed(InFolder):
    def test_nothing_is_missing_where_these_tests_were_built(self):
        self.assertEqual(packages.missing() & {"meson", "ninja-build", "python3", "libfmt-dev"}, set())

    def test_missing_packages_are_named_where_they_cannot_be_installed(self):
        self.patch(mock.patch.object(packages, "missing", lambda: {"meson", "g++"}))
        self.patch(mock.patch.object(packages, "_can_install", lambda: False))
        self.patch(mock.patch.dict(os.environ))
        with self.assertRaisesRegex(Failed, "^missing, and cannot be installed from here: g\\+\\+ meson wine64$"):
            packages.setup(self.part, {"/no/such/file": "wine64", "sh": "dash"})
        self.assertEqual(self.printed(), "dev: on Debian or Ubuntu: apt-get install g++ meson wine64\n")

    def test_missing_packages_are_installed_and_asked_for_once_more(self):
        left = [{"clang"}, {"libclang-rt-14-dev"}]
        self.patch(mock.patch.object(packages, "missing", lambda: left.pop(0)))
        self.patch(mock.patch.object(packages, "_can_install", lambda: True))
        self.patch(mock.patch.object(packages, "_as_root", lambda: []))
        self.patch(mock.patch.dict(os.environ))
        self.program("apt-get", 'echo "$DEBIAN_FRONTEND: $*" >>log')
        packages.setup(self.part)
        self.assertEqual(pathlib.Path("log").read_text(encoding="utf-8"),
                         "noninteractive: update -qq\nnoninteractive: install -y -qq clang\n"
                         "noninteractive: install -y -qq libclang-rt-14-dev\n")

    @unittest.skipUnless(os.path.exists("/usr/bin/python3"), "there is no /usr/bin/python3")
    def test_the_python_of_the_system_is_the_first_on_the_path_once(self):
        with mock.patch.dict(os.environ, PATH="/some/where"):
            packages.use_system_python()
            packages.use_system_python()
            self.assertEqual(os.environ["PATH"], f"{self.folder}/build/bin:/some/where")
        self.assertEqual(os.readlink("build/bin/python3"), "/usr/bin/python3")

    def find_python(self):
        """.ci/find-python, where the programs of this test alone are on the path."""
        script = (SOURCE / ".ci/find-python").read_text(encoding="utf-8").replace("/usr/bin/python3", "/no/python3")
        return subprocess.run(["/bin/sh", "-c", script], env={"PATH": f"{self.folder}/bin"}, capture_output=True,
                              text=True, check=False)

    def test_the_starter_names_python_where_there_is_none(self):
        done = self.find_python()
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn("python3 is missing", done.stderr)
        self.assertIn("apt-get install python3", done.stderr)

    def test_the_starter_installs_python_as_root(self):
        python = f"{self.folder}/bin/python3"
        self.program("id", "echo 0")
        self.program("env", 'shift\n"$@"')
        self.program("apt-get", f'echo "$*" >>log\n[ "$1" != install ] || /bin/cp bin/id {python}')
        done = self.find_python()
        self.assertEqual((done.returncode, done.stdout), (0, f"{python}\n"), done.stderr)
        self.assertEqual(pathlib.Path("log").read_text(encoding="utf-8"), "update -qq\ninstall -y -qq python3\n")
        self.program("id", "echo 1000")
        os.unlink(python)
        self.assertEqual(self.find_python().returncode, 1)


class Ends(InFolder):
    SCRIPT = """
import pathlib, sys
sys.dont_write_bytecode = True
sys.path.insert(0, {tests!r})
from dev import processes
from dev.part import Part

def sleeps(part, name):
    part.call(["sh", "-c", "sleep 600 & echo $! >" + name + ".tmp; mv " + name + ".tmp " + name + "; wait"])

def body():
    part = Part()
    part.aside("aside", sleeps, "one")
    {then}
    return 5

sys.exit(processes.guard(body))
"""

    def start(self, then):
        script = self.SCRIPT.format(tests=str(SOURCE / "tests"), then=then)
        return subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.DEVNULL)

    def sleeper(self, name):
        """The process that was started last, when it runs."""
        while not pathlib.Path(name).exists():
            time.sleep(0.02)
        return int(pathlib.Path(name).read_text(encoding="utf-8"))

    def is_running(self, process):
        status = pathlib.Path("/proc", str(process), "status")
        try:
            return "\nState:\tZ" not in status.read_text(encoding="utf-8")
        except (FileNotFoundError, ProcessLookupError):
            return False

    def test_a_signal_ends_all_that_was_started(self):
        for sign, status in ((signal.SIGTERM, 143), (signal.SIGHUP, 129), (signal.SIGINT, 130)):
            with self.subTest(sign), self.start('sleeps(part, "two")') as process:
                sleepers = [self.sleeper(name) for name in ("one", "two")]
                process.send_signal(sign)
                self.assertEqual(process.wait(), status)
                self.assertEqual([each for each in sleepers if self.is_running(each)], [])
                for name in ("one", "two"):
                    os.unlink(name)

    def test_the_end_ends_an_aside_that_was_not_joined(self):
        wait = "import os, time\n    while not os.path.exists('one'): time.sleep(0.02)"
        with self.start(wait) as process:
            self.assertEqual(process.wait(), 5)
            self.assertFalse(self.is_running(self.sleeper("one")))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
