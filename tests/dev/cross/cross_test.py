#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What `./dev cross` finds, as it comes into its summary."""

import contextlib
import io
import json
import os
import pathlib
import sys
import threading
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.dont_write_bytecode = True
sys.path.insert(0, str(HERE.parents[1]))

from dev.cross import command, native, roots, summary  # noqa: E402  pylint: disable=wrong-import-position
from dev.cross.target import Target, judged  # noqa: E402  pylint: disable=wrong-import-position
from dev.in_folder import InFolder  # noqa: E402  pylint: disable=wrong-import-position
from dev.part import Failed  # noqa: E402  pylint: disable=wrong-import-position


class Summary(InFolder):
    def setUp(self):
        super().setUp()
        self.target = Target(self.part, "one")

    def found(self, function=lambda target: None, name="one"):
        return command.run_one(self.part, name, function, 3)

    def names(self, found, passed):  # pylint: disable=arguments-renamed
        return [check["name"] for check in found["checks"] if check["passed"] is passed]

    def test_a_text_of_several_lines_is_one_result(self):
        def checks(target):
            target.result("first", True)
            target.result("second: exit 3:\ta\r\nb\nc", False, "why")
            target.detail("d\ne")
            target.result("third", True)

        found = self.found(checks)
        self.assertEqual(self.names(found, True), ["first", "third"])
        self.assertEqual(self.names(found, False), ["second: exit 3: a b c"])
        self.assertEqual(found["checks"][1]["details"], ["d e"])
        self.assertEqual((found["passed"], found["failed"], found["seconds"]), (2, 1, 0))
        self.assertIn("not ok  second: exit 3: a b c\nwhy\n", self.printed())

    def test_what_a_failing_program_printed_is_shown(self):
        def checks(target):
            target.check("bad", ["sh", "-c", "seq 50; exit 3"])
            target.check("good", ["sh", "-c", "echo hidden"])
            target.check("none", ["no-such-program"])

            def fails():
                raise Failed("for this reason")

            target.check("function", fails)
            target.check("another", lambda: os.stat("no file"))

        found = self.found(checks)
        self.assertEqual(self.names(found, False),
                         ["bad: exit 3", "none: exit 127", "function: exit 1", "another: exit 1"])
        self.assertIn("not ok  bad: exit 3\n11\n12\n", self.printed())
        self.assertIn("for this reason\n", self.printed())
        self.assertNotIn("hidden", self.printed())

    def test_a_build_folder_that_is_there_is_given_the_definitions_of_today(self):
        self.program("meson", 'echo "meson $*" >>log\ntouch build/cross/one/build.ninja')
        self.program("ninja", 'echo "ninja $*" >>log')
        for _ in range(2):
            self.target.configure(["--word"], ["-Done=two"])
        self.assertEqual(pathlib.Path("log").read_text(encoding="utf-8").splitlines(),
                         ["meson setup build/cross/one --word -Done=two", "ninja -C build/cross/one --quiet build.ninja"])

    def test_bytes_of_a_program_do_not_end_the_summary(self):
        found = self.found(lambda target: target.detail(target.check("a", ["printf", r"a\377\014b\034c"])))
        self.assertEqual((found["passed"], found["failed"]), (1, 0))
        written = json.loads(pathlib.Path("build/cross/one.json").read_text(encoding="utf-8"))
        self.assertEqual(written["targets"], [found])

    def test_a_run_that_does_not_come_to_its_end_has_failed_and_leaves_no_older_result(self):
        def fails(target):
            target.result("first", True)
            target.part.run(["false"])

        def raises(_):
            raise FileNotFoundError("no\nprogram")

        found = self.found(fails)
        self.assertEqual(self.names(found, False), ["the run did not come to its end: false: exit status 1"])
        self.assertEqual(self.names(found, True), ["first"])
        found = self.found(raises)
        self.assertEqual(self.names(found, False),
                         ["the run did not come to its end: ended by FileNotFoundError: no program"])
        self.assertIn("Traceback", self.printed())
        self.assertEqual(json.loads(pathlib.Path("build/cross/one.json").read_text(encoding="utf-8"))["passed"], 0)
        summary.clear("one")
        self.assertFalse(list(pathlib.Path("build/cross").iterdir()))

    def test_an_exception_ends_its_step_alone(self):
        with self.target.step("broken"):
            raise FileNotFoundError("no\nprogram")
        with self.target.step("good"):
            self.target.result("second", True)
        self.assertEqual([(check.name, check.outcome) for check in self.part.checks],
                         [("broken: ended by FileNotFoundError: no program", "failed"), ("second", "passed")])

    def test_the_rows_of_a_table_have_what_the_summary_has(self):
        def checks(target):
            for name, good in (("first", True), ("second", True), ("third", True), ("fourth", False)):
                target.result(name, good)
                if name == "first":
                    target.detail("5 a|b")
            target.not_run("a Mac")

        found = self.found(checks)
        self.assertEqual(list(summary.rows_of({**found, "seconds": 61})), [
            "| one | `./dev cross one` | **3 passed, 1 failed** (1:01 min) |",
            "|  | first | 5 a\\|b |",
            "|  | fourth | failed |",
            "|  | 2 without a count of their own: second; third | passed |",
            "|  | a Mac | not run |"])
        self.assertEqual(list(summary.text_of({**found, "seconds": 61})), [
            "one: 3 passed, 1 failed  [1:01]", "  first: 5 a|b", "  not ok: fourth", "  not run: a Mac"])
        with contextlib.redirect_stdout(io.StringIO()) as shown:
            sys.argv[1:] = ["one"]
            summary.main()
        self.assertTrue(shown.getvalue().startswith("| one | `./dev cross one` | **3 passed, 1 failed** (0:00 min) |\n"))

    def test_the_counts_of_a_unit_test_are_its_own(self):
        self.program("meson", "exit 1")
        log = pathlib.Path("build/cross/one/meson-logs/tests-one.txt")
        log.parent.mkdir(parents=True)
        text = "All tests passed (5 assertions in 2 test cases)"
        log.write_text(text + "\n", encoding="utf-8")
        found = self.found(lambda target: target.check_units(["core"]))
        self.assertEqual(found["checks"], [{"name": "unit tests: core: exit 1", "passed": False, "details": []}])
        # Meson counts a name that no test has as passed.
        for counted, passed in (("Ok:                 0", False), ("Ok:                 1", True)):
            self.program("meson", f"echo '{counted}'; echo '{text}' >{log}")
            found = self.found(lambda target: target.check_units(["core"]))
            self.assertEqual((found["checks"][0]["passed"], found["checks"][0]["details"]),
                             (passed, ["5 assertions in 2 test cases"]))

    def test_what_the_kit_counted_is_a_detail(self):
        self.assertEqual(judged("a\n136 tests: judged\n1 rule: broken\nrules: none\n"), "136 tests: judged; 1 rule: broken")

    def test_what_is_not_built_for_refusals_is_named(self):
        found = self.found(native.check_refusals)
        self.assertEqual(found["not_run"], [
            *(f"the host of {name} (not built)" for name in ["native", "arm64", "armhf", "musl", "windows"]),
            *(f"the plugin of {name} (not built)"
              for name in ["native", "arm64", "armhf", "musl", "windows", "macos-plugins"])])

    def test_a_plugin_of_another_platform_is_refused_in_a_line(self):
        for name in ("native", "arm64"):
            pathlib.Path(f"build/cross/{name}/examples/programs/tenon-run").mkdir(parents=True)
            pathlib.Path(f"build/cross/{name}/examples/backends").mkdir()
            pathlib.Path(f"build/cross/{name}/examples/backends/hello.so").touch()
        run = pathlib.Path("build/cross/native/examples/programs/tenon-run/tenon-run")
        run.write_text('#!/bin/sh\ncase $3 in *native*) exit 0 ;; esac\necho "$3: is for arm64" >&2; exit 3\n', encoding="utf-8")
        run.chmod(0o755)
        found = self.found(native.check_refusals)
        self.assertEqual(self.names(found, True), ["the host of native, the plugin of native: runs",
                                                   "the host of native, the plugin of arm64: is for arm64"])
        run.write_text("#!/bin/sh\nexit 0\n", encoding="utf-8")
        self.assertEqual(self.names(self.found(native.check_refusals), False),
                         ["the host of native, the plugin of arm64: exit 0:"])


