#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A signal inside a plugin ends tenon-compile with a line that names the plugin.

usage: crash_test.py TENON_COMPILE TWO_COMPILERS FIXTURES
"""

import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import unittest
import zipfile

compiler, plugin = sys.argv[1:3]
model = pathlib.Path(sys.argv[3]) / "pt2" / "mlp_decomposed" / "model.pt2"
TAKE = "take=aten.relu.default,aten.addmm.default,aten.permute.default"


class Crash(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)

    def compile(self, archive, *specs):
        environment = {n: v for n, v in os.environ.items() if not n.startswith("TENON_")}
        words = [compiler, archive, "--backend", "FirstBackend", "--plugin", plugin,
                 "-o", self.folder / "model.pte", "--spec", TAKE]
        for spec in specs:
            words += ["--spec", spec]
        return subprocess.run([str(word) for word in words], capture_output=True, text=True,
                              env=environment, check=False)

    def check_named(self, archive):
        done = self.compile(archive, "write=weights")
        self.assertEqual(done.returncode, -signal.SIGSEGV, done.stderr)
        self.assertRegex(
            done.stderr,
            r"^tenon-compile: backend FirstBackend \(.*/two_compilers\.so\): preprocess: wrote to "
            r"the data of '[a-z0-9.]+', which it may only read \(TN-AOT-6\): ended by SIGSEGV\n$")
        self.assertEqual(list(self.folder.glob("*.pte")), [])

    def test_weights_of_a_mapped_file_are_not_written(self):
        before = model.read_bytes()
        self.check_named(model)
        self.assertEqual(model.read_bytes(), before)

    def test_weights_that_were_unpacked_are_not_written(self):
        packed = self.folder / "packed.pt2"
        with zipfile.ZipFile(model) as old, zipfile.ZipFile(
                packed, "w", zipfile.ZIP_DEFLATED) as new:
            for name in old.namelist():
                new.writestr(name, old.read(name))
        self.assertEqual(self.compile(packed).returncode, 0)
        (self.folder / "model.pte").unlink()
        self.check_named(packed)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
