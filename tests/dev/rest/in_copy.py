# SPDX-License-Identifier: MIT
"""For tests of `./dev rest` and `.ci/run`."""

import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

from dev.rest import record

DEV = pathlib.Path(__file__).resolve().parents[1]


class InCopy(unittest.TestCase):
    """In a copy of the scripts with commands that take no time."""

    def setUp(self):
        temporary = tempfile.TemporaryDirectory(prefix="tenon-rest-")
        self.addCleanup(temporary.cleanup)
        self.root = pathlib.Path(temporary.name)
        shutil.copytree(DEV, self.root / "tests/dev", ignore=shutil.ignore_patterns("__pycache__"))
        zoo = DEV.parents[1] / "tests/conformance/zoo/zoo_list.py"  # For `./dev cross`.
        (self.root / "tests/conformance/zoo").mkdir(parents=True)
        shutil.copy(zoo, self.root / "tests/conformance/zoo")
        (self.root / ".ci").mkdir()
        shutil.copy(DEV.parents[1] / ".ci/run", self.root / ".ci")
        (self.root / "docs/measurements").mkdir(parents=True)
        self.slices(("one", "true"), ("two", "echo 2 passed, 0 failed, 0 skipped"))
        self.touched({"": ()})
        self.dev("echo 7 passed, 0 failed, 1 skipped")
        self.environment = {name: value for name, value in os.environ.items()
                            if name != "CI" and not name.startswith("GIT_")}
        self.environment |= {f"GIT_{who}_{what}": "tenon@example.com" for who in ("AUTHOR", "COMMITTER")
                             for what in ("NAME", "EMAIL")}

    def slices(self, *rows):
        text = "".join(f"    Slice({name!r}, 'about', ({command!r},), {minutes}),\n"
                       for name, command, minutes in (row if len(row) == 3 else (*row, 1) for row in rows))
        path = self.root / "tests/dev/rest/slices.py"
        head = path.read_text().split("\ndef _models")[0]
        path.write_text(f"{head}\nSLICES = (\n{text})\n")

    def touched(self, table, *near):
        path = self.root / "tests/dev/rest/touched.py"
        text = path.read_text()
        rows = "".join(f"    _near({name!r}, 'about', 'of-{name}', 1),\n" for name in near)
        path.write_text(f"{text.split('NEAR = (')[0]}NEAR = (\n{rows})\nTABLE = {table}\n\n"
                        f"def base{text.split(chr(10) + 'def base')[1]}")

    def dev(self, test):
        path = self.root / "dev"
        path.write_text(f'#!/bin/sh\ncase $1 in\n  test) {test} ;;\n  rest) exec python3 tests/dev "$@" ;;\nesac\n')
        path.chmod(0o755)

    def git(self, *arguments):
        return subprocess.run(["git", *arguments], cwd=self.root, env=self.environment, check=True, capture_output=True,
                              text=True).stdout

    def commit(self):
        if not (self.root / ".git").exists():
            self.git("init", "--quiet")
            (self.root / ".gitignore").write_text("/build\n__pycache__\n")
        self.git("add", ".")
        self.git("commit", "--quiet", "--allow-empty", "-m", "Add")

    def run_it(self, *words, expect=0, **more):
        done = subprocess.run(words, cwd=self.root, env=self.environment | more, text=True, check=False, capture_output=True)
        self.assertEqual(done.returncode, expect, done.stdout + done.stderr)
        return done.stdout

    def recorded(self):
        return record.read(self.root)
