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
CASES = ("mlp", "mlp_decomposed", "vision", "vision_decomposed", "transformer",
         "transformer_dynamic")


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

    def test_a_program_has_variants_of_which_the_best_that_can_run_is_run(self):
        portable = self.folder / "portable.pte"
        done = run(compiler, fixtures / "mlp_decomposed" / "model.pt2", "-o", portable)
        self.assertEqual(done.returncode, 0, done.stderr)
        program, report = self.compile(
            "mlp_decomposed", "--variant", f"kernels={portable}", "--variant", "named=GraphBackend",
            "--spec", "named.weights=named")
        self.assertEqual([(each["name"], each["priority"]) for each in report["variants"]],
                         [("GraphBackend", 0), ("kernels", 2), ("named", 1)])
        self.assertEqual([each["needs"] for each in report["variants"]],
                         [[{"backend": "GraphBackend", "target": "", "payload_version": 3,
                            "cpu_features": []}], [],
                          [{"backend": "GraphBackend", "target": "", "payload_version": 3,
                            "cpu_features": []}]])
        folder = fixtures / "mlp_decomposed"
        words = [program, "--plugin", plugin, "--json", "--input", folder / "input_0.npy",
                 "--expect", folder / "expected_0.npy"]

        def ran(*more):
            done = run(runner, *words, *more)
            self.assertEqual(done.returncode, 0, done.stderr)
            return json.loads(done.stdout)["variant"]

        # No kernels for the most wanted one.
        self.assertEqual(ran(), "named")
        self.assertEqual(ran("--variant", "GraphBackend"), "GraphBackend")
        self.assertEqual(ran("--method", "forward@named"), "named")
        done = run(runner, *words, "--variant", "kernels")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("OperatorMissing", done.stdout + done.stderr)
        done = run(runner, *words, "--variant", "fast")
        self.assertEqual(done.returncode, 2)
        self.assertIn("method forward has kernels, named, GraphBackend", done.stdout + done.stderr)
        done = run(runner, program, "--input", folder / "input_0.npy")
        self.assertEqual(done.returncode, 4)
        self.assertIn("none of its variants can run here", done.stderr)
        self.assertIn("'named': backend 'GraphBackend' is not registered", done.stderr)
        self.assertIn("'kernels': no kernel for operator", done.stderr)

        for name, kept in (("named", "named"), ("best", "named"), ("GraphBackend", "GraphBackend")):
            with self.subTest(name):
                small = self.folder / f"{name}.pte"
                more = ("--plugin", plugin) if name == "best" else ()
                done = run(compiler, program, "--strip-variants", name, "--json", "-o", small, *more)
                self.assertEqual(done.returncode, 0, done.stderr)
                only, = json.loads(done.stdout)["variants"]
                self.assertEqual(only["name"], kept)
                self.assertLess(small.stat().st_size, program.stat().st_size)
                self.assertNotIn(b"tenon.variants", small.read_bytes())
                self.check_numbers("mlp_decomposed", small)
        alone, _ = self.compile("mlp_decomposed", "--spec", "weights=named", name="alone.pte")
        self.assertEqual(alone.read_bytes(), (self.folder / "named.pte").read_bytes())
        done = run(compiler, program, "--strip-variants", "fast", "-o", self.folder / "no.pte")
        self.assertEqual(done.returncode, 2)
        self.assertIn("has no variant 'fast', found 'kernels', 'named', 'GraphBackend'", done.stderr)
        self.assertFalse((self.folder / "no.pte").exists())

    def test_programs_that_are_not_for_one_model_are_not_joined(self):
        first, _ = self.compile("mlp", name="first.pte")
        second, _ = self.compile("vision", name="second.pte")
        output = self.folder / "joined.pte"
        done = run(compiler, first, "--variant", f"other={second}", "-o", output)
        self.assertEqual(done.returncode, 3)
        self.assertIn("variant 'other': method 'forward': input 0 differs", done.stderr)
        done = run(compiler, first, "--variant", second, "-o", output)
        self.assertIn("variant 'GraphBackend': another variant has this name", done.stderr)
        self.assertFalse(output.exists())

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
