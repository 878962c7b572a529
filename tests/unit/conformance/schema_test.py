# SPDX-License-Identifier: MIT
"""Checks that all case.json and subject files of this project match their schemas, and that the
schemas refuse the same mistakes as the readers."""

import json
import pathlib
import sys
import unittest

ROOT = pathlib.Path(sys.argv.pop(1))
sys.path.insert(0, str(ROOT / "tests/support"))

from schema_case import SchemaCase  # noqa: E402

PLACES = ("tests/fixtures/*/case.json", "tests/conformance/cases/*/*/case.json")


def files(*patterns):
    return sorted(path for pattern in patterns for path in ROOT.glob(pattern))


class CaseSchema(SchemaCase, unittest.TestCase):
    def setUp(self):
        self.use_schema(ROOT / "docs/schemas/tenon-case.schema.json")

    def test_cases_are_as_it_says(self):
        found = files(*PLACES)
        self.assertGreater(len(found), 20)
        for path in found:
            self.check_valid(json.loads(path.read_text()), path)

    def test_all_members_are_accepted(self):
        self.check_valid({
            "$schema": "x", "name": "a b", "description": "", "program": "../p.pte",
            "data": ["a.ptd"], "method": "f",
            "runs": [{"inputs": ["a.npy", 1, 2.5, True, {"text": ""}, None], "expected": [],
                      "fresh": True}],
            "tolerances": {"float32": {"nmse": 0, "peak": 1, "max": 2, "rtol": 3, "atol": 4e-5}},
            "runtime_specs": {"A": {"k": True, "b": {"bytes": "00fF"}}}, "made_by": [1],
        }, "all members")

    def test_what_the_reader_refuses_is_refused(self):
        run = {"inputs": [], "expected": []}
        for wrong in (
                [], {"nam": "x"}, {"name": "a/b"}, {"name": " "}, {"program": "/x"},
                {"program": ""}, {"data": "x"}, {"method": ""}, {"runs": []},
                {"runs": [{"inputs": []}]}, {"runs": [run | {"frsh": True}]},
                {"runs": [run | {"fresh": 1}]}, {"runs": [run | {"inputs": [[1]]}]},
                {"runs": [run | {"inputs": [{"txt": "x"}]}]}, {"tolerances": {"float": {}}},
                {"tolerances": {"bool": {}}}, {"tolerances": {"float32": {"max": -1}}},
                {"tolerances": {"float32": {"maximum": 1}}}, {"runtime_specs": {"A": 1}},
                {"runtime_specs": {"A": {"k": None}}},
                {"runtime_specs": {"A": {"k": {"bytes": "0"}}}}):
            self.assertFalse(self.validator.is_valid(wrong), wrong)


class SubjectSchema(SchemaCase, unittest.TestCase):
    def setUp(self):
        self.use_schema(ROOT / "docs/schemas/tenon-subject.schema.json")

    def test_subject_files_are_as_it_says(self):
        found = files("tests/conformance/subjects/*.json*")
        self.assertGreaterEqual(len(found), 5)
        for path in found:
            self.check_valid(json.loads(path.read_text()), path)

    def test_all_members_are_accepted(self):
        self.check_valid({
            "$schema": "x", "plugin": "a.so",
            "backends": {"A": {
                "options": {"k": 1}, "runtime_specs": {"k": "x"}, "cases": ["a*"],
                "tolerances": {"float16": {"max": 1}}, "deterministic": False, "max_threads": 0,
                "steady_allocations": 3, "fallback_kernels": "list.txt"}},
            "unsupported": [{"test": "a", "reason": "b"}], "expected_failure": [],
            "left_files": [{"pattern": ".ses", "reason": "b"}],
            "printed_lines": [{"pattern": "INFO: *", "reason": "b"}],
            "environment": [{"name": "ACME_CACHE", "value": "", "reason": "b"}],
        }, "all members")

    def test_what_the_reader_refuses_is_refused(self):
        for wrong in (
                3, {"backend": {}}, {"plugin": "/x"}, {"backends": []}, {"backends": {"": {}}},
                {"backends": {"A": {"case": []}}}, {"backends": {"A": {"cases": "x"}}},
                {"backends": {"A": {"deterministic": 1}}},
                {"backends": {"A": {"max_threads": -1}}},
                {"unsupported": [{"test": "x"}]}, {"unsupported": [{"test": "x", "reason": " "}]},
                {"expected_failure": [{"test": "", "reason": "x"}]},
                {"expected_failure": [{"test": "x", "reason": "x", "rule": "x"}]},
                {"left_files": [{"pattern": "x"}]}, {"left_files": [{"pattern": " ", "reason": "x"}]},
                {"left_files": {}}, {"printed_lines": [{"pattern": "x"}]}, {"environment": [{"name": "A", "reason": "x"}]},
                {"environment": [{"name": "A", "value": "1"}]},
                {"environment": [{"name": "A", "value": 1, "reason": "x"}]},
                *({"environment": [{"name": name, "value": "1", "reason": "x"}]}
                  for name in ("", "A=B", "TMPDIR", "TEMP", "TMP", "TENON_NO_UNLOAD"))):
            self.assertFalse(self.validator.is_valid(wrong), wrong)

    def test_what_both_schemas_describe_is_described_alike(self):
        case = json.loads((ROOT / "docs/schemas/tenon-case.schema.json").read_text())["$defs"]
        for name in ("path", "tolerances", "limit", "options"):
            self.assertEqual(self.schema["$defs"][name], case[name], name)


if __name__ == "__main__":
    unittest.main()
