# SPDX-License-Identifier: MIT
"""`python -m tenon`: main_test.py BUILD SOURCE."""

import contextlib
import io
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

BUILD, SOURCE = map(pathlib.Path, sys.argv[1:3])
DEMO = BUILD / "examples/backends/demo_backend.so"
os.environ["TENON_PLUGIN_FILES"] = str(DEMO)

import tenon  # noqa: E402
from tenon import __main__, _prefix, _programs  # noqa: E402


def run(*words, **env):
    done = subprocess.run([sys.executable, "-m", "tenon", *words], env=os.environ | env, text=True, check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    return done.returncode, done.stdout, done.stderr


class Main(unittest.TestCase):
    """Each test has a folder with the program tenon-echo, which prints its arguments and exits with 3."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="tenon-test-")
        self.addCleanup(folder.cleanup)
        self.prefix = pathlib.Path(folder.name).resolve()
        self.bin = self.prefix / "bin"
        self.bin.mkdir()
        self.make("tenon-echo", '#!/bin/sh\necho "$0" "$@"\nexit 3\n')

    def make(self, name, text):
        (self.bin / name).write_text(text)
        (self.bin / name).chmod(0o755)

    def test_a_command_becomes_the_program(self):
        path = f"{self.bin}:{os.environ['PATH']}"
        self.assertEqual(run("echo", "a b", "--help", PATH=path), (3, f"{self.bin / 'tenon-echo'} a b --help\n", ""))

    def test_a_command_that_is_not_there_is_named(self):
        status, _, shown = run("backward")
        self.assertEqual(status, 2)
        self.assertEqual(shown, "tenon: there is no command 'backward': tenon-backward is not on PATH; known: info\n")
        self.make("tenon-damaged", "\x7fELF")
        status, _, shown = run("damaged", PATH=f"{self.bin}:{os.environ['PATH']}")
        self.assertEqual(status, 1)
        self.assertEqual(shown, f"tenon: {self.bin / 'tenon-damaged'} cannot be started: Exec format error\n")

    def test_the_programs_of_the_package_come_before_those_of_path(self):
        (self.bin / "tenon-text").write_text("is no program")
        with unittest.mock.patch.object(_prefix, "prefix", lambda: self.prefix):
            self.assertEqual(_programs.installed(), {"echo": self.bin / "tenon-echo"})
            with unittest.mock.patch.dict(os.environ, PATH="/nowhere"):
                self.assertEqual(_programs.find("echo"), self.bin / "tenon-echo")
                self.assertIsNone(_programs.find("text"))
                self.assertIsNone(_programs.find("../bin/tenon-echo"))
            self.assertEqual(_programs.places(), f"neither in {self.bin} nor on PATH")

    def test_info_has_what_is_installed(self):
        status, shown, _ = run("info", "--json")
        found = json.loads(shown)
        self.assertEqual((status, found["version"], found["prefix"], found["programs"]), (0, tenon.__version__, None, {}))
        [demo] = [each for each in found["backends"] if each["id"] == "BackendWithCompilerDemo"]
        self.assertEqual((demo["state"], demo["path"]), ("known", str(DEMO)))
        shown = __main__.text(found | {"programs": {"run": "/env/bin/tenon-run"}, "prefix": "/env", "offered": [
            {"id": "AcmeBackend", "distribution": "acme", "version": "0.1.0", "value": "acme:plugin"}]})
        self.assertRegex(shown, r"(?m)^  prefix +/env\n")
        self.assertIn("programs: tenon-run\n", shown)
        self.assertRegex(shown, r"(?m)^  BackendWithCompilerDemo +known +\S+demo_backend\.so$")
        self.assertIn("  AcmeBackend  acme 0.1.0 (acme:plugin)", shown)

    def test_usage(self):
        self.assertEqual(run("--version"), (0, f"tenon {tenon.__version__}\n", ""))
        status, shown, _ = run("--help")
        self.assertEqual(status, 0)
        self.assertIn("programs: none in this package; those on PATH", shown)
        for words in ((), ("--versio",), ("--json", "info"), ("info", "--all")):
            with self.subTest(words), contextlib.redirect_stderr(io.StringIO()) as shown:
                try:
                    status = __main__.main(list(words))
                except SystemExit as end:
                    status = end.code
                self.assertEqual(status, 2)
                self.assertIn("usage: python -m tenon", shown.getvalue())


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
