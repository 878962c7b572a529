#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Files that a plugin leaves, and lines that it prints, are reported once, and a subject file declares them, and variables
for the tests' processes, with the reason.

usage: side_effects_test.py TENON_CONFORMANCE ZOO_FOLDER
"""

import copy
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

kit, zoo = sys.argv[1], pathlib.Path(sys.argv[2]).resolve()
ZOO_SUBJECT = json.loads((zoo / "zoo.json").read_text())
LEFT = {"pattern": "zoo-*", "reason": "a runtime's telemetry"}
TIDY = {"name": "ZOO_LEAVES_NOTHING", "value": "1", "reason": "its own switch"}


class SideEffects(unittest.TestCase):
    def setUp(self):
        # Paths in the subject are relative to it.
        temporary = tempfile.TemporaryDirectory(dir=zoo)
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)

    def judge(self, *arguments, plugin="leaves_a_file", **declared):
        subject = copy.deepcopy(ZOO_SUBJECT) | declared
        for backend in subject["backends"].values():
            backend["cases"] = [f"../{case}" for case in backend["cases"]]
            backend["fallback_kernels"] = f"../{backend['fallback_kernels']}"
        path = self.folder / "subject.json"
        path.write_text(json.dumps(subject))
        done = subprocess.run(
            [kit, zoo / f"{plugin}.so", "--subject", path, "--level", "2", "--json", "-", *arguments],
            capture_output=True, text=True, check=False)
        report = json.loads(done.stdout) if done.stdout else {"subjects": []}
        tests = [test for subject in report["subjects"] for test in subject["tests"]]
        return done, tests

    def check_one_finding(self, judged, rule, text):
        done, tests = judged
        self.assertEqual(done.returncode, 1, done.stderr)
        failed = [test for test in tests if test["outcome"] == "failed"]
        self.assertEqual(len(failed), 1, [test["name"] for test in failed])
        finding, = failed[0]["findings"]
        self.assertEqual(finding["rule"], rule)
        self.assertRegex(finding["text"], text)
        self.assertGreater(len([test for test in tests if test["outcome"] == "passed"]), 10)

    def test_files_are_one_finding_and_the_other_tests_are_judged(self):
        self.check_one_finding(self.judge(), "TN-BCK-5",
                               r"^files left in the temporary directory \(TMPDIR, TEMP\): "
                               r"zoo-\w+, .* tests left some; this is reported once\)$")

    def test_declared_files_are_not_judged(self):
        done, tests = self.judge(left_files=[LEFT])
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertFalse([test for test in tests if test.get("findings")])

    def test_other_files_are(self):
        done, _ = self.judge(left_files=[{"pattern": "*.lock", "reason": "locks"}])
        self.assertEqual(done.returncode, 1)
        self.assertIn("left_files[0]: '*.lock' matches no file that a test left", done.stderr)

    def test_an_outdated_declaration_is_an_error_of_a_whole_run_alone(self):
        done, _ = self.judge(plugin="good", left_files=[LEFT])
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("subject.json: left_files[0]: 'zoo-*' matches no file", done.stderr)
        done, _ = self.judge("--only", "numerics/*", plugin="good", left_files=[LEFT])
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_what_is_printed_is_one_finding_and_the_other_tests_are_judged(self):
        self.check_one_finding(self.judge(plugin="prints_to_stderr"), "TN-PRC-5",
                               r"^init wrote 8 bytes to standard output or standard error: 'loading' "
                               r"\(in \d+ tests; this is reported once\)$")

    def test_declared_lines_are_not_judged(self):
        line = {"pattern": "load*", "reason": "the runtime has no switch"}
        done, tests = self.judge(plugin="prints_to_stderr", printed_lines=[line])
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertFalse([test for test in tests if test.get("findings")])
        done, _ = self.judge(plugin="good", printed_lines=[line])
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("printed_lines[0]: 'load*' matches no line that a test printed", done.stderr)

    def test_a_variable_is_set_in_the_process_of_each_test(self):
        done, tests = self.judge(environment=[TIDY])
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertFalse([test for test in tests if test.get("findings")])

    def test_what_the_kit_decides_about_cannot_be_declared(self):
        done, _ = self.judge(environment=[TIDY | {"name": "TMPDIR"}])
        self.assertEqual(done.returncode, 3)
        self.assertIn("environment[0].name: expected a variable of the plugin, found 'TMPDIR'", done.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
