# SPDX-License-Identifier: MIT
"""What tests/cross/checks.sh and results.py write, as summary.py reads it."""

import contextlib
import io
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.dont_write_bytecode = True
sys.path.insert(0, str(HERE))
import results  # noqa: E402  pylint: disable=wrong-import-position
import summary  # noqa: E402  pylint: disable=wrong-import-position


class SummaryTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.file = self.folder / "build/cross/results/one.tsv"
        self.file.parent.mkdir(parents=True)

    def shell(self, commands):
        """Runs commands with the functions of checks.sh, in a folder where nothing is built."""
        script = f"set -euo pipefail; source {HERE}/checks.sh; results={self.file}; target=one; {commands}"
        subprocess.run(["bash", "-c", script], cwd=self.folder, check=True, capture_output=True)
        return summary.read_results(self.file)

    def names(self, found, passed):
        return [check["name"] for check in found["checks"] if check["passed"] is passed]

    def test_a_text_of_several_lines_is_one_result(self):
        found = self.shell("ok first; not_ok $'second: exit 3:\\ta\\r\\nb\\nc'; detail $'d\\ne'; ok third; result end 7")
        self.assertEqual(self.names(found, True), ["first", "third"])
        self.assertEqual(self.names(found, False), ["second: exit 3: a  b c"])
        self.assertEqual(found["checks"][1]["details"], ["d e"])
        self.assertEqual((found["passed"], found["failed"], found["seconds"]), (2, 1, 7))

    def test_bytes_of_a_program_do_not_end_the_summary(self):
        found = self.shell("ok $'a\\xff\\x0cb\\x1c\\u2028c'; result end 7")
        self.assertEqual((found["passed"], found["failed"]), (1, 0))

    def test_a_line_that_is_no_result_has_failed(self):
        self.file.write_text("detail\tof nothing\nok\tfirst\nprinted by a program\nend\tsoon\nend\t7\n",
                             encoding="utf-8")
        found = summary.read_results(self.file)
        self.assertEqual((found["passed"], found["failed"], found["seconds"]), (1, 3, 7))
        self.assertIn("one.tsv:3: expected a result KIND<tab>TEXT, found 'printed by a program'",
                      self.names(found, False)[1])

    def test_a_run_without_results_or_without_an_end_has_failed(self):
        self.assertEqual(self.names(summary.read_results(self.file), False), ["was not run"])
        found = self.shell("ok first")
        self.assertEqual(self.names(found, False), ["the run did not come to its end"])

    def test_the_summary_has_the_totals_of_all(self):
        self.shell("ok first; not_ok $'second\\nline'; result end 61")
        done = self.run_summary("all", "one", "two")
        self.assertEqual(done.returncode, 1, done)
        self.assertIn("one: 1 passed, 1 failed  [1:01]\n  not ok: second line\n", done.stdout)
        self.assertIn("\nall: 1 passed, 2 failed\n", done.stdout)
        written = json.loads((self.folder / "build/cross/all.json").read_text(encoding="utf-8"))
        self.assertEqual((written["passed"], written["failed"]), (1, 2))
        self.assertEqual((self.folder / "build/cross/all.txt").read_text(encoding="utf-8"), done.stdout)

    def run_summary(self, *arguments):
        return subprocess.run([sys.executable, HERE / "summary.py", *arguments], cwd=self.folder,
                              capture_output=True, text=True, check=False)

    def test_the_rows_of_a_table_have_what_the_summary_has(self):
        self.shell("ok first; detail '5 a|b'; ok second; ok third; not_ok fourth; not_run 'a Mac'; result end 61")
        self.run_summary("all", "one", "two")
        done = self.run_summary("all", "--markdown")
        self.assertEqual(done.stdout.splitlines(), [
            "| one | `./dev cross one` | **3 passed, 1 failed** (1:01 min) |",
            "|  | first | 5 a\\|b |",
            "|  | fourth | failed |",
            "|  | 2 without a count of their own: second; third | passed |",
            "|  | a Mac | not run |",
            "| two | `./dev cross two` | **0 passed, 1 failed** |",
            "|  | was not run | failed |"])
        self.assertEqual(self.run_summary("all", "--markdown", "one").returncode, 2)
        self.assertEqual(self.run_summary("all").returncode, 2)

    def several(self, commands):
        """Runs `several` with a script in the place of tests/cross/run, which writes what it does to `log`."""
        (self.folder / "run").write_text(
            'name=$1; [ "$2" = --kit-level ] || name=$1-quick\n'
            'echo "start $name" >>log\n'
            # The second one ends first: it does not wait for the first.
            '[ "$name" != one ] || until grep -q "end two" log; do sleep 0.01; done\n'
            'echo "end $name" >>log; [ "$name" != three ] || exit 1\n'
            'printf "ok\\tfirst\\nend\\t7\\n" >"build/cross/results/$name.tsv"\n', encoding="utf-8")
        (self.folder / "run").chmod(0o755)
        (self.folder / "summary.py").symlink_to(HERE / "summary.py")
        script = (f"set -euo pipefail; here=.; kit_level=3; source {HERE}/checks.sh; source {HERE}/several.sh; "
                  f"{commands}")
        done = subprocess.run(["bash", "-c", script], cwd=self.folder, capture_output=True, text=True, check=False,
                              timeout=60)
        return done, (self.folder / "log").read_text(encoding="utf-8").splitlines()

    def test_two_targets_run_at_once_and_the_last_one_after_all(self):
        (self.file.parent / "three.tsv").write_text("ok\tof an older run\nend\t7\n", encoding="utf-8")
        done, log = self.several("several all 2 one two three -- four")
        self.assertEqual(done.returncode, 1, done)
        self.assertIn("\nthree: 0 passed, 1 failed\n  not ok: was not run\n", done.stdout)
        self.assertIn("\nall: 3 passed, 1 failed\n", done.stdout)
        self.assertLess(log.index("start two"), log.index("end one"))
        self.assertEqual(log[-2:], ["start four", "end four"])

    def test_one_at_a_time_with_an_argument(self):
        done, log = self.several("several quick 1 two:--quick four:--quick")
        self.assertEqual(done.returncode, 0, done)
        self.assertIn("\nquick: 2 passed, 0 failed\n", done.stdout)
        self.assertEqual(log, ["start two-quick", "end two-quick", "start four-quick", "end four-quick"])

    def test_the_counts_of_a_unit_test_are_its_own(self):
        log = self.folder / "build/cross/one/meson-logs/tests-one.txt"
        log.parent.mkdir(parents=True)
        log.write_text("All tests passed (5 assertions in 2 test cases)\n", encoding="utf-8")
        found = self.shell("meson() { return 1; }; unit_tests=(core); check_units; result end 7")
        self.assertEqual(found["checks"], [{"name": "unit tests: core: exit 1", "passed": False, "details": []}])

    def test_what_is_not_built_for_refusals_is_named(self):
        found = self.shell("check_refusals; result end 7")
        self.assertEqual(found["not_run"], [
            *(f"the host of {name} (not built)" for name in ["native", "arm64", "armhf", "musl", "windows"]),
            *(f"the plugin of {name} (not built)"
              for name in ["native", "arm64", "armhf", "musl", "windows", "macos-plugins"])])

    def test_an_exception_is_a_failure_and_ends_its_step_alone(self):
        found = results.Results(self.file)
        with contextlib.redirect_stdout(io.StringIO()) as shown:
            with found.step("broken"):
                raise FileNotFoundError("no\nprogram")
            with found.step("good"):
                found.check("second", True)
        read = summary.read_results(self.file)
        self.assertEqual(self.names(read, True), ["second"])
        self.assertEqual(self.names(read, False)[0], "broken: ended by FileNotFoundError: no program")
        self.assertIn("Traceback", shown.getvalue())


if __name__ == "__main__":
    unittest.main()