class Several(InFolder):
    def setUp(self):
        super().setUp()
        self.log, self.ended = [], threading.Event()

    def function(self, name):
        def body(target):
            self.log.append(f"start {name}")
            # The second one ends first: it does not wait for the first.
            if name == "one":
                self.assertTrue(self.ended.wait(60))
            if name == "three":
                raise Failed("no compiler")
            target.result("first", target.kit_level == 3)
            target.not_run("a Mac")
            self.log.append(f"end {name}")
            if name == "two":
                self.ended.set()
        return body

    def several(self, name, at_once, *names, last=()):
        return command.several(self.part, name, at_once, {each: self.function(each) for each in names}, 3, last)

    def test_two_targets_run_at_once_and_the_last_one_after_all(self):
        found = self.several("all", 2, "one", "two", "three", "four", last=("four",))
        self.assertEqual([each["target"] for each in found], ["one", "two", "three", "four"])
        text = pathlib.Path("build/cross/all.txt").read_text(encoding="utf-8")
        self.assertIn("\nthree: 0 passed, 1 failed  [0:00]\n  not ok: the run did not come to its end: no compiler\n", text)
        self.assertTrue(text.endswith("\nall: 3 passed, 1 failed\n"), text)
        self.assertIn(text, self.printed())
        self.assertLess(self.log.index("start two"), self.log.index("end one"))
        self.assertEqual(self.log[-2:], ["start four", "end four"])
        self.assertEqual(self.part.totals().failed, 1)

    def test_one_at_a_time(self):
        self.several("quick", 1, "two", "four")
        self.assertEqual(self.log, ["start two", "end two", "start four", "end four"])

    def test_what_test_counts_names_its_target_and_nothing_that_was_left_out(self):
        functions, command.QUICK = command.QUICK, {name: self.function(name) for name in ("two", "three")}
        self.addCleanup(setattr, command, "QUICK", functions)
        command.quick(self.part)
        self.assertEqual([(check.name, check.outcome) for check in self.part.checks], [
            ("cross: two: first", "passed"),
            ("cross: three: the run did not come to its end: no compiler", "failed")])


class Roots(InFolder):
    def test_a_root_is_made_once_and_nothing_is_left_of_one_that_fails(self):
        def make(work):
            os.mkdir(f"{work}/root")
            return f"{work}/root"

        def fails(work):
            make(work)
            raise Failed("no network")

        with self.assertRaisesRegex(Failed, "no network"):
            roots.made_once("cache/one", fails)
        self.assertEqual(os.listdir("cache"), [])
        self.assertEqual(roots.made_once("cache/one", make), pathlib.Path("cache/one"))
        self.assertEqual(roots.made_once("cache/one", fails), pathlib.Path("cache/one"))
        self.assertEqual(os.listdir("cache"), ["one"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
