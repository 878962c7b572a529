# SPDX-License-Identifier: MIT
"""The plugin of pytest, with the kit and with a stand-in for it: pytest_test.py BUILD SOURCE."""

import contextlib
import io
import json
import os
import pathlib
import pty
import subprocess
import sys
import tempfile
import unittest
import unittest.mock
import xml.etree.ElementTree

import pytest

BUILD, SOURCE = (pathlib.Path(word).resolve() for word in sys.argv[1:3])
HELLO = BUILD / "examples/backends/hello.so"
BROKEN = BUILD / "tests/conformance/zoo/executable_stack.so"
CASES = SOURCE / "tests/conformance/cases/hello"
KIT = BUILD / "tests/conformance/tenon-conformance"
STAND_IN = pathlib.Path(__file__).resolve().with_name("stand_in_kit.py")
OK, FAILED, INTERRUPTED, USAGE = 0, 1, 2, 4


class PytestPlugin(unittest.TestCase):
    """Each test runs pytest in an empty folder."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="tenon-test-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name).resolve()
        self.calls = self.folder / "calls.txt"
        stand_in = self.folder / "kit"
        stand_in.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{STAND_IN}" "$@"\n')
        stand_in.chmod(0o755)
        (self.folder / "acme.so").write_bytes(b"\x7fELF")
        variables = {name: value for name, value in os.environ.items() if not name.startswith("TENON_")}
        variables |= {"TENON_CONFORMANCE": str(stand_in), "KIT_CALLS": str(self.calls), "COLUMNS": "160",
                      "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
        patch = unittest.mock.patch.dict(os.environ, variables, clear=True)
        patch.start()
        self.addCleanup(patch.stop)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(self.folder)

    def run_pytest(self, *words, expect, **variables):
        """What it prints. In this process, which takes a tenth of the time that one of its own does."""
        words = ["-p", "_tenon_pytest", "-p", "no:cacheprovider", "--capture=no", "-rA", *map(str, words)]
        shown = io.StringIO()
        with unittest.mock.patch.dict(os.environ, variables), contextlib.redirect_stdout(shown), \
                contextlib.redirect_stderr(shown):
            status = pytest.main(words)
        self.assertEqual(status, expect, shown.getvalue())
        return shown.getvalue()

    def judged(self):
        """The arguments of the runs of the stand-in that were no listing."""
        calls = map(json.loads, self.calls.read_text().splitlines()) if self.calls.exists() else []
        return [call for call in calls if "--list" not in call]

    def test_each_outcome_of_the_kit_is_that_of_an_item(self):
        junit = self.folder / "junit.xml"
        shown = self.run_pytest("--tenon-plugin", "acme.so", f"--junit-xml={junit}", expect=FAILED)
        self.assertIn("collected 8 items", shown)
        self.assertIn("1 passed, 3 skipped, 1 xfailed, 1 error", shown)
        self.assertIn("2 failed, ", shown)
        for line in ("PASSED acme.so::suite/passed/Acme/a [case]*", "FAILED acme.so::suite/failed/Acme/a [case]*",
                     "FAILED acme.so::suite/unexpected-pass/Acme/a [case]*",
                     "XFAIL acme.so::suite/expected-failure/Acme/a [case]* - the reason of expected_failure",
                     "ERROR acme.so::suite/kit-error/Acme/a [case]*"):
            self.assertIn(line, shown)
        for text in ("it is failed: failed", "TN-EXE-2  it wrote to input 0", "signal: SIGSEGV", "printed by the plugin",
                     "it is unexpected_pass: unexpected pass", "the reason of unexpected_pass",
                     "an error of the kit itself: the reason of kit_error",
                     "not applicable: the reason of not_applicable", "unsupported: the reason of unsupported",
                     "blocked: the reason of blocked", "acme.so: FAIL: 8 tests"):
            self.assertIn(text, shown)
        self.assertEqual(len(self.judged()), 1)
        self.assertNotIn("--only", " ".join(self.judged()[0]))
        [case] = xml.etree.ElementTree.parse(junit).findall(".//property[@value='failed']/../..")
        self.assertEqual((case.tag, float(case.get("time"))), ("testcase", 1.5))
        self.assertIsNotNone(case.find("failure"))

    def test_the_kit_runs_once_with_what_was_selected(self):
        shown = self.run_pytest("--tenon-plugin", "acme.so", "--tenon-level", "7", "-k", "suite/passed or not-applicable",
                                expect=OK)
        self.assertIn("1 passed, 1 skipped, 6 deselected", shown)
        [call] = self.judged()
        self.assertIn("--level=7", call)
        self.assertEqual([word for word in call if word.startswith("--only=")],
                         [f"--only=suite/{name}/Acme/a \\[case]\\*" for name in ("passed", "not-applicable")])
        self.run_pytest("--tenon-plugin", "acme.so", "-k", "TN-EXE-1", expect=5)
        self.run_pytest("--tenon-plugin", "acme.so", "acme.so::suite/passed/Acme/a [case]*", expect=OK)

    def test_what_is_blocked_is_no_success(self):
        shown = self.run_pytest("--tenon-plugin", "acme.so", expect=FAILED, KIT_OUTCOMES="passed,blocked")
        self.assertIn("1 passed, 1 skipped", shown)
        self.run_pytest("--tenon-plugin", "acme.so", expect=OK, KIT_OUTCOMES="passed,expected_failure")

    def test_a_plugin_in_a_folder_that_pytest_leaves_out_is_collected_alone(self):
        inner = self.folder / "build" / "inner"
        environment = self.folder / "environment"
        for folder in (inner, environment):
            folder.mkdir(parents=True)
            (folder / "test_other.py").write_text("def test_other():\n    assert False\n")
            (folder / "acme.so").write_bytes(b"\x7fELF")
        (inner.parent / "test_beside.py").write_text("def test_beside():\n    assert False\n")
        for path in (environment / "pyvenv.cfg", environment / "bin/activate"):  # The latter until pytest 8.2.
            path.parent.mkdir(exist_ok=True)
            path.write_text("")
        for plugin in ("build/inner/acme.so", "environment/acme.so"):
            for words in ([], ["."]):
                shown = self.run_pytest("--tenon-plugin", plugin, *words, expect=OK, KIT_OUTCOMES="passed")
                self.assertIn("collected 1 item", shown)
                self.assertIn(f"PASSED {plugin}::suite/passed/Acme/a [case]*", shown)

    def test_collecting_lists_and_judges_nothing(self):
        shown = self.run_pytest("--tenon-plugin", "acme.so", "--collect-only", "-q", expect=OK)
        self.assertIn("acme.so::suite/kit-error/Acme/a [case]*", shown)
        self.assertEqual(self.judged(), [])

    def test_each_worker_of_xdist_judges_its_items(self):
        shown = self.run_pytest("-p", "xdist", "-n", "2", "--tenon-plugin", "acme.so", expect=FAILED)
        self.assertIn("2 failed, 1 passed, 3 skipped, 1 xfailed, 1 error", shown)
        self.assertIn("INCOMPLETE: 1 of the tests was blocked", shown)
        self.assertEqual(sorted(word for call in self.judged() for word in call if word.startswith("--test=")),
                         sorted(f"--test=suite/{name}/Acme/a [case]*" for name in (
                             "passed", "failed", "expected-failure", "unexpected-pass", "unsupported", "not-applicable",
                             "blocked", "kit-error")))

    def test_other_tests_are_collected_as_without_the_plugin(self):
        (self.folder / "test_own.py").write_text("import sys\n\ndef test_own():\n    assert 'tenon' not in sys.modules\n")
        subprocess.run([sys.executable, "-m", "pytest", "-p", "_tenon_pytest"], check=True, stdout=subprocess.DEVNULL)
        self.assertFalse(self.calls.exists())
        (self.folder / "test_own.py").write_text("def test_own(): pass\n")
        shown = self.run_pytest("--tenon-plugin", "acme.so", expect=OK, KIT_OUTCOMES="passed")
        self.assertIn("2 passed", shown)
        shown = self.run_pytest("--tenon-plugin", "acme.so", "-m", "tenon", expect=OK, KIT_OUTCOMES="passed")
        self.assertIn("1 passed, 1 deselected", shown)

    def test_a_subject_file_has_its_plugin_with_it_or_in_it(self):
        subject = self.folder / "acme.json"
        subject.write_text("{}")
        (self.folder / "cases").mkdir()
        self.run_pytest("--tenon-plugin", "acme.so", "--tenon-subject", "acme.json", "--tenon-cases", "cases", expect=OK,
                        KIT_OUTCOMES="passed")
        shown = self.run_pytest("--tenon-subject", "acme.json", expect=OK, KIT_OUTCOMES="passed")
        self.assertIn("PASSED acme.json::suite/passed/", shown)
        both, alone = self.judged()
        self.assertEqual(both[:3], [str(self.folder / "acme.so"), f"--subject={subject}", f"--cases={self.folder / 'cases'}"])
        self.assertEqual(alone[0], f"--subject={subject}")

    def test_a_terminal_shows_how_many_tests_have_ended(self):
        terminal, end = pty.openpty()
        with os.fdopen(terminal, "rb", buffering=0) as terminal:
            done = subprocess.Popen([sys.executable, "-m", "pytest", "-p", "_tenon_pytest", "--tenon-plugin", "acme.so"],
                                    stdin=end, stdout=end, stderr=end)
            os.close(end)
            shown = b""
            with contextlib.suppress(OSError):  # A terminal whose other end is closed has no end of file.
                while more := terminal.read(4096):
                    shown += more
            self.assertEqual(done.wait(), FAILED, shown)
        text = shown.decode()
        places = [text.index(f"\racme.so: {number} of 8 tests  ") for number in (1, 7, 8)]
        self.assertEqual(places, sorted(places))
        self.assertRegex(text[places[-1]:], r"\A\racme\.so: 8 of 8 tests +\r +\r\s+acme\.so \S")
        self.assertNotIn("\racme.so: ", text[places[-1] + 1:])
        [words] = self.judged()
        self.assertIn("--progress", words)

    def test_what_cannot_begin_is_a_usage_error(self):
        shown = self.run_pytest("--tenon-plugin", "missing.so", expect=USAGE)
        self.assertIn(f"--tenon-plugin: there is no file {self.folder / 'missing.so'}", shown)
        shown = self.run_pytest("--tenon-plugin", "acme.so", "--tenon-cases", "none", expect=USAGE)
        self.assertIn(f"--tenon-cases: there is no file {self.folder / 'none'}", shown)
        shown = self.run_pytest("--tenon-plugin", "acme.so", expect=USAGE, TENON_CONFORMANCE="/nowhere/kit")
        self.assertIn("there is no conformance kit: /nowhere/kit (TENON_CONFORMANCE)", shown)
        shown = self.run_pytest("--tenon-plugin", "acme.so", expect=USAGE, TENON_CONFORMANCE="", PATH="/nowhere")
        self.assertIn("there is no conformance kit: tenon-conformance is not on PATH", shown)
        self.run_pytest("--tenon-plugin", "acme.so", "--tenon-level", "11", expect=USAGE)

    def test_what_the_kit_refuses_is_an_error_with_its_message(self):
        shown = self.run_pytest("--tenon-plugin", "acme.so", expect=INTERRUPTED, KIT_REFUSES="list")
        self.assertIn("tenon-conformance: InvalidProgram (0x23): refused the list", shown)
        shown = self.run_pytest("--tenon-plugin", "acme.so", expect=FAILED, KIT_REFUSES="run", KIT_OUTCOMES="passed,failed")
        self.assertIn("2 errors", shown)
        self.assertIn("tenon-conformance: InvalidProgram (0x23): refused the run", shown)
        self.assertEqual(len(self.judged()), 1)
        shown = self.run_pytest("--tenon-plugin", "acme.so", expect=FAILED, KIT_REFUSES="declaration", KIT_OUTCOMES="passed")
        self.assertIn("1 passed", shown)
        self.assertIn("acme.so: tenon-conformance: InvalidArgument (0x12): acme.json: nothing needs a declaration", shown)

    def test_the_kit_judges_plugins(self):
        kit = {"TENON_CONFORMANCE": str(KIT)}
        shown = self.run_pytest("--tenon-plugin", HELLO, "--tenon-cases", CASES, "--tenon-level", "1", expect=OK, **kit)
        self.assertIn(f"{HELLO}: PASS: ", shown)
        shown = self.run_pytest("--tenon-plugin", BROKEN, "--tenon-level", "1", "-k", "TN-BIN-12", expect=FAILED, **kit)
        self.assertRegex(shown, r"FAILED \S*executable_stack\.so::binary/contains-nothing-forbidden")
        self.assertIn("TN-BIN-12  does not make the stack executable", shown)
        self.assertIn("4 deselected", shown)
        text = self.folder / "text.so"
        text.write_text("no plugin")
        shown = self.run_pytest("--tenon-plugin", "text.so", "--tenon-level", "1", expect=FAILED, **kit)
        self.assertIn("text.so: FAIL: nothing was judged", shown)
        self.assertRegex(shown, "blocked: .* is a text file, expected an ELF shared library")


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
