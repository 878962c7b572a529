#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What tenon-inspect prints with --json is what its schema describes.

usage: schema_test.py SUPPORT_FOLDER TENON_INSPECT SCHEMA FOLDER...
"""

import copy
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, sys.argv[1])
from schema_case import SchemaCase  # noqa: E402

tenon_inspect, schema_file = sys.argv[2:4]
folders = [pathlib.Path(folder) for folder in sys.argv[4:]]

# Ends the process that loads it.
NEVER_LOADED = {"static_constructor.so"}


def run(*arguments):
    done = subprocess.run([tenon_inspect, "--json", *arguments], capture_output=True)
    document = json.loads(done.stdout.decode("ascii"))
    assert document["exit_code"] == done.returncode, done
    return document


def plugins():
    for folder in folders:
        yield from sorted(folder.glob("*.so"))


def plugin(name):
    return next(path for path in plugins() if path.name == f"{name}.so")


class Schema(SchemaCase, unittest.TestCase):
    def setUp(self):
        self.use_schema(schema_file)

    def test_every_plugin_gives_a_valid_object(self):
        codes = set()
        for path in plugins():
            for options in [[]] if path.name in NEVER_LOADED else [[], ["--load"]]:
                document = run(*options, path)
                self.check_valid(document, [path.name, *options])
                self.assertEqual(document["path"], str(path))
                self.assertEqual(document["error"] is None, document["record"] is not None)
                if not options:
                    self.assertIsNone(document["loaded"])
                codes.add(document["exit_code"])
        self.assertGreaterEqual(codes, {1, 3, 4})

    def test_what_is_no_library_gives_a_valid_object(self):
        with tempfile.TemporaryDirectory() as folder:
            odd = pathlib.Path(folder) / "odd\x1b[31m.so"
            odd.write_bytes(b"\x7fELF\xff\x9b")
            for path in [odd, pathlib.Path(folder), pathlib.Path(folder) / "missing.so"]:
                document = run("--load", path)
                self.check_valid(document, path)
                self.assertEqual(document["exit_code"], 3)
                for part in ("record", "library", "loaded"):
                    self.assertIsNone(document[part])
                self.assertEqual(document["lint"], [])

    def test_wrong_usage_prints_no_object(self):
        for arguments in [[], [""], ["--unknown"], ["a.so", "b.so"]]:
            done = subprocess.run([tenon_inspect, "--json", *arguments], capture_output=True)
            self.assertEqual(done.returncode, 2)
            self.assertEqual(done.stdout, b"")

    def test_every_part_of_the_schema_was_seen(self):
        many, shy = run("--load", plugin("many_things"))["loaded"]["backends"]
        self.assertTrue(many["devices"])
        kinds = {option["initial"]["type"] for option in many["options"]}
        self.assertEqual(kinds, {"bool", "int64", "double", "string", "bytes"})
        self.assertTrue(shy["unavailable"])
        self.assertTrue(shy["devices_error"])
        self.assertTrue(run(plugin("newer_major"))["abi_error"])
        record = run(plugin("embedded_code"))["record"]
        self.assertEqual({each["runs_embedded_code"] for each in record["backends"]}, {False, True})
        opened = run("--load", plugin("two_backends"))["loaded"]["backends"]
        self.assertIsNone(opened[0]["open_error"])
        self.assertTrue(opened[1]["open_error"])
        loaded = run("--load", plugin("undefined_symbol"))["loaded"]
        self.assertTrue(loaded["error"])
        self.assertEqual(loaded["backends"], [])
        verdicts = {check["verdict"] for path in plugins() for check in run(path)["lint"]}
        self.assertEqual(verdicts, {"pass", "information", "warning", "fail"})

    def test_a_member_that_is_missing_or_unknown_is_not_valid(self):
        document = run("--load", plugin("many_things"))
        self.assertGreater(self.check_strict(document), 150)

    def test_the_page_lists_each_check_and_no_other(self):
        page = (pathlib.Path(schema_file).parent.parent / "tools/inspecting.md").read_text()
        listed = re.findall(r"^\| `([^`]+)` \|.*\| (?:fail|warning|information) \|", page,
                            re.MULTILINE)
        # A library with a DT_RPATH has all of them.
        self.assertEqual(listed, [each["id"] for each in run(plugin("old_rpath"))["lint"]])

    def test_values_that_cannot_be_are_not_valid(self):
        document = run("--load", plugin("many_things"))
        changes = [
            (lambda d: d["lint"][0].update(verdict="maybe")),
            (lambda d: d["lint"][0].update(id="Not an id")),
            (lambda d: d.update(exit_code=2)),
            (lambda d: d["library"].update(build_id="xyz")),
            (lambda d: d["library"].update(format="PE")),
            (lambda d: d["record"].update(abi="1")),
            (lambda d: d["record"].update(backends=[])),
            (lambda d: d["loaded"]["backends"][0]["options"][0]["value"].update(type="int64")),
            (lambda d: d["loaded"]["backends"][0]["devices"][0].update(memory_bytes=-1)),
        ]
        self.check_valid(document, "as printed")
        for number, change in enumerate(changes):
            changed = copy.deepcopy(document)
            change(changed)
            self.assertFalse(self.validator.is_valid(changed), number)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
