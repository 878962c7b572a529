#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""examples/applications/compile_and_load: from an archive of PyTorch to a call, with PyTorch's numbers.

usage: compile_and_load_test.py EXAMPLE GRAPH_BACKEND FIXTURE
"""

import array
import ast
import json
import pathlib
import struct
import subprocess
import sys
import unittest

program, plugin, folder = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3])


def floats(path):
    """Elements of a .npy file of float32."""
    data = path.read_bytes()
    size, = struct.unpack_from("<H", data, 8)
    assert ast.literal_eval(data[10:10 + size].decode())["descr"] == "<f4"
    return array.array("f", data[10 + size:])


def call(backend, example, value):
    return subprocess.run(
        [program, plugin, backend, folder / "model.pt2", folder / example, folder / value],
        capture_output=True, text=True, check=False)


class CompileAndLoad(unittest.TestCase):
    def test_it_prints_pytorchs_numbers_for_each_input(self):
        runs = json.loads((folder / "case.json").read_text())["runs"]
        self.assertGreater(len(runs), 1)
        for each in runs:
            done = call("GraphBackend", runs[0]["inputs"][0], each["inputs"][0])
            self.assertEqual(done.returncode, 0, done.stderr)
            found = [float(line) for line in done.stdout.split()]
            expected = floats(folder / each["expected"][0])
            self.assertEqual(len(found), len(expected))
            for one, other in zip(found, expected):
                self.assertAlmostEqual(one, other, delta=2e-6 + 1e-5 * abs(other))

    def test_a_wrong_example_is_refused(self):
        done = call("GraphBackend", "expected_0.npy", "input_0.npy")
        self.assertEqual(done.returncode, 1)
        self.assertIn("example inputs: ", done.stderr)

    def test_an_unknown_backend_is_named(self):
        done = call("Graph", "input_0.npy", "input_0.npy")
        self.assertEqual(done.returncode, 1)
        self.assertIn("did you mean GraphBackend?", done.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
