# SPDX-License-Identifier: MIT
"""The examples of a program in four ways, all of it: four_ways_examples.py BUILD [TEST]...

Each model is trained, and answers in eager PyTorch, torch.compile and ExecuTorch; the applications in C++ and in Rust
run the program that was written. ExecuTorch, C++ and Rust run one program and print the same lines. torch.compile may
decompose a model into other operators, so its numbers equal eager PyTorch's within the kit's limits.
"""

import os
import pathlib
import sys
import tempfile
import unittest

SOURCE, BUILD = pathlib.Path(__file__).resolve().parents[3], pathlib.Path(sys.argv.pop(1)).resolve()
EXAMPLES = SOURCE / "examples/applications/four_ways"
APPLICATIONS = BUILD / "examples/applications/four_ways"
PLUGIN = BUILD / "examples/backends/graph_backend/graph_backend.so"
RTOL, ATOL = 1e-4, 1e-5  # As for the kit's cases in float32 that PyTorch computed.
sys.dont_write_bytecode = True
sys.path[:0] = [str(SOURCE / "tests/unit/host/c"), str(SOURCE / "include/packages/debian")]
import dist_info  # noqa: E402  pylint: disable=wrong-import-position
import four_ways  # noqa: E402  pylint: disable=wrong-import-position


def ways_of(lines):
    """What a script prints: for each way the lines of its answer."""
    ways, found = {}, []
    for line in lines:
        if line in ("eager PyTorch:", "torch.compile:", "ExecuTorch:"):
            found = ways[line.rstrip(":")] = []
        elif ways:
            found.append(line)
    return ways


class FourWays(unittest.TestCase):
    def test_the_answers_of_each_way_are_those_of_eager_pytorch(self):
        folder = tempfile.TemporaryDirectory(prefix="tenon-four-ways-")
        self.addCleanup(folder.cleanup)
        # A build has no metadata, by whose entry points Dynamo finds the backend.
        dist_info.write(SOURCE, "0", pathlib.Path(folder.name))
        path = os.pathsep.join(filter(None, (str(BUILD / "examples/python"), folder.name, os.environ.get("PYTHONPATH"))))
        environment = dict(os.environ, PYTHONPATH=path, PYTHONDONTWRITEBYTECODE="1")
        rust, why_not = four_ways.build_in_rust(EXAMPLES, pathlib.Path(folder.name, "rust"), BUILD / "include/tenon/host")
        for name, words in four_ways.EXAMPLES.items():
            with self.subTest(name):
                program = pathlib.Path(folder.name, f"{name}.pte")
                command = [sys.executable, f"{name}.py", PLUGIN, program, *words]
                ways = ways_of(four_ways.run(command, EXAMPLES, environment))
                self.assertEqual(list(ways), ["eager PyTorch", "torch.compile", "ExecuTorch"])
                ways["C++"] = four_ways.run([APPLICATIONS / name, PLUGIN, program, *words], EXAMPLES)
                if rust:
                    ways["Rust"] = four_ways.run([rust / name, PLUGIN, program, *words], EXAMPLES, why_not)
                self.compare(name, ways)
        if not rust:
            print(f"not run: Rust: {why_not}")

    def compare(self, name, ways):
        for way in ("C++", "Rust"):
            self.assertEqual(ways.get(way, ways["ExecuTorch"]), ways["ExecuTorch"])
        texts, numbers = four_ways.numbers_of(ways["eager PyTorch"])
        self.assertTrue(texts)
        for way in ("torch.compile", "ExecuTorch"):
            found_texts, found = four_ways.numbers_of(ways[way])
            self.assertEqual(found_texts, texts)
            largest = max(abs(a - b) for a, b in zip(found, numbers))
            print(f"{name}, {way}: {len(found)} numbers, largest difference to eager PyTorch {largest:.2g}")
            for a, b in zip(found, numbers):
                self.assertLessEqual(abs(a - b), ATOL + RTOL * abs(b))


if __name__ == "__main__":
    unittest.main()
