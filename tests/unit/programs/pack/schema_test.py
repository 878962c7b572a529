#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What tenon-pack prints with --json is what its schema describes, its exit codes match its page, and tenon-run runs
what it writes.

usage: schema_test.py SUPPORT_FOLDER TENON_PACK TENON_RUN HELLO_PLUGIN SCHEMA
"""

import json
import struct
import subprocess
import sys
import unittest

sys.path.insert(0, sys.argv[1])
from schema_case import SchemaCase, environment  # noqa: E402

packer, runner, plugin, schema_file = sys.argv[2:6]


def run(program, *arguments):
    return subprocess.run([program, *map(str, arguments)], capture_output=True, env=environment(),
                          check=False)


def write_npy(path, values):
    """A NumPy file of float32 with one row."""
    head = f"{{'descr': '<f4', 'fortran_order': False, 'shape': (1, {len(values)})}}"
    head = head.ljust(117) + "\n"
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode()
                     + struct.pack(f"<{len(values)}f", *values))


class Schema(SchemaCase, unittest.TestCase):
    def setUp(self):
        self.use_schema(schema_file)
        self.make_folder()
        self.blob = self.folder / "model.bin"
        self.blob.write_bytes(struct.pack("<I", 2))
        self.program = self.folder / "model.pte"

    def pack(self, *arguments, blob=None, program=None):
        return run(packer, blob or self.blob, "--backend", "Add", "--input", "Float:1,3", "--input",
                   "Float:1,3", "--output", "Float:1,3", "-o", program or self.program, *arguments)

    def test_what_is_printed_is_valid_and_nothing_is_left_open(self):
        calls = {
            "written": self.pack("--json", "--spec", "mode=fast", "--data", f"w={self.blob}"),
            "no blob": self.pack("--json", blob=self.folder / "none"),
            "no folder": self.pack("--json", program=self.folder / "none/model.pte"),
        }
        for what, done in calls.items():
            with self.subTest(what):
                document = json.loads(done.stdout.decode("ascii"))
                self.check_valid(document, what)
                self.assertGreater(self.check_strict(document), 4)
                self.assertEqual(document["exit_code"], done.returncode)
                self.assertEqual(done.returncode, 0 if what == "written" else 2)
                self.assertEqual(bool(done.stderr), document["error"] is not None)

    def test_wrong_arguments_are_one_line_and_exit_with_2(self):
        done = self.pack("--input", "float32:1")
        self.assertEqual((done.returncode, done.stdout), (2, b""))
        self.assertRegex(done.stderr.decode(), r"\Atenon-pack: InvalidArgument \(0x12\): --input: "
                                               r"float32:1: unknown dtype .*: Float\n\Z")

    def test_the_program_gives_the_numbers_of_the_runtime(self):
        self.assertEqual(self.pack().returncode, 0)
        for name, values in (("a", [1, 2, 3]), ("b", [10, 20, 30]), ("sum", [11, 22, 33])):
            write_npy(self.folder / f"{name}.npy", values)
        done = run(runner, self.program, "--plugin", plugin, "--input", self.folder / "a.npy",
                   "--input", self.folder / "b.npy", "--expect", self.folder / "sum.npy")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn(b"no difference", done.stdout)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
