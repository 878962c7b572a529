# SPDX-License-Identifier: MIT
"""Tests compare.py, which is the argument, with runs that are made up."""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

COMPARE = sys.argv.pop(1)


def value(minimum, halves=None):
    return {"minimum": minimum, "median": minimum, "halves": halves or [minimum, minimum]}


def row(what, ours, stock=None):
    return {"group": "load", "what": what, "ours": ours, "stock": stock}


class Comparing(unittest.TestCase):
    def run_it(self, before, after):
        with tempfile.TemporaryDirectory() as folder:
            paths = []
            for name, rows in (("before", before), ("after", after)):
                paths.append(pathlib.Path(folder) / f"{name}.json")
                text = rows if isinstance(rows, str) else json.dumps({"facts": {}, "rows": rows})
                paths[-1].write_text(text)
            return subprocess.run(
                [sys.executable, COMPARE, *paths], capture_output=True, text=True, check=False
            )

    def verdict(self, before, after):
        done = self.run_it([before], [after])
        line = done.stdout.splitlines()[1]
        return done.returncode, line.rsplit("%", 1)[1].strip()

    def test_a_row_that_became_slower_fails(self):
        self.assertEqual(self.verdict(row("a", value(100)), row("a", value(104))), (1, "SLOWER"))

    def test_a_change_within_the_least_limit_is_none(self):
        self.assertEqual(self.verdict(row("a", value(100)), row("a", value(102))), (0, ""))

    def test_a_row_that_became_faster_passes(self):
        self.assertEqual(self.verdict(row("a", value(100)), row("a", value(90))), (0, "faster"))

    def test_a_change_within_the_noise_of_either_run_is_none(self):
        noisy = value(100, [100, 110])
        self.assertEqual(self.verdict(row("a", noisy), row("a", value(115))), (0, ""))
        self.assertEqual(self.verdict(row("a", noisy), row("a", value(125))), (1, "SLOWER"))
        self.assertEqual(
            self.verdict(row("a", value(100)), row("a", value(115, [115, 127]))), (0, "")
        )

    def test_a_machine_that_became_slower_is_not_taken_for_the_code(self):
        before = row("a", value(100), value(200))
        self.assertEqual(self.verdict(before, row("a", value(200), value(400))), (0, ""))
        self.assertEqual(self.verdict(before, row("a", value(200), value(380))), (1, "SLOWER"))

    def test_the_noise_of_a_ratio_is_that_of_the_ratio(self):
        # Both sides were slower in the odd rounds: their ratio was not.
        before = row("a", value(100, [100, 150]), value(200, [200, 300]))
        after = row("a", value(110, [110, 165]), value(200, [200, 300]))
        self.assertEqual(self.verdict(before, after), (1, "SLOWER"))

    def test_rows_without_a_figure_are_left_out(self):
        done = self.run_it(
            [row("a", value(1)), row("b", None), row("c", value(0))],
            [row("a", value(1)), row("b", value(5)), row("c", value(5)), row("d", value(1))],
        )
        self.assertEqual(done.returncode, 0)
        self.assertEqual(len(done.stdout.splitlines()), 2)

    def test_files_that_cannot_be_compared_are_refused(self):
        self.assertEqual(self.run_it([row("a", value(1))], [row("b", value(1))]).returncode, 2)
        for text in ("", "[]", '{"rows": [1]}'):
            done = self.run_it(text, text)
            self.assertEqual(done.returncode, 2, text)
            self.assertIn("expected two files of tenon-bench --json", done.stderr)


if __name__ == "__main__":
    unittest.main()
