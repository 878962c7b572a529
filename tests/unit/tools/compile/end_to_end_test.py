#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""From what PyTorch exported to PyTorch's numbers, without PyTorch: archives of tests/fixtures/pt2
go through tenon-compile with GraphBackend and through tenon-run, which compares.

usage: end_to_end_test.py TENON_COMPILE TENON_RUN GRAPH_BACKEND FIXTURES
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

compiler, runner, plugin = sys.argv[1:4]
fixtures = pathlib.Path(sys.argv[4]) / "pt2"
CASES = ("mlp", "mlp_decomposed", "vision", "vision_decomposed")


def run(program, *arguments):
    environment = {n: v for n, v in os.environ.items() if not n.startswith("TENON_")}
    return subprocess.run([program, *map(str, arguments)], capture_output=True, text=True,
                          env=environment, check=False)


def runs_of(folder):
    """Inputs and expected outputs of each run of a case."""
    if (folder / "case.json").exists():
        return json.loads((folder / "case.json").read_text())["runs"]
    return [{"inputs": ["input_0.npy"], "expected": ["expected_0.npy"]}]


class EndToEnd(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)

    def compile(self, case, *arguments, name="model.pte"):
        output = self.folder / name
        done = run(compiler, fixtures / case / "model.pt2", "--backend", "GraphBackend", "--plugin",
                   plugin, "--json", "-o", output, *arguments)
        self.assertEqual(done.returncode, 0, done.stderr)
        return output, json.loads(done.stdout)

    def check_numbers(self, case, program, *arguments):
        folder = fixtures / case
        for each in runs_of(folder):
            words = [program, "--plugin", plugin, *arguments]
            for name in each["inputs"]:
                words += ["--input", folder / name]
            for name in each["expected"]:
                words += ["--expect", folder / name]
            done = run(runner, *words)
            self.assertEqual(done.returncode, 0, f"{case}: {done.stdout}{done.stderr}")

    def test_models_run_inside_the_backend_and_give_pytorchs_numbers(self):
        for case in CASES:
            with self.subTest(case):
                program, report = self.compile(case)
                method, = report["methods"]
                self.assertEqual(method["left_over_nodes"], 0)
                self.assertEqual([each["backend"] for each in method["delegates"]],
                                 ["GraphBackend"])
                self.check_numbers(case, program)

    def test_a_whole_program_needs_no_question(self):
        program, report = self.compile("mlp", "--no-partition")
        self.assertEqual(report["methods"][0]["left_over_nodes"], 0)
        self.check_numbers("mlp", program)

    def test_debug_handles_are_stored_when_they_are_asked_for(self):
        key = b"tenon.debug_handles/1\nnode 1 "
        plain, _ = self.compile("mlp", name="plain.pte")
        self.assertNotIn(key, plain.read_bytes())
        program, _ = self.compile("mlp", "--debug-handles")
        self.assertIn(key, program.read_bytes())
        self.check_numbers("mlp", program)
        self.check_numbers("mlp", program, "--compare-layers", program)

    def test_weights_are_found_wherever_the_backend_put_them(self):
        program, report = self.compile("vision", "--spec", "weights=named")
        self.assertEqual(report["data"], [])
        self.check_numbers("vision", program)
        program, report = self.compile("vision", "--spec", "weights=external")
        data, = report["data"]
        self.check_numbers("vision", program, "--data", data["path"])

    def test_equal_calls_write_equal_bytes(self):
        for case in CASES:
            first, _ = self.compile(case, "--spec", "weights=external", name="first.pte")
            data = {path.name: path.read_bytes() for path in self.folder.glob("*.ptd")}
            self.assertEqual(len(data), 1)
            second, _ = self.compile(case, "--spec", "weights=external", name="second.pte")
            self.assertEqual(first.read_bytes(), second.read_bytes())
            for path in self.folder.glob("*.ptd"):
                self.assertEqual(path.read_bytes(), data[path.name])
                path.unlink()

    def test_a_program_of_kernels_is_refused_by_a_host_without_them(self):
        output = self.folder / "portable.pte"
        done = run(compiler, fixtures / "mlp_decomposed" / "model.pt2", "-o", output)
        self.assertEqual(done.returncode, 0, done.stderr)
        done = run(runner, output, "--input", fixtures / "mlp_decomposed" / "input_0.npy")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("OperatorMissing", done.stderr)
        self.assertIn("aten::addmm.out", done.stderr)

    def test_a_wrong_spec_is_told_and_nothing_is_written(self):
        output = self.folder / "model.pte"
        done = run(compiler, fixtures / "mlp" / "model.pt2", "--backend", "GraphBackend",
                   "--plugin", plugin, "--spec", "nonsense=1", "-o", output)
        self.assertEqual(done.returncode, 1)
        self.assertIn("backend GraphBackend: partition: ", done.stderr)
        self.assertIn("nonsense", done.stderr)
        self.assertEqual(list(self.folder.iterdir()), [])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
