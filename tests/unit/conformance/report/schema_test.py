#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks the JSON reports of the conformance kit against their schema.

usage: report_schema_test.py SUPPORT_DIR REPORT_SAMPLES SCHEMA
"""

import copy
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, sys.argv[1])
from schema_case import SchemaCase  # noqa: E402

report_samples, schema_file = sys.argv[2:4]


def samples():
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([report_samples, folder], check=True)
        return {path.stem: json.loads(path.read_bytes().decode("ascii"))
                for path in pathlib.Path(folder).glob("*.json")}


class Schema(SchemaCase, unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.samples = samples()

    def setUp(self):
        self.use_schema(schema_file)

    def test_every_report_is_valid(self):
        self.assertEqual(len(self.samples), 14)
        for name, document in self.samples.items():
            self.check_valid(document, name)

    def test_reports_say_whether_they_are_good(self):
        good = {name for name, document in self.samples.items() if document["good"]}
        self.assertEqual(good, {"good", "good-stable"})

    def test_counts_are_those_of_the_tests(self):
        for name, document in self.samples.items():
            outcomes = [test["outcome"] for subject in document["subjects"]
                        for test in subject["tests"]]
            expected = {outcome: outcomes.count(outcome) for outcome in document["outcomes"]}
            self.assertEqual(document["outcomes"], expected, name)

    def test_a_report_without_times_has_none(self):
        document = self.samples["all_outcomes-stable"]
        self.assertIsNone(document["started"])
        self.assertIsNone(document["seconds"])
        for test in document["subjects"][0]["tests"]:
            self.assertIsNone(test["seconds"])
            self.assertEqual(test["measurements"], [])

    def test_the_seed_is_not_rounded(self):
        self.assertEqual(self.samples["all_outcomes"]["seed"], 0xFEDCBA9876543210)

    def test_a_member_that_is_missing_or_unknown_is_not_valid(self):
        document = copy.deepcopy(self.samples["all_outcomes"])
        document["rules"] = document["rules"][:2]
        self.assertGreater(self.check_strict(document), 100)

    def test_values_that_cannot_be_are_not_valid(self):
        document = self.samples["all_outcomes"]
        subject, test = document["subjects"][0], document["subjects"][0]["tests"][1]
        self.assertTrue(test["crashes"] and test["measurements"])
        for place, key, value in [
            (document, "format", 2),
            (document, "seed", -1),
            (document, "seed", 2**64),
            (document, "good", "yes"),
            (document, "seconds", "long"),
            (document["outcomes"], "passed", -1),
            (document["rules"][0], "state", "bent"),
            (subject, "backends", "one"),
            (test, "outcome", "great"),
            (test, "repeat", -1),
            (test, "findings", [{"rule": "TN-EXE-2"}]),
            (test["measurements"][0], "value", None),
            (test["crashes"][0], "backtrace", [1]),
        ]:
            kept, place[key] = place[key], value
            self.assertFalse(self.validator.is_valid(document), (key, value))
            place[key] = kept
        self.check_valid(document, "as written")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
