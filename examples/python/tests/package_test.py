# SPDX-License-Identifier: MIT
"""The package as a whole: package_test.py BUILD SOURCE."""

import io
import pathlib
import sys
import unittest
from unittest import mock

import tenon
from tenon._progress import Progress

BUILD, SOURCE = map(pathlib.Path, sys.argv[1:3])


class Package(unittest.TestCase):
    def test_version_is_that_of_the_project(self):
        [line] = [line for line in (SOURCE / "meson.build").read_text().splitlines()
                  if line.strip().startswith("version:")]
        self.assertEqual(tenon.__version__, line.split("'")[1])

    def test_neither_torch_nor_numpy_is_imported(self):
        self.assertNotIn("torch", sys.modules)
        self.assertNotIn("numpy", sys.modules)


class Terminal(io.StringIO):
    def isatty(self):
        return True


class Steps(unittest.TestCase):
    def printed(self, stream):
        with self.assertRaises(KeyError), Progress("tenon.compile", stream) as progress:
            progress.step("torch.export")
            raise KeyError
        return stream.getvalue()

    def test_a_terminal_shows_each_step_on_a_line_that_is_erased_at_the_end(self):
        self.assertEqual(self.printed(Terminal()), "\r\x1b[Ktenon.compile: torch.export\r\x1b[K")

    def test_elsewhere_nothing_is_written(self):
        self.assertEqual(self.printed(io.StringIO()), "")
        with mock.patch.object(sys, "stderr", None):
            Progress("tenon.compile").step("torch.export")


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
