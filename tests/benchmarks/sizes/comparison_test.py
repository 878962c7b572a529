# SPDX-License-Identifier: MIT
"""Tests how sizes_test.py compares: comparison_test.py RECORD PAGE. The page shows the record."""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

import sizes_test

RECORD, PAGE = map(pathlib.Path, (sys.argv.pop(1), sys.argv.pop(1)))


class Comparing(unittest.TestCase):
    def verdict(self, known, sizes):
        """The end of each line, and whether the test passes."""
        lines, good = sizes_test.compare(known, sizes)
        return [line.split("  ")[-1].strip() for line in lines], good

    def test_growth_of_more_than_three_percent_fails(self):
        self.assertEqual(self.verdict({"a": 1000}, {"a": 1031}), (["GREW by 3.1 %"], False))
        self.assertEqual(self.verdict({"a": 1000}, {"a": 1030}), (["1030"], True))

    def test_a_file_that_is_not_built_fails(self):
        self.assertEqual(self.verdict({"a": 1000, "b": 5}, {"a": 1000}), (["1000", "NOT BUILT"], False))

    def test_new_and_smaller_files_pass_and_ask_for_a_record(self):
        lines, good = self.verdict({"a": 1000}, {"a": 900, "b": 7})
        self.assertTrue(good)
        self.assertEqual(lines, ["less by 10.0 %: write it down with --write", "new: write it down with --write"])


class Running(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="tenon-sizes-test-")
        self.addCleanup(folder.cleanup)
        self.record = pathlib.Path(folder.name) / "sizes.json"
        self.size = sizes_test.stripped_size(sys.executable)

    def run_it(self, tables, *arguments):
        self.record.write_text(json.dumps(tables))
        return subprocess.run([sys.executable, "-B", sizes_test.__file__, *arguments, "key", self.record,
                               f"program={sys.executable}"], capture_output=True, text=True, check=False)

    def test_the_exit_status_says_whether_a_file_grew(self):
        self.assertEqual(self.run_it({"key": {"program": self.size}}).returncode, 0)
        self.assertEqual(self.run_it({"key": {"program": self.size // 2}}).returncode, 1)

    def test_without_a_table_for_the_build_it_is_skipped(self):
        done = self.run_it({"another": {"program": 1}})
        self.assertEqual(done.returncode, sizes_test.SKIPPED)
        self.assertIn(str(self.size), done.stdout)

    def test_writing_keeps_the_tables_of_other_builds(self):
        self.assertEqual(self.run_it({"another": {"program": 1}, "key": {"gone": 2}}, "--write").returncode, 0)
        self.assertEqual(json.loads(self.record.read_text()), {"another": {"program": 1}, "key": {"program": self.size}})

    def test_a_file_that_is_missing_is_an_error(self):
        with self.assertRaises(subprocess.CalledProcessError):
            sizes_test.stripped_size(self.record)


class Page(unittest.TestCase):
    def test_the_page_shows_the_record(self):
        tables = json.loads(RECORD.read_text(encoding="utf-8"))
        lines = PAGE.read_text(encoding="utf-8").splitlines()
        self.assertTrue(any(line.startswith(f"| file | {' | '.join(tables)} |") for line in lines))
        names = next(iter(tables.values()))
        rows = [f"| `{name}` | {' | '.join(f'{sizes[name]:,}' for sizes in tables.values())} |" for name in names]
        self.assertEqual([row for row in rows if not any(line.startswith(row) for line in lines)], [])


if __name__ == "__main__":
    unittest.main()
