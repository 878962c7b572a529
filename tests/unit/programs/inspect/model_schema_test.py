#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What tenon-inspect prints with --json for programs and data files is what their schema describes.

usage: model_schema_test.py SUPPORT_FOLDER TENON_INSPECT SCHEMA FIXTURES
"""

import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, sys.argv[1])
from schema_case import SchemaCase, run_json  # noqa: E402

tenon_inspect, schema_file = sys.argv[2:4]
fixtures = pathlib.Path(sys.argv[4])


def run(*arguments):
    return run_json(tenon_inspect, *arguments)


class Schema(SchemaCase, unittest.TestCase):
    def setUp(self):
        self.use_schema(schema_file)

    def test_every_fixture_gives_a_valid_object(self):
        seen = set()
        for path in sorted(fixtures.rglob("*.pt[ed]")):
            document = run(path)
            self.check_valid(document, path)
            self.assertEqual(document["exit_code"], 0, path)
            self.assertEqual(document["kind"], "data" if path.suffix == ".ptd" else "program")
            seen |= {name for name in ("segments", "named_data") if document[name]}
            for method in document["methods"]:
                seen |= {name for name, value in method.items() if value}
                seen |= {"spec" for each in method["delegates"] if each["compile_specs"]}
                seen |= {"inline" for each in method["delegates"] if each["segment"] is None}
        self.assertGreaterEqual(seen, {"segments", "named_data", "inputs", "outputs", "delegates",
                                       "operators", "planned_buffers", "spec", "inline"})

    def test_failures_give_valid_objects(self):
        with tempfile.TemporaryDirectory() as folder:
            odd = pathlib.Path(folder) / "odd\x1b[31m.pte"
            odd.write_bytes(b"....ET12\xff\x9b")
            for path in (odd, pathlib.Path(folder) / "missing.ptd"):
                document = run(path)
                self.check_valid(document, path)
                self.assertEqual(document["exit_code"], 3)
            model = fixtures / "demo_sin_seg/model.pte"
            blob = pathlib.Path(folder) / "blob"
            for arguments, code in ((["0", "-o", blob], 0), (["9", "-o", blob], 2)):
                document = run(model, "--extract-blob", *arguments)
                self.check_valid(document, arguments)
                self.assertEqual(document["exit_code"], code)

    def test_a_member_that_is_missing_or_unknown_is_not_valid(self):
        document = run(fixtures / "demo_multi_seg/model.pte")
        self.assertGreater(self.check_strict(document), 30)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
