#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The subject file and the case that docs/tools/cases.md shows are read by the kit, and each of their
declarations matches a test.

usage: declared_subject_test.py ROOT TENON_CONFORMANCE HELLO
"""

import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

root, kit, hello = (pathlib.Path(each).resolve() for each in sys.argv[1:])


class Manual(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory(prefix="tenon-docs-")
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)
        page = (root / "docs/tools/cases.md").read_text(encoding="utf-8")
        blocks = [json.loads(block) for block in re.findall(r"```json\n(\{.*?)```", page, re.DOTALL)
                  if block.startswith("{\n")]
        [self.subject] = [block for block in blocks if "backends" in block]
        [self.case] = [block for block in blocks if "runs" in block]
        # The page's plugin is hello, whose backend has another id.
        self.subject["backends"]["Add"] = self.subject["backends"].pop("AcmeBackend")
        for each in self.subject["expected_failure"]:
            each["test"] = each["test"].replace("AcmeBackend", "Add")
        for path in (self.subject["plugin"], "cases/float", "cases/quantized/mobilenet"):
            (self.folder / "test" / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(hello, self.folder / "test" / self.subject["plugin"])

    def list_tests(self):
        path = self.folder / "test/acme.json"
        path.write_text(json.dumps(self.subject))
        return subprocess.run([kit, "--subject", path, "--level", "10", "--list"],
                              capture_output=True, text=True, check=False)

    def test_the_subject_file_is_read_and_its_declarations_match(self):
        for name in ("cases/float", "cases/quantized/mobilenet"):
            shutil.copytree(root / "tests/conformance/cases/hello/add", self.folder / "test" / name)
        done = self.list_tests()
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("/Add/mobilenet  (level ", done.stdout)
        self.subject["unsupported"][0]["test"] = "unload/*"
        done = self.list_tests()
        self.assertEqual(done.returncode, 3)
        self.assertIn("'unload/*' matches no test", done.stderr)

    def test_the_case_is_read(self):
        folder = self.folder / "test/cases/float"
        shutil.copytree(root / "tests/conformance/cases/hello/add", folder)
        shutil.move(folder / "model.pte", folder.parent / "counter.pte")
        arrays = [one for run in self.case["runs"] for one in run["inputs"] + run["expected"]]
        for name in {one for one in arrays if isinstance(one, str)}:
            shutil.copy(folder / "a0.npy", folder / name)
        # Its own program has another method.
        self.case["method"] = "forward"
        (folder / "case.json").write_text(json.dumps(self.case))
        self.subject["backends"]["Add"]["cases"] = ["cases/float"]
        self.subject["expected_failure"] = []
        done = self.list_tests()
        self.assertEqual(done.returncode, 0, done.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
