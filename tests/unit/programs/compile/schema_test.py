#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What tenon-compile prints with --json is what its schema describes, and its exit codes match its documentation.

usage: schema_test.py SUPPORT_FOLDER TENON_COMPILE SCHEMA FIXTURES PLUGIN
"""

import json
import os
import pathlib
import subprocess
import sys
import unittest

sys.path.insert(0, sys.argv[1])
from schema_case import DocumentsCase, environment  # noqa: E402

compiler, schema_file = sys.argv[2], sys.argv[3]
fixtures, plugin = pathlib.Path(sys.argv[4]) / "pt2", sys.argv[5]
aoti = pathlib.Path(sys.argv[4]) / "aoti_package"


def run(*arguments):
    plugins = [] if "--aoti" in arguments else ["--plugin", plugin]
    return subprocess.run([compiler, "--json", *plugins, *map(str, arguments)],
                          capture_output=True, env=environment(), check=False)


class Schema(DocumentsCase, unittest.TestCase):
    def setUp(self):
        self.use_schema(schema_file)
        self.make_folder()

    def variant(self):
        """A program of kernels alone for the same model."""
        out = self.folder / "kernels.pte"
        self.assertEqual(run(fixtures / "mlp_decomposed/model.pt2", "-o", out).returncode, 0)
        return out

    def documents(self):
        out = self.folder / "m.pte"
        calls = {
            "left to kernels": [fixtures / "vision_decomposed/model.pt2", "-o", out],
            "two backends": [
                fixtures / "mlp_decomposed/model.pt2", "-o", out, "--backend", "FirstBackend",
                "--backend", "SecondBackend", "--spec", "FirstBackend.take=aten.relu.default",
                "--spec", "SecondBackend.take=aten.addmm.default"],
            "variants": [
                fixtures / "mlp_decomposed/model.pt2", "-o", out, "--backend", "FirstBackend",
                "--spec", "FirstBackend.take=aten.relu.default", "--variant", "second=SecondBackend",
                "--spec", "second.take=aten.addmm.default", "--variant", self.variant()],
            "external data": [
                fixtures / "mlp/model.pt2", "-o", out, "--backend", "FirstBackend",
                "--no-partition", "--spec", "external=weights"],
            "lost spec": [
                fixtures / "mlp_decomposed/model.pt2", "-o", out, "--backend", "FirstBackend",
                "--spec", "take=aten.relu.default", "--spec", "SecondBackend.mode=fast",
                "--spec", "forget=mode", "--spec", "mode=fast"],
            "strict": [
                fixtures / "mlp_decomposed/model.pt2", "-o", out, "--backend", "FirstBackend",
                "--spec", "mode=fast", "--strict"],
            "no kernel": [fixtures / "mlp/model.pt2", "-o", out],
            "no folder": [fixtures / "mlp_decomposed/model.pt2", "-o", self.folder / "no/m.pte"],
            "no archive": [self.folder / "none.pt2", "-o", out],
            "no backend": [fixtures / "mlp/model.pt2", "-o", out, "--backend", "Nobody"],
            "compiled model": [
                aoti / "model.pt2", "--aoti", aoti / "compiled.pt2", "-o", out, "--cpu-features",
                "x86-64-v3"],
            "code of a compiled model": [
                aoti / "model.pt2", "--aoti", aoti / "compiled.pt2", "-o", out],
            # A name that is not UTF-8.
            "bytes": [fixtures / "mlp_decomposed/model.pt2", "-o",
                      os.fsdecode(os.fsencode(self.folder) + b"/\xff.pte")],
        }
        for what, arguments in calls.items():
            done = run(*arguments)
            document = json.loads(done.stdout.decode("ascii"))
            self.assertEqual(document["exit_code"], done.returncode, what)
            self.assertEqual(document["error"] is None, done.returncode == 0, what)
            self.assertEqual(bool(done.stderr), done.returncode != 0 or document["warnings"] != [],
                             what)
            yield what, document

    def test_every_exit_code_and_every_list_was_seen(self):
        documents = [document for _, document in self.documents()]
        self.assertEqual({document["exit_code"] for document in documents}, {0, 1, 2, 3, 4})
        self.assertTrue(any(document["data"] for document in documents))
        needs = [each["needs"] for document in documents for each in document["variants"]]
        self.assertEqual([len(each) for each in needs], [1, 1, 0])
        methods = [method for document in documents for method in document["methods"]]
        for name in ("delegates", "operators"):
            self.assertTrue(any(method[name] for method in methods), name)
        features = [one["cpu_features"] for method in methods for one in method["delegates"]]
        self.assertIn(None, features)
        self.assertIn(["x86-64-v3"], features)

    def test_wrong_arguments_are_one_line_and_exit_with_2(self):
        done = run("-o", self.folder / "m.pte")
        self.assertEqual((done.returncode, done.stdout), (2, b""))
        self.assertRegex(done.stderr.decode(), r"\Atenon-compile: InvalidArgument \(0x12\): .*\n\Z")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
