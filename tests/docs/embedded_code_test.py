#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The commands of docs/hosts/embedded-code.md print what the page says, and tenon-run lets code run or
refuses it with exit code 4 and one line.

usage: embedded_code_test.py PAGE FIXTURES PLUGIN TOOL...
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

page, fixtures, plugin = map(pathlib.Path, sys.argv[1:4])
tools = [pathlib.Path(tool).resolve() for tool in sys.argv[4:]]


def string(text):
    """A string of a flatbuffer: its length, its characters and a NUL."""
    return len(text).to_bytes(4, "little") + text + b"\0"


def program_with_code():
    """A program whose only delegate is one of AsksBackend, with a blob that it takes for code."""
    data = (fixtures / "demo_sin_seg/model.pte").read_bytes()
    old, new = string(b"BackendWithCompilerDemo"), string(b"AsksBackend")
    assert data.count(old) == 1 and data.count(b"1version") == 1
    return data.replace(old, new.ljust(len(old), b"\0")).replace(b"1version", b"code:ver")


class EmbeddedCode(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name).resolve()
        os.chmod(shutil.copy(plugin, self.folder / "libcode.so"), 0o644)
        shutil.copy(fixtures / "demo_sin_seg/c0_in0.npy", self.folder / "x.npy")
        (self.folder / "model.pte").write_bytes(program_with_code())
        (self.folder / "bin").mkdir()
        for tool in tools:
            # An uninstalled tool has a name of its own when it is built for tests.
            (self.folder / "bin" / tool.name.removesuffix("-alone")).symlink_to(tool)

    def shell(self, command):
        variables = {n: v for n, v in os.environ.items() if not n.startswith("TENON_")}
        variables |= {"PATH": f"{self.folder / 'bin'}:{os.environ['PATH']}"}
        return subprocess.run(["sh", "-c", command], cwd=self.folder, env=variables, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)

    def run_with(self, *arguments):
        words = ["tenon-run", "model.pte", "--plugin", "libcode.so", "--input", "x.npy", *arguments]
        return self.shell(" ".join(words))

    def hash_of_code(self):
        found = re.search(r"has SHA-256 ([0-9a-f]{64}),", self.run_with("--embedded-code=sha256:").stdout)
        self.assertTrue(found)
        return found[1]

    def test_the_page_shows_what_is_printed(self):
        # Paths, times and free memory differ each time.
        def stable(text):
            text = re.sub(r"\d+ free: ", "FREE: ", text.replace(str(self.folder), "/opt/acme"))
            return [re.sub(r"^time: .*", "time: ...", line) for line in text.splitlines()]

        num_commands = 0
        for block in re.findall(r"```\n(\$ .*?)```", page.read_text(), re.DOTALL):
            for piece in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
                command, _, expected = piece.partition("\n")
                num_commands += 1
                with self.subTest(command):
                    self.assertEqual(stable(self.shell(command).stdout), stable(expected))
        self.assertGreaterEqual(num_commands, 6)

    def test_code_that_is_permitted_runs(self):
        self.assertEqual(self.run_with().returncode, 0)
        self.assertEqual(self.run_with("--embedded-code=allow").returncode, 0)
        listed = f"--embedded-code=sha256:{'0' * 64},{self.hash_of_code()}"
        self.assertEqual(self.run_with(listed).returncode, 0)

    def test_a_refusal_is_one_line_and_exit_code_4(self):
        for policy in ("deny", "sha256:", f"sha256:{'0' * 64}"):
            done = self.run_with(f"--embedded-code={policy}")
            with self.subTest(policy):
                self.assertEqual(done.returncode, 4, done.stdout)
                self.assertEqual(done.stdout.count("\n"), 1)
                self.assertTrue(done.stdout.startswith(
                    "tenon-run: AccessFailed (0x22): model.pte: method forward: delegate 0 "
                    "(AsksBackend): "), done.stdout)

    def test_json_has_the_refusal(self):
        done = self.run_with("--embedded-code=deny", "--json", "2>/dev/null")
        report = json.loads(done.stdout)
        self.assertEqual((report["status"], report["exit_code"]), ("error", 4))
        self.assertEqual(report["error"]["name"], "AccessFailed")

    def test_a_policy_that_is_none_is_wrong_usage(self):
        for policy, text in (("maybe", "'maybe', expected allow, deny or sha256:"),
                             ("sha256:12", "found 2 characters: '12'"),
                             ("", "--embedded-code")):
            done = self.run_with(f"--embedded-code={policy}")
            with self.subTest(policy):
                self.assertEqual(done.returncode, 2, done.stdout)
                self.assertEqual(done.stdout.count("\n"), 1)
                self.assertIn("--embedded-code", done.stdout)
                self.assertIn(text, done.stdout)

    def test_help_names_it_with_an_example(self):
        shown = self.shell("tenon-run --help").stdout
        self.assertIn("--embedded-code POLICY", shown)
        self.assertIn("--embedded-code=deny", shown)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
