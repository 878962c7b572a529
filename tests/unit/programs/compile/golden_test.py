#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Golden cases from tenon-compile and tenon-pack: a host proves a backend by them, and refuses a wrong one by name.

usage: golden_test.py TENON_COMPILE TENON_PACK TENON_RUN TENON_DOCTOR GRAPH_BACKEND WRONG_PLUGINS FIXTURES
"""

import json
import math
import os
import pathlib
import struct
import subprocess
import sys
import tempfile
import unittest

compiler, packer, runner, doctor, plugin = sys.argv[1:6]
wrong = pathlib.Path(sys.argv[6])
fixtures = pathlib.Path(sys.argv[7]) / "pt2"


def write_npy(path, values):
    head = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({len(values)},), }}".encode()
    head += b" " * (-(len(head) + 11) % 64) + b"\n"
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head
                     + struct.pack(f"<{len(values)}f", *values))


class Golden(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)

    def run_tool(self, program, *arguments, **variables):
        environment = {n: v for n, v in os.environ.items() if not n.startswith("TENON_")}
        environment |= {"TENON_PREPARED_DIR": str(self.folder / "cache")} | variables
        return subprocess.run([program, *map(str, arguments)], capture_output=True, text=True,
                              env=environment, check=False)

    def compile(self, case, *arguments, expect=0):
        output = self.folder / "model.pte"
        done = self.run_tool(compiler, fixtures / case / "model.pt2", "--backend", "GraphBackend", "--plugin", plugin,
                             "-o", output, "--golden-reference", "GraphBackend", *arguments)
        self.assertEqual(done.returncode, expect, done.stderr)
        return output if expect == 0 else done.stderr

    def prove(self, program, *arguments):
        done = self.run_tool(doctor, program, "--prove", "--json", *arguments)
        method, = json.loads(done.stdout)["methods"]
        return done.returncode, method["proofs"]

    def test_a_program_with_golden_cases_is_proven_and_runs_elsewhere_as_before(self):
        for case in "mlp", "transformer_dynamic":
            with self.subTest(case):
                program = self.compile(case, "--golden", 3)
                code, proofs = self.prove(program, "--plugin", plugin)
                self.assertEqual(proofs, [{"variant": None, "cases": 3, "passed": True, "error": None}])
                self.assertEqual(code, 0)
                text = self.run_tool(doctor, program, "--prove", "--plugin", plugin).stdout
                self.assertIn("passed 3 cases", text)

    def test_equal_seeds_make_equal_programs(self):
        first = self.compile("mlp", "--golden", 2, "--golden-seed", 5).read_bytes()
        self.assertIn(b"tenon.golden/1\nseed\t5\ncase\tforward\n", first)
        self.assertEqual(self.compile("mlp", "--golden", 2, "--golden-seed", 5).read_bytes(), first)
        self.assertNotEqual(self.compile("mlp", "--golden", 2, "--golden-seed", 6).read_bytes(), first)

    def test_a_tolerance_is_stored(self):
        text = self.compile("mlp", "--golden", 1, "--golden-tolerance", "0.25").read_bytes()
        line, = (one for one in text.split(b"\n") if one.startswith(b"output\t0\tFloat\t"))
        self.assertEqual(line.split(b"\t")[4], b"0.25")

    def test_wrong_outputs_are_refused_where_an_application_asks_for_a_proof(self):
        program = self.compile("mlp", "--golden", 1)
        content = bytearray(program.read_bytes())
        begin = content.index(b"tenon.golden/1\nseed")
        text = content.index(b"\n\n", begin) + 2
        lines = [one.split("\t") for one in bytes(content[begin:text]).decode().split("\n")]
        sizes = [4 * math.prod(map(int, one[3].split(","))) for one in lines if one[0] in ("input", "output")]
        content[text + sum(sizes) - 1] ^= 0x80  # The sign of the last expected element.
        program.write_bytes(content)
        folder = fixtures / "mlp"
        words = [program, "--plugin", plugin, "--input", folder / "input_0.npy"]
        for _ in range(2):
            done = self.run_tool(runner, *words, TENON_PROVE="1")
            self.assertEqual(done.returncode, 4, done.stderr)
            self.assertRegex(done.stderr, "not proven: golden case 0: output 0: 1 of [0-9]+ elements differs, worst ")
        self.assertIn("(as an earlier load found)", done.stderr)
        self.assertEqual(self.run_tool(runner, *words).returncode, 0)
        self.assertEqual(self.run_tool(runner, *words, TENON_PROVE="0").returncode, 0)
        self.assertIn("TENON_PROVE is 'yes', expected 0 or 1",
                      self.run_tool(runner, *words, TENON_PROVE="yes").stderr)
        code, proofs = self.prove(program, "--plugin", plugin)
        self.assertEqual(code, 1)
        self.assertIn("1 of", proofs[0]["error"]["text"])

    def test_arguments_without_golden_cases_are_refused(self):
        for words in (["--golden", "0"], ["--golden-seed", "1"], ["--golden-tolerance", "0.1"],
                      ["--golden", "1", "--golden-tolerance", "1"], []):
            self.assertIn("--golden", self.compile("mlp", *words, expect=2))

    def test_packed_cases_catch_a_wrong_plugin(self):
        write_npy(self.folder / "x.npy", [1, -2])
        write_npy(self.folder / "y.npy", [3, -3])
        (self.folder / "blob").write_bytes(b"blob")
        program = self.folder / "packed.pte"
        words = [self.folder / "blob", "--backend", "ZooBackend", "--input", "Float:2", "--output", "Float:2", "-o",
                 program]
        done = self.run_tool(packer, *words, "--golden", f"{self.folder / 'x.npy'}={self.folder / 'y.npy'}")
        self.assertEqual(done.returncode, 0, done.stderr)
        code, proofs = self.prove(program, "--plugin", wrong / "wrong_nothing.so")
        self.assertEqual((code, proofs[0]["passed"]), (0, True))
        code, proofs = self.prove(program, "--plugin", wrong / "wrong_negative.so")
        self.assertEqual(code, 1)
        self.assertIn("1 of 2 elements differs, worst 8 at [1]: found 5, expected -3", proofs[0]["error"]["text"])
        done = self.run_tool(packer, *words, "--golden", f"={self.folder / 'y.npy'}")
        self.assertEqual(done.returncode, 2)
        done = self.run_tool(packer, *words, "--golden", f"{self.folder / 'x.npy'},b={self.folder / 'y.npy'}")
        self.assertIn("has 2 files, and 1 inputs are described", done.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
