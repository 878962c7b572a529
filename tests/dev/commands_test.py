#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests of the commands of `./dev`, and of `./dev test` as a whole.

usage: commands_test.py SOURCE
"""

import contextlib
import io
import os
import pathlib
import subprocess
import sys
import unittest
from unittest import mock

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from dev import all_tests, builds, cli, fuzz, live  # noqa: E402  pylint: disable=wrong-import-position
from dev import packages, targets  # noqa: E402  pylint: disable=wrong-import-position
from dev.in_folder import InFolder  # noqa: E402  pylint: disable=wrong-import-position
from dev.part import Failed  # noqa: E402  pylint: disable=wrong-import-position
from dev.progress import Progress  # noqa: E402  pylint: disable=wrong-import-position
from dev.totals import FAILED, PASSED  # noqa: E402  pylint: disable=wrong-import-position

SOURCE = pathlib.Path(sys.argv[1]).resolve()


class Commands(InFolder):
    def dev(self, *words, expect=0):
        done = subprocess.run([SOURCE / "dev", *words], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, expect, done.stdout + done.stderr)
        return done

    def test_each_command_has_help(self):
        self.assertEqual(self.dev("--help").stdout, self.dev("help").stdout)
        shown = self.dev("--help").stdout
        for name in cli.COMMANDS:
            self.assertRegex(shown, rf"(?m)^    {name}\b")
            with contextlib.redirect_stdout(io.StringIO()) as one, self.assertRaises(SystemExit) as status:
                cli.main([name, "--help"])
            self.assertEqual(status.exception.code, 0)
            self.assertIn(f"usage: ./dev {name} ", one.getvalue())

    def test_an_unknown_command_or_argument_is_a_wrong_usage(self):
        self.assertIn("invalid choice: 'tset'", self.dev("tset", expect=2).stderr)
        self.assertIn("usage: ./dev", self.dev(expect=2).stderr)
        self.assertIn("unrecognized arguments: --fast", self.dev("setup", "--fast", expect=2).stderr)
        self.assertIn("expected one of models programs", self.dev("live", "--part", "model", expect=2).stderr)
        self.assertIn("there is no target manifesto; there are ", self.dev("fuzz", "manifesto", expect=2).stderr)

    def test_words_of_other_programs_pass_as_they_are(self):
        with mock.patch.object(cli.processes, "guard", lambda function: function()), \
                mock.patch.object(cli, "perform", lambda command, arguments, progress: arguments):
            self.assertEqual(cli.main(["quick", "--suite", "lint", "-v"]), {"words": ["--suite", "lint", "-v"]})
            self.assertEqual(cli.main(["fuzz", "manifest", "600"]), {"target": "manifest", "seconds": "600"})
            self.assertEqual(cli.main(["gpu"]), {"folder": "docs/measurements"})

    def test_the_second_argument_of_fuzz_may_be_the_first(self):
        asked = []
        for name in ("setup", "from_pypi"):
            self.patch(mock.patch.object(packages, name, lambda part: None))
        self.patch(mock.patch.object(builds, "configure", lambda part, build: None))
        self.patch(mock.patch.object(fuzz, "_fuzz_one", lambda part, archive, seconds: asked.append((archive.stem, seconds))))
        self.patch(mock.patch.dict(os.environ))
        os.makedirs("tests/fuzz/corpus/host")
        for name in ("reader", "writer"):
            pathlib.Path(f"tests/fuzz/corpus/host/{name}.zip").touch()
        for arguments in (("15",), ("writer",), ("writer", "600")):
            fuzz.fuzz(self.part, *arguments)
        self.assertEqual(asked, [("reader", "15"), ("writer", "15"), ("writer", "60"), ("writer", "600")])

    def perform(self, function):
        command = cli.Command(function, "a test")
        with contextlib.redirect_stderr(io.StringIO()) as errors:
            status = cli.perform(command, {}, Progress(["test"]), self.part.out)
        return status, self.printed().splitlines()[-1:], errors.getvalue()

    def test_the_exit_status_is_that_of_the_totals_or_its_own(self):
        self.assertEqual(self.perform(lambda part: part.check("one", ["true"])), (0, ["1 passed, 0 failed, 0 skipped"], ""))
        self.assertEqual(self.perform(lambda part: part.check("one", ["false"]))[:2],
                         (1, ["0 passed, 1 failed, 0 skipped"]))
        self.assertEqual(self.perform(lambda part: 77)[0], 77)

    def test_what_ends_a_command_before_its_end_is_a_failure(self):
        def ends(part, *checked):
            for name in checked:
                part.check(name, ["true"])
            part.run(["false"])

        def joins(part):
            self.assertFalse(part.join(part.aside("one", lambda own: own.run(["false"]))))
            raise Failed("one: false: exit status 1")

        self.assertEqual(self.perform(joins)[:2], (1, ["0 passed, 1 failed, 0 skipped"]))
        self.assertEqual(self.perform(ends), (1, ["0 passed, 1 failed, 0 skipped"], "dev: false: exit status 1\n"))
        self.assertEqual(self.perform(lambda part: ends(part, "one")),
                         (1, ["1 passed, 1 failed, 0 skipped"], "dev: false: exit status 1\n"))


class Whole(InFolder):
    """`./dev test` with programs that take no time."""

    def setUp(self):
        super().setUp()
        self.patch(mock.patch.object(packages, "setup", lambda part: None))
        self.patch(mock.patch.object(targets, "of_tests", lambda words: [words[0].split("/")[-1]]))
        self.patch(mock.patch.dict(os.environ))
        os.environ.pop("TENON_TIMEOUTS", None)  # Of a slice of `./dev rest` that runs this test.
        self.program("meson", 'echo "meson $*" >>log; [ "$1" = test ] || exit 0\nmkdir -p "$3/meson-logs"\n'
                     'echo \'{"name": "its test", "result": "OK"}\' >"$3/meson-logs/testlog.json"')
        self.program("git", "echo one.cpp")
        self.program("clang-format-19", "true")
        # What a failure leaves running ends here, while these programs are on the path.
        self.asides, start = [], self.part.aside
        self.part.aside = lambda *words, **options: self.asides.append(start(*words, **options)) or self.asides[-1]
        self.addCleanup(lambda: [aside.thread.join() for aside in self.asides])

    def test_all_parts_are_counted(self):
        self.program("ninja", 'echo "ninja $*" >>log')
        all_tests.test(self.part)
        self.assertEqual(sorted(self.names(PASSED)),
                         ["asan: its test", "format", "test: its test", "tsan: its test"])
        self.assertEqual(self.names(FAILED), [])
        log = pathlib.Path("log").read_text(encoding="utf-8").splitlines()
        compiled = [line.split()[-1] for line in log if line.startswith("ninja")]
        self.assertEqual(sorted(compiled), ["asan", "test", "tsan"])
        self.assertLess(compiled.index("asan"), compiled.index("tsan"))
        tests = {line.split()[3]: line for line in log if line.startswith("meson test")}
        self.assertIn("--timeout-multiplier 1 --suite programs", tests["build/test"])
        self.assertIn("--timeout-multiplier 10 --no-suite lint", tests["build/asan"])
        self.assertIn("--timeout-multiplier 10 --suite host_threads", tests["build/tsan"])

    def test_with_words_only_the_tests_that_they_name_run(self):
        self.program("ninja", 'echo "ninja $*" >>log')
        self.patch(mock.patch.object(packages, "from_pypi", lambda part: None))
        all_tests.test(self.part, ["--suite", "cuda"])
        self.assertEqual(self.names(PASSED), ["test: its test"])
        self.assertIn("--suite cuda\n", pathlib.Path("log").read_text(encoding="utf-8"))

    def test_what_fails_beside_the_rest_is_counted(self):
        self.program("ninja", "true")
        self.program("clang-format-19", "false")
        all_tests.test(self.part)
        self.assertEqual(sorted(self.names(PASSED)), ["asan: its test", "test: its test", "tsan: its test"])
        self.assertEqual(self.names(FAILED), ["format"])

    def test_what_does_not_compile_ends_it_with_what_was_counted(self):
        for build, passed in (("test", ["format"]), ("asan", ["format", "test: its test"])):
            with self.subTest(build):
                self.part.checks.clear()
                self.program("ninja", f"case $* in *{build}) echo no semicolon; exit 1 ;; esac")
                with self.assertRaises(Failed):
                    all_tests.test(self.part)
                self.assertEqual(sorted(self.names(PASSED)), passed)
                self.assertTrue(build == "test" or self.names(FAILED) == ["asan-build: ninja: exit status 1"])
                self.assertIn("no semicolon\n", self.printed())


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
