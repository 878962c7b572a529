# SPDX-License-Identifier: MIT
"""For tests of the checker: a copy of a small boundary."""

import contextlib
import io
import pathlib
import tempfile
import unittest

import boundary
from checker import sample

SAMPLE, HOST = "tenon/abi/sample.h", "tenon/host/c/tenon_host.h"
DATE, COMMIT = "2026-12-24", "0123456789" * 4
RULE = sample.RULE


class Copy(unittest.TestCase):
    """Headers in a folder of their own, and what is frozen of them."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.include = pathlib.Path(folder.name, "include")
        self.files = [pathlib.Path(folder.name, "frozen", name) for name in ("abi-1.0.json", "c-1.0.json")]
        sample.write(self.include)

    def freeze(self):
        with contextlib.redirect_stdout(io.StringIO()):
            boundary.freeze(self.include, self.files)

    def declare(self):
        """The freeze, as it is from then on."""
        self.freeze()
        for path in self.files:
            with contextlib.redirect_stdout(io.StringIO()):
                boundary.declare(path, DATE, COMMIT, self.include)

    def edit(self, name, *changes):
        """Replaces texts of a header, each of which is in it once."""
        path = self.include / name
        text = path.read_text()
        for old, new in changes:
            self.assertEqual(text.count(old), 1, old)
            text = text.replace(old, new)
        path.write_text(text)

    def next_minor(self):
        self.edit("tenon/abi/version.h", ("TENON_ABI_MINOR 0", "TENON_ABI_MINOR 1"))

    def found(self):
        return boundary.check(self.include, self.files)

    def check(self, *expected):
        self.assertEqual(self.found(), list(expected))
