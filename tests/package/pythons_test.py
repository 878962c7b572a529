#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How the wheels' interpreters are found and chosen, and what fails when a wheel does not work: pythons_test.py SOURCE"""

import contextlib
import io
import json
import pathlib
import sys
import tempfile
import unittest
from unittest import mock

sys.dont_write_bytecode = True
SOURCE = pathlib.Path(sys.argv[1]).resolve()
sys.path[:0] = [str(SOURCE / "examples/python/packaging"), str(SOURCE / "tests/package")]
import build_wheel  # noqa: E402  pylint: disable=wrong-import-position
import pythons  # noqa: E402  pylint: disable=wrong-import-position
import wheel_pythons  # noqa: E402  pylint: disable=wrong-import-position


def python(minor, **more):
    return pythons.Python(f"python3.{minor}", (3, minor, 0), **more)


class Folder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="tenon-pythons-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def interpreter(self, name, **facts):
        """A program that says of itself what an interpreter would."""
        facts = {"version": [3, 11, 2], "implementation": "CPython", "free_threaded": False, "headers": True} | facts
        path = self.folder / name
        path.write_text(f"#!/bin/sh\necho '{json.dumps(facts)}'\n", encoding="utf-8")
        path.chmod(0o755)
        return str(path)


class Found(Folder):
    def test_the_running_interpreter_is_read(self):
        self.assertEqual(pythons.read(sys.executable).version, tuple(sys.version_info[:3]))

    def refusal(self, path):
        with self.assertRaises(pythons.Refused) as refused:
            pythons.read(path)
        return str(refused.exception)

    def test_interpreters_without_a_wheel_are_refused_with_a_reason(self):
        self.assertIn("3.10 or later, found 3.9", self.refusal(self.interpreter("old", version=[3, 9, 18])))
        self.assertIn("expected CPython, found PyPy", self.refusal(self.interpreter("pypy", implementation="PyPy")))
        self.assertIn("with the GIL", self.refusal(self.interpreter("free", version=[3, 14, 0], free_threaded=True)))
        for path in (self.folder / "none", "/bin/false", "/bin/true"):
            self.assertIn("is no Python that runs", self.refusal(path))

    def test_one_of_each_version_with_headers_is_at_hand(self):
        found = pythons.at_hand([
            self.interpreter("later", version=[3, 13, 0]), None, "/nowhere/python3", self.interpreter("first"),
            self.interpreter("second"), self.interpreter("bare", version=[3, 12, 0], headers=False),
            self.interpreter("old", version=[3, 9, 0])])
        self.assertEqual([pathlib.Path(each.path).name for each in found], ["first", "later"])


class Chosen(unittest.TestCase):
    def test_versions_from_3_12_on_share_a_wheel(self):
        chosen = pythons.builders([python(14, headers=False), python(13), python(10), python(12), python(11)])
        self.assertEqual([(each.name, each.tag) for each in chosen],
                         [("3.10", "cp310-cp310"), ("3.11", "cp311-cp311"), ("3.12", "cp312-abi3")])

    def test_a_builder_without_headers_is_refused(self):
        for given in ([python(11, headers=False)], [python(13, headers=False), python(14)]):
            with self.assertRaisesRegex(pythons.Refused, "has no Python.h"):
                pythons.builders(given)

    def test_a_wheel_is_found_as_pip_finds_it(self):
        wheels = [pathlib.Path(f"tenon_ml-0.1.0-{tag}-manylinux_2_35_x86_64.whl") for tag in ("cp310-cp310", "cp312-abi3")]
        found = [pythons.wheel_for(python(minor), wheels) for minor in (10, 11, 12, 14)]
        self.assertEqual(found, [wheels[0], None, wheels[1], wheels[1]])
        later = [pathlib.Path("tenon_ml-0.1.0-cp313-abi3-manylinux_2_39_x86_64.whl")]
        self.assertIsNone(pythons.wheel_for(python(12), later))


class Metadata(Folder):
    def test_the_package_says_whether_it_is_by_the_stable_abi(self):
        for stable in (True, False):
            build_wheel.write_metadata(SOURCE, self.folder, stable)
            text = (self.folder / "pyproject.toml").read_text(encoding="utf-8")
            self.assertEqual("[tool.meson-python]\nlimited-api = true\n" in text, stable)
            self.assertIn("[project.entry-points.torch_dynamo_backends]", text)


class Tried(Folder):
    def main(self, *checks, sizes=None, tag="cp311-cp311"):
        """The exit status of the table with one wheel of 100 bytes, and what is printed."""
        dist = self.folder / "build/wheel/dist"
        dist.mkdir(parents=True, exist_ok=True)
        (dist / f"tenon_ml-0.1.0-{tag}-manylinux_2_35_x86_64.whl").write_bytes(bytes(100))
        record = self.folder / "sizes.json"
        compiler = wheel_pythons.subprocess.run(["c++", "-dumpfullversion"], check=True, text=True,
                                                stdout=wheel_pythons.subprocess.PIPE).stdout.strip()
        record.write_text(json.dumps({f"gcc {compiler}": sizes or {}}), encoding="utf-8")
        words = ["wheel_pythons.py", "--python", self.interpreter("python3"), str(self.folder)]
        out = io.StringIO()
        with mock.patch.object(wheel_pythons.Tried, "CHECKS", checks), mock.patch.object(sys, "argv", words), \
                mock.patch.object(wheel_pythons, "RECORD", record), contextlib.redirect_stdout(out), \
                contextlib.redirect_stderr(out):
            return wheel_pythons.main(), out.getvalue()

    def failing(self, _):
        raise wheel_pythons.Failed("broken")

    def test_each_check_is_a_cell(self):
        status, shown = self.main(("one", lambda _: "passed"), sizes={"cp311-cp311": 100})
        self.assertEqual(status, 0)
        self.assertIn("| Python | wheel | one |", shown)
        self.assertIn("| 3.11.2 | cp311-cp311 | passed |", shown)

    def test_a_check_that_fails_and_a_larger_wheel_fail(self):
        status, shown = self.main(("one", self.failing), ("two", lambda _: "passed"))
        self.assertEqual(status, 1)
        self.assertIn("| 3.11.2 | cp311-cp311 | FAILED |", shown)
        self.assertIn("Python 3.11: one: broken", shown)
        status, shown = self.main(sizes={"cp311-cp311": 97})
        self.assertEqual(status, 1)
        self.assertIn("GREW by 3.1 %", shown)

    def test_a_version_without_a_wheel_fails(self):
        status, shown = self.main(tag="cp310-cp310")
        self.assertEqual(status, 1)
        self.assertIn("| 3.11 | NONE |", shown)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
