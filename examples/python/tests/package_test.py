# SPDX-License-Identifier: MIT
"""The package as a whole: package_test.py BUILD SOURCE."""

import pathlib
import sys
import unittest

import tenon

BUILD, SOURCE = map(pathlib.Path, sys.argv[1:3])


class Package(unittest.TestCase):
    def test_version_is_that_of_the_project(self):
        [line] = [line for line in (SOURCE / "meson.build").read_text().splitlines()
                  if line.strip().startswith("version:")]
        self.assertEqual(tenon.__version__, line.split("'")[1])

    def test_neither_torch_nor_numpy_is_imported(self):
        self.assertNotIn("torch", sys.modules)
        self.assertNotIn("numpy", sys.modules)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
