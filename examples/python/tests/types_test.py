# SPDX-License-Identifier: MIT
"""The package is typed: types_test.py BUILD SOURCE."""

import inspect
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import typing
import unittest

import tenon

BUILD, SOURCE = (pathlib.Path(word).resolve() for word in sys.argv[1:3])
PACKAGE = BUILD / "examples/python"
USES = pathlib.Path(__file__).resolve().with_name("types") / "uses.py"
# nanobind's classes have a metaclass of its own and its functions are of a type of its own, with signatures in their
# docstrings alone. Aliases of types, and what Python 3.12 has as __buffer__, are the stub's.
OF_NANOBIND = re.compile(
    r"\S+ (?:is a disjoint base at runtime, but isn't marked with @disjoint_base in the stub|is inconsistent, metaclass "
    r"differs|is not a function)|\S+\.__init__ is inconsistent, stub does not have \*args parameter \"args\"|"
    r"tenon\._tenon\.(?:Array\.__buffer__|Index|Input|InputArray|Output|Returned|SupportsDLPack) is not present at runtime")


class Hints(unittest.TestCase):
    """What typing.get_type_hints, and with it libraries that check at run time, find."""

    def functions(self):
        """The public functions and the methods of the public classes, but those whose types are PyTorch's."""
        for name in sorted(set(tenon.__all__) - {"Compiled", "compile"}):
            public = getattr(tenon, name)
            members = vars(public).values() if isinstance(public, type) else [public]
            for member in members:
                member = getattr(member, "fget", member)
                if inspect.isfunction(member):
                    yield member

    def test_the_hints_of_each_function_can_be_read(self):
        found = [each for each in self.functions() if typing.get_type_hints(each)]
        self.assertGreater(len(found), 20)

    def test_hints_are_the_types_of_the_arguments(self):
        hints = typing.get_type_hints(tenon.load)
        self.assertEqual(hints["return"], tenon.Program)
        self.assertEqual(hints["trace"], typing.Optional[tenon.Trace])
        self.assertIn(str, typing.get_args(hints["model"]))


class Types(unittest.TestCase):
    """Each test has a folder for mypy's cache."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="tenon-test-")
        self.addCleanup(folder.cleanup)
        self.env = os.environ | {"MYPYPATH": str(PACKAGE), "MYPY_CACHE_DIR": folder.name, "PYTHONDEVMODE": ""}
        self.folder = pathlib.Path(folder.name)

    def run_module(self, *words):
        done = subprocess.run([sys.executable, "-m", *map(str, words)], cwd=self.folder, env=self.env, text=True, check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        return done.returncode, done.stdout

    def test_right_uses_are_accepted_and_wrong_ones_found(self):
        words = ("mypy", "--strict", "--warn-unused-ignores", "--ignore-missing-imports", "--follow-imports=silent")
        self.assertEqual(self.run_module(*words, USES), (0, "Success: no issues found in 1 source file\n"))
        # The mistakes are found by their types: without the comments each is an error.
        wrong = self.folder / "wrong.py"
        wrong.write_text(re.sub("  # type: ignore$", "", USES.read_text(), flags=re.M))
        status, shown = self.run_module(*words, wrong)
        self.assertEqual(status, 1)
        lines = {int(line) for line in re.findall(r"wrong\.py:(\d+): error", shown)}
        expected = {number for number, line in enumerate(USES.read_text().splitlines(), 1) if line.endswith("# type: ignore")}
        self.assertEqual(lines, expected)

    def test_the_stubs_have_what_the_extension_modules_have(self):
        _, shown = self.run_module("mypy.stubtest", "tenon._tenon", "tenon._aot", "--concise")
        lines = shown.splitlines()
        self.assertTrue(any(OF_NANOBIND.fullmatch(line) for line in lines), shown)
        self.assertEqual([line for line in lines if not OF_NANOBIND.fullmatch(line)], [])


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
