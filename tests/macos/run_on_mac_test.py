# SPDX-License-Identifier: MIT
"""The suite for a Mac where there is none: what it can ask is asked, and nothing else passes."""

import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SUITE = Path(__file__).with_name("run_on_mac")


@unittest.skipIf(sys.platform == "darwin", "on a Mac the suite itself runs")
class RunOnMacTest(unittest.TestCase):
    """The report."""

    def test_only_the_question_that_this_system_can_answer_passes(self) -> None:
        with tempfile.TemporaryDirectory(prefix="tenon-run-on-mac-") as folder:
            done = subprocess.run([sys.executable, str(SUITE), "--out", folder], capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            steps = json.loads((Path(folder) / "metal-suite.json").read_text())["steps"]
        outcomes = {step["name"]: step["outcome"] for step in steps}
        self.assertEqual(outcomes.pop("questions/promotion"), "pass")
        self.assertIn("questions/compiler", outcomes)
        self.assertIn("programs/stateful", outcomes)
        self.assertEqual(set(outcomes.values()), {"not available"})

    def test_a_model_that_finds_no_function_is_a_failure(self) -> None:
        with tempfile.TemporaryDirectory(prefix="tenon-run-on-mac-") as name:
            folder = Path(name)
            sources = SUITE.parent / "questions"
            for part, words in (("provider", ["-shared", "-fPIC"]), ("host", [])):
                subprocess.run(["cc", "-D_GNU_SOURCE", *words, str(sources / f"{part}.c"), "-o", str(folder / part), "-ldl"],
                               check=True)
            done = subprocess.run([str(folder / "host"), str(folder / "provider"), str(folder / "none")],
                                  capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("the model is not opened: ", done.stdout)


if __name__ == "__main__":
    unittest.main()
