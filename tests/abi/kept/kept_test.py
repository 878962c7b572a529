# SPDX-License-Identifier: MIT
"""Kept plugins run in today's host and kit, and today's plugins in the kept host and kit.

    kept_test.py MACHINE TENON_RUN KIT HELLO DEMO_BACKEND [EMULATOR LOADER]

With an EMULATOR (a script, as tests/dev/cross writes it) kept programs get LOADER, the dynamic linker in its libraries.
Exit status 77 when nothing was kept yet.
"""

import io
import os
import pathlib
import re
import subprocess
import sys
import tarfile
import tempfile
import unittest

import keep

machine, tenon_run, kit, hello, demo_backend, *emulated = sys.argv[1:]
STORE = keep.Store()
VERSIONS = sorted({name.split("/")[0] for name in STORE.names(machine)})
# Enough for every function of the boundary once; the rest is about a plugin and not about versions.
LEVEL = "3"
# What the dynamic linker says of a kept program on a system with another version of fmt.
MISSING = re.compile(r"error while loading shared libraries: (libfmt\.so\.\d+): cannot open shared object file")
PLUGINS = {"hello.so": "hello.tar", "demo_backend.so": "demo_backend.tar", "full.so": "full.tar", "wrapper.so": "wrapper.tar",
           "minimal.so": "minimal.tar"}


class Kept(unittest.TestCase):
    """Both ways, for each version of which binaries were kept."""

    def each_version(self):
        for version in VERSIONS:
            with tempfile.TemporaryDirectory() as folder, self.subTest(version=version):
                files = STORE.unpack(version, machine, folder)
                if emulated:
                    for name in ("tenon-run", "tenon-conformance"):
                        subprocess.run(["patchelf", "--set-interpreter", emulated[1], files[name]], check=True)
                yield files

    def run_program(self, *words, **variables):
        """A program, which succeeds."""
        words = [str(word) for word in (*emulated[:1], *words)]
        done = subprocess.run(words, capture_output=True, text=True, check=False, env={**os.environ, **variables})
        if missing := MISSING.search(done.stderr):
            self.skipTest(f"{words[0]} needs {missing[1]} of the system that it was kept on")
        self.assertEqual(done.returncode, 0, f"{' '.join(words)}\n{done.stdout}{done.stderr}")
        return done.stdout

    def judge(self, program, plugin, cases, **variables):
        text = self.run_program(program, plugin, "--cases", cases, "--level", LEVEL, "--color", "never", "--jobs", "2",
                                **variables)
        self.assertIn("PASS", text)

    def run_cases(self, program, plugin, cases):
        """The first case, by tenon-run."""
        case = cases / "add"
        self.run_program(program, case / "model.pte", "--plugin", plugin, "--input", case / "a0.npy", "--input",
                         case / "b0.npy", "--expect", case / "expected0.npy")

    def cases(self, files, name):
        """A folder of cases that was kept."""
        folder = files[name].with_suffix("")
        with tarfile.open(fileobj=io.BytesIO(files[name].read_bytes())) as tar:
            tar.extractall(folder, filter="data") if hasattr(tarfile, "data_filter") else tar.extractall(folder)
        return folder

    def test_kept_plugins_run_in_the_host_of_today(self):
        for files in self.each_version():
            self.run_cases(tenon_run, files["hello.so"], self.cases(files, "hello.tar"))

    def test_kept_plugins_pass_the_kit_of_today(self):
        for files in self.each_version():
            for plugin, cases in PLUGINS.items():
                with self.subTest(plugin):
                    self.judge(kit, files[plugin], self.cases(files, cases), MY_NPU_LIB=str(files["libnpu_runtime.so"]))

    def test_plugins_of_today_run_in_the_kept_host(self):
        for files in self.each_version():
            self.run_cases(files["tenon-run"], pathlib.Path(hello), self.cases(files, "hello.tar"))

    def test_plugins_of_today_pass_the_kept_kit(self):
        for files in self.each_version():
            for plugin, cases in ((hello, "hello.tar"), (demo_backend, "demo_backend.tar")):
                with self.subTest(plugin):
                    self.judge(files["tenon-conformance"], plugin, self.cases(files, cases))

    def test_kept_plugins_run_in_the_kept_host(self):
        """The day itself: where this fails, the machine is what differs."""
        for files in self.each_version():
            self.run_cases(files["tenon-run"], files["hello.so"], self.cases(files, "hello.tar"))


if __name__ == "__main__":
    if not VERSIONS:
        print(f"skipped: no kept binaries yet for {machine}")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1])
