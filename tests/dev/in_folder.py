# SPDX-License-Identifier: MIT
"""What the tests of `./dev` share."""

import os
import pathlib
import tempfile
import unittest
from unittest import mock

from dev.part import Part


class InFolder(unittest.TestCase):
    """In an empty folder, with a part that prints to a file."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="tenon-dev-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(self.folder)
        out = open("printed", "w", encoding="utf-8")  # pylint: disable=consider-using-with
        self.addCleanup(out.close)
        self.part = Part(out)

    def printed(self):
        return pathlib.Path("printed").read_text(encoding="utf-8")

    def program(self, name, text):
        """A program that is the first of its name on the path."""
        path = self.folder / "bin" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
        path.chmod(0o755)
        self.patch(mock.patch.dict(os.environ, PATH=f"{path.parent}:{os.environ['PATH']}"))

    def patch(self, patch):
        """Until the test ends."""
        patch.start()
        self.addCleanup(patch.stop)

    def names(self, outcome):
        return [check.name for check in self.part.checks if check.outcome == outcome]
