#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks that third-party readers read the JUnit reports of the conformance kit: junitparser (Debian:
python3-junitparser; PyPI: junitparser) and the XML parser of Python.

usage: report_junit_test.py REPORT_SAMPLES
"""

import pathlib
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

try:
    import junitparser
except ImportError:
    print("skipped: junitparser is not installed (Debian: python3-junitparser)")
    sys.exit(77)

report_samples = sys.argv[1]


class Reader(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        subprocess.run([report_samples, cls.folder.name], check=True)
        cls.paths = sorted(pathlib.Path(cls.folder.name).glob("*.xml"))

    def read(self, name):
        return junitparser.JUnitXml.fromfile(str(pathlib.Path(self.folder.name) / f"{name}.xml"))

    def test_every_report_is_read(self):
        self.assertEqual(len(self.paths), 14)
        for path in self.paths:
            read = junitparser.JUnitXml.fromfile(str(path))
            tests = [test for suite in read for test in suite]
            written = xml.etree.ElementTree.parse(path).getroot().findall("testsuite/testcase")
            self.assertEqual(len(tests), len(written), path.name)

    def test_counts_are_those_of_the_tests(self):
        for path in self.paths:
            read = junitparser.JUnitXml.fromfile(str(path))
            written = (read.tests, read.failures, read.errors)
            read.update_statistics()
            self.assertEqual(written, (read.tests, read.failures, read.errors), path.name)
            for suite in read:
                written = (suite.tests, suite.failures, suite.errors, suite.skipped)
                suite.update_statistics()
                counted = (suite.tests, suite.failures, suite.errors, suite.skipped)
                self.assertEqual(written, counted, (path.name, suite.name))

    def test_each_outcome_arrives(self):
        found = {}
        for suite in self.read("all_outcomes"):
            self.assertEqual(suite.hostname, "localhost")
            properties = {each.name: each.value for each in suite.properties()}
            self.assertEqual(properties["sha256"], "a" * 64)
            for test in suite:
                self.assertTrue(test.classname.startswith("zoo."))
                self.assertAlmostEqual(test.time, 0.012)
                results = [(type(each), each.type) for each in test.result]
                self.assertLessEqual(len(results), 1)
                found[test.name] = results[0] if results else None
        self.assertEqual(len(found), 9)
        self.assertEqual(
            sorted(str(each and (each[0].__name__, each[1])) for each in found.values()),
            sorted(["None", "None", "('Failure', 'failed')", "('Failure', 'unexpected_pass')",
                    "('Error', 'kit_error')", "('Skipped', 'expected_failure')",
                    "('Skipped', 'unsupported')", "('Skipped', 'not_applicable')",
                    "('Skipped', 'blocked')"]))

    def test_texts_arrive(self):
        suite = next(each for each in self.read("all_outcomes") if "arguments" in each.name)
        (test,) = suite
        (failure,) = test.result
        self.assertIn("TN-EXE-2: input 1: byte 3 of 16: expected 0x3f, found 0x00",
                      failure.message)
        self.assertIn("\n  write_behind at 0x7f12a4c01000 in zoo.so+0x1a2b\n", failure.text)
        self.assertEqual(test.system_out, "zoo: about to write\nzoo: writing\n")

    def test_hostile_texts_arrive_as_texts(self):
        (suite,) = self.read("hostile")
        failed = list(suite)[0]
        (failure,) = failed.result
        self.assertIn("]]><script>alert(1)</script>&amp;\"'</style><!-- -->", failure.message)
        self.assertIn("]]><script>", failure.text)
        self.assertIn("\\x00\\x01\\x08\\x1b[31m\\x7f\\r\n\t\\xff\\xfe", failed.system_out)

    def test_names_in_one_report_are_unlike_each_other(self):
        for path in self.paths:
            read = junitparser.JUnitXml.fromfile(str(path))
            names = [(test.classname, test.name) for suite in read for test in suite]
            self.assertEqual(len(names), len(set(names)), path.name)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
