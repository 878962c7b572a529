# SPDX-License-Identifier: MIT
"""The examples that run one program in four ways, those that need no PyTorch: in C++ and in Rust.

    four_ways_test.py EXAMPLES APPLICATIONS PLUGIN [RUST_TARGET LIBRARIES]

The programs next to the examples give eager PyTorch's answers in C++; with RUST_TARGET, the applications in Rust print the
same lines. Exits with 77 where there is no cargo for them.
"""

import pathlib
import subprocess
import sys
import unittest

from four_ways import EXAMPLES, build_in_rust, numbers_of, run

examples, applications, plugin, *rust = (pathlib.Path(path).resolve() for path in sys.argv[1:])

# What the scripts printed for eager PyTorch when they wrote the programs.
EXPECTED = {
    "classifier": """cross: 0.96152914
circle: 0.023306867
ring: 0.0111708315""",
    "generator": """march april may j: 11.335229
march april may ju: 10.80804
march april may jun: 11.595951
march april may june: 11.459691
march april may june : 9.668998
march april may june j: 12.021083
march april may june ju: 11.58835
march april may june jul: 9.790303
march april may june july: 10.298432
march april may june july : 11.712982
march april may june july a: 10.978259
march april may june july au: 10.840931
march april may june july aug: 11.574495
march april may june july augu: 10.948403
march april may june july augus: 11.611547
march april may june july august: 11.83817""",
    "recommender": """item 48: 3.9514978
item 43: 3.6079783
item 47: 3.3481011
item 42: 3.1850996
item 53: 3.170146""",
}


def lines_of(name, of, environment=None):
    return run([of / name, plugin, examples / f"{name}.pte", *EXAMPLES[name]], examples, environment)


class InCpp(unittest.TestCase):
    def test_answers_are_those_of_eager_pytorch(self):
        for name, expected in EXPECTED.items():
            with self.subTest(name):
                texts, numbers = numbers_of(lines_of(name, applications))
                expected_texts, expected_numbers = numbers_of(expected.splitlines())
                self.assertEqual(texts, expected_texts)
                for found, number in zip(numbers, expected_numbers):
                    self.assertAlmostEqual(found, number, delta=1e-4 * max(1, abs(number)))

    def refusal(self, name, *words):
        done = subprocess.run([applications / name, plugin, examples / f"{name}.pte", *words], capture_output=True,
                              text=True, check=False)
        self.assertEqual(done.returncode, 1, done)
        return done.stderr

    def test_wrong_arguments_are_refused(self):
        for item in ("120", "-1"):
            self.assertIn("index", self.refusal("recommender", "1", "2", "3", item))
        self.assertIn("expected 12 letters", self.refusal("generator", "may"))
        self.assertIn("expected 12 letters", self.refusal("generator", "MARCH APRIL MAY"))
        for path in ("print.hpp", "no_file.ppm"):
            self.assertIn("expected a PPM picture", self.refusal("classifier", str(examples / path)))
        for name in EXAMPLES:
            done = subprocess.run([applications / name], capture_output=True, text=True, check=False)
            self.assertEqual((done.returncode, done.stderr[:6]), (2, "usage:"))


class InRust(unittest.TestCase):
    def test_lines_are_those_of_cpp(self):
        for name in EXAMPLES:
            with self.subTest(name):
                self.assertEqual(lines_of(name, built, outcome), lines_of(name, applications))


if __name__ == "__main__":
    if rust:
        built, outcome = build_in_rust(examples, *rust)
        if not built:
            print(f"skipped: {outcome}")
            sys.exit(77)
    unittest.main(argv=[sys.argv[0], "InRust" if rust else "InCpp"])
