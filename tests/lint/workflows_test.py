#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests of the workflows for GitHub: actions by hash, least permissions, commands that exist; and `actionlint` and `zizmor`
where these are installed.

usage: workflows_test.py SOURCE
"""

import pathlib
import re
import shutil
import subprocess
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from dev.cli import COMMANDS  # noqa: E402  pylint: disable=wrong-import-position

source = pathlib.Path(sys.argv[1]).resolve()
OURS = sorted((source / ".github/workflows").glob("*.yml"))
ALL = [*OURS, *sorted((source / "templates").glob("*/.github/workflows/*.yml"))]


def loose_actions(text):
    """Lines that use an action by anything but a hash with the version in a comment."""
    return [line.strip() for line in text.splitlines() if re.match(r"\s*-? *uses:", line)
            and not re.search(r"uses: [\w-]+/[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$", line)]


class Workflows(unittest.TestCase):
    def check(self, *words):
        done = subprocess.run(words, cwd=source, text=True, check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.assertEqual(done.returncode, 0, done.stdout)

    def test_actions_are_named_by_hash_with_their_version(self):
        self.assertTrue(OURS)
        for path in ALL:
            self.assertEqual(loose_actions(path.read_text(encoding="utf-8")), [], path)
        self.assertEqual(loose_actions(f"- uses: a/b@v4\n- uses: a/b@{'0' * 40}\n  uses: a/b/c@{'0' * 40} # v1.2.3"),
                         ["- uses: a/b@v4", f"- uses: a/b@{'0' * 40}"])

    def test_one_action_has_one_hash(self):
        found = {}
        for path in ALL:
            for name, what in re.findall(r"uses: (\S+)@(.*)", path.read_text(encoding="utf-8")):
                self.assertEqual(found.setdefault(name, what), what, path)

    def test_a_workflow_has_no_permissions_and_a_job_those_that_it_needs(self):
        for path in OURS:
            text = path.read_text(encoding="utf-8")
            self.assertIn("\npermissions: {}\n", text, path)
            jobs = re.findall(r"^  \w+:\n(?:    .*\n|\n|  # .*\n)+", text.split("\njobs:\n")[1], re.M)
            self.assertEqual([job for job in jobs if "\n    permissions:\n" not in job], [], path)
            self.assertEqual(len(re.findall("actions/checkout@", text)), text.count("persist-credentials: false"), path)

    def test_commands_exist(self):
        for path in OURS:
            for name in re.findall(r"(?:run: | {10})\./dev (\w+)", path.read_text(encoding="utf-8")):
                self.assertIn(name, COMMANDS, path)

    @unittest.skipUnless(shutil.which("actionlint"), "actionlint is not installed")
    def test_actionlint_finds_nothing(self):
        self.check("actionlint", *OURS)

    @unittest.skipUnless(shutil.which("zizmor"), "zizmor is not installed")
    def test_zizmor_finds_nothing(self):
        self.check("zizmor", "--offline", "--no-progress", *OURS)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
