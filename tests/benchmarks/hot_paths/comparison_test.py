# SPDX-License-Identifier: MIT
"""Tests how hot_paths_test.py compares."""

import unittest

import hot_paths_test


class Comparing(unittest.TestCase):
    def verdict(self, known, counted):
        """The end of each line, and whether the test passes."""
        lines, good = hot_paths_test.compare(known, counted)
        return [line.split("  ")[-1].strip() for line in lines], good

    def test_growth_of_more_than_three_percent_fails(self):
        self.assertEqual(self.verdict({"a": 1000.0}, {"a": 1040.0}), (["GREW by 4.0 %"], False))
        lines, good = self.verdict({"a": 1000.0}, {"a": 1030.0})
        self.assertTrue(good)
        self.assertNotIn("GREW", lines[0])

    def test_a_short_path_may_vary_by_the_place_of_its_strings(self):
        lines, good = self.verdict({"a": 165.0}, {"a": 171.0})
        self.assertTrue(good)
        self.assertNotIn("GREW", lines[0])
        self.assertEqual(self.verdict({"a": 165.0}, {"a": 174.0}), (["GREW by 5.5 %"], False))

    def test_a_path_that_is_not_counted_fails(self):
        lines, good = self.verdict({"a": 1000.0, "b": 5.0}, {"a": 1000.0})
        self.assertFalse(good)
        self.assertEqual(lines[1], "NOT COUNTED")

    def test_new_and_shorter_paths_pass_and_are_named(self):
        lines, good = self.verdict({"a": 1000.0}, {"a": 900.0, "b": 7.0})
        self.assertTrue(good)
        self.assertEqual([line.split(":")[0] for line in lines], ["less", "new"])

    def test_paths_that_are_left_out_are_not_expected(self):
        known = {"load: one": 10.0, "bridge: a call": 20.0}
        self.assertEqual(hot_paths_test.without(known, "bridge:"), {"load: one": 10.0})
        self.assertEqual(hot_paths_test.without(known, ""), known)


class Dumps(unittest.TestCase):
    def test_a_dump_is_divided_by_its_repeats(self):
        text = "desc: Trigger: Client Request: 20 open: a program\ntotals: 1001\n"
        self.assertEqual(hot_paths_test.parse(text), ("open: a program", 50.0))
        self.assertEqual(hot_paths_test.parse(text.replace("totals", "summary")),
                         ("open: a program", 50.0))

    def test_a_dump_without_a_mark_or_a_total_is_none(self):
        self.assertIsNone(hot_paths_test.parse("desc: Trigger: Program termination\ntotals: 7\n"))
        self.assertIsNone(hot_paths_test.parse("desc: Trigger: Client Request: 20 open\n"))


if __name__ == "__main__":
    unittest.main()
