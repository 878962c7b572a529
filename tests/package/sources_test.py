#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Archives and partial builds: `meson dist` makes an archive that builds by itself, and the kit is built without
the tests. Partial installations are in options_test.py.

usage: sources_test.py BUILD SOURCE COMPILER...
"""

import json
import os
import pathlib
import shutil
import sys
import tarfile
import tempfile
import unittest

from prefix import run

build, source, *compiler = sys.argv[1:]
source = pathlib.Path(source)
environment = dict(os.environ, CXX=" ".join(compiler))
KIT = ["-Dtests=disabled", "-Dcpu_aoti=disabled", "-Dcuda=disabled", "-Dnvcc_kernels=disabled", "-Dbenchmarks=disabled"]
LEAN = [*KIT, "-Dprograms=disabled", "-Dexamples=disabled"]


class Sources(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory(prefix="tenon-sources-")
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)

    def test_an_archive_of_the_sources_builds_by_itself(self):
        if not (source / ".git").exists() or not shutil.which("git"):
            self.skipTest("not a checkout of git")
        # What `meson dist` archives is the commit: a folder of its own keeps this build as it is.
        checkout = self.folder / "checkout"
        run("git", "clone", "--quiet", "--no-hardlinks", source, checkout, env=environment)
        run("meson", "setup", "build", *LEAN, env=environment, cwd=checkout)
        run("meson", "dist", "-C", "build", "--no-tests", "--formats", "gztar", env=environment,
            cwd=checkout)
        [archive] = (checkout / "build/meson-dist").glob("*.tar.gz")
        with tarfile.open(archive) as tar:
            tar.extractall(self.folder / "unpacked")
        [unpacked] = (self.folder / "unpacked").iterdir()
        self.assertEqual(archive.name, unpacked.name + ".tar.gz")
        tracked = run("git", "ls-files", env=environment, cwd=checkout).stdout.split()
        missing = [name for name in tracked
                   if not (unpacked / name).is_file() and not name.startswith(".git")]
        self.assertEqual(missing, [])
        run("meson", "setup", "build", *LEAN, "-Doptimization=0", env=environment, cwd=unpacked)
        run("ninja", "-C", "build", "include/tenon/host/libtenon-host.a", env=environment, cwd=unpacked)
        run("meson", "setup", "headers", "-Dhost=disabled", env=environment, cwd=unpacked)
        run("meson", "install", "-C", "headers", "--destdir", self.folder / "staging", env=environment, cwd=unpacked)
        [header] = (self.folder / "staging").rglob("tenon.hpp")
        run(*compiler, "-std=c++20", "-fsyntax-only", f"-I{header.parents[1]}", unpacked / "examples/backends/hello/hello.cpp",
            env=environment)
        if shutil.which("cmake"):
            run("cmake", "-S", ".", "-B", "cmake", "-DTENON_HOST=ON", env=environment, cwd=unpacked)

    def test_the_kit_is_built_without_the_tests(self):
        run("meson", "setup", self.folder / "build", *KIT, "-Dconformance=enabled", env=environment, cwd=source)
        shown = run("meson", "introspect", "--targets", self.folder / "build", env=environment)
        names = {target["name"] for target in json.loads(shown.stdout)}
        self.assertLessEqual({"tenon-conformance", "tenon-proxy", "tenon-run", "hello"}, names)
        self.assertEqual({name for name in names if "test" in name.replace("pytest", "") or "zoo" in name}, set())


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
