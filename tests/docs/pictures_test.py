#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The scripts that draw pictures read what they say they read, and refuse what is missing or does not fit. That each
picture is drawn of its data is checked by docs/site/pictures/draw.py.

usage: pictures_test.py ROOT
"""

import json
import pathlib
import re
import sys
import tempfile
import unittest
import xml.etree.ElementTree as ElementTree

root = pathlib.Path(sys.argv[1]).resolve()
sys.dont_write_bytecode = True
sys.path.insert(0, str(root / "docs/site/pictures"))

import architecture  # noqa: E402
import draw  # noqa: E402
import execution  # noqa: E402
import record  # noqa: E402
import svg  # noqa: E402
import tables  # noqa: E402
import terminal  # noqa: E402

PAGE = "text\n\n| what | stock | ours |\n|---|---:|---:|\n| a call | 1.5 µs | 3 ns |\n\n| what | other |\n|---|---|\n| a | b |\n"


class Tables(unittest.TestCase):
    def test_a_row_is_found_by_its_table_and_name(self):
        row = tables.row_of(tables.table_of(PAGE, "what | stock"), "what", "a call")
        self.assertEqual(row, {"what": "a call", "stock": "1.5 µs", "ours": "3 ns"})
        self.assertEqual(tables.figure(row["stock"]), 1500)
        self.assertEqual(tables.figure("2 GiB"), 2048)

    def test_what_is_missing_is_an_error(self):
        rows = tables.table_of(PAGE, "what | stock")
        for call in (
            lambda: tables.table_of(PAGE, "what | nothing"),
            lambda: tables.row_of(rows, "what", "a load"),
            lambda: tables.row_of(rows + rows, "what", "a call"),
            lambda: tables.figure("not measured"),
            lambda: tables.figure("3"),
        ):
            with self.assertRaises(ValueError):
                call()


class Executions(unittest.TestCase):
    @staticmethod
    def event(name, cat, ts, dur, **args):
        return {"ph": "X", "name": name, "cat": cat, "ts": ts, "dur": dur, "pid": 1, "tid": 1, "args": args}

    def test_the_fastest_execution_is_kept_with_what_is_inside(self):
        call = {"backend": "B", "instruction": "0:0"}
        events = execution.fastest_execution({"traceEvents": [
            {"ph": "M", "name": "process_name", "pid": 1, "tid": 1, "args": {}},
            self.event("init", "delegate", 1, 90), self.event("DELEGATE_CALL", "delegate", 101, 50, **call),
            self.event("execute", "method", 100, 60), self.event("own", "backend", 202, 1.26),
            self.event("DELEGATE_CALL", "delegate", 201.04, 5, **call), self.event("execute", "method", 200, 7),
            self.event("write", "run", 208, 3)]})
        self.assertEqual([(event["name"], event["ts"], event["dur"]) for event in events],
                         [("execute", 0, 7), ("DELEGATE_CALL", 1, 5), ("own", 2, 1.3)])
        self.assertEqual(execution.text_inside(events, events[1]), "own")
        self.assertEqual(execution.text_inside(events[:2], events[1]), "instruction 0:0")

    def test_times_are_not_compared_and_events_are(self):
        events = [self.event("a", "backend", 1, 2), self.event("b", "backend", 3, 4)]
        later = [self.event("b", "backend", 5, 6), self.event("a", "backend", 7, 8)]
        self.assertEqual(execution.what_ran(events), execution.what_ran(later))
        self.assertNotEqual(execution.what_ran(events), execution.what_ran(events[:1]))

    def test_a_trace_without_an_execution_is_an_error(self):
        with self.assertRaises(ValueError):
            execution.fastest_execution({"traceEvents": []})


class Shapes(unittest.TestCase):
    def test_texts_that_do_not_fit_are_an_error(self):
        picture = svg.Picture("A", 50)
        picture.text(10, 10, "short")
        picture.box(10, 10, 100, 40, "host", ["short"])
        for call in (
            lambda: picture.text(10, 10, 60 * "w"),
            lambda: picture.text(350, 10, "at the edge"),
            lambda: picture.text(10, 10, "at the edge", anchor="end"),
            lambda: picture.box(10, 10, 40, 40, "host", ["a long line"]),
        ):
            with self.assertRaises(ValueError):
                call()

    def test_a_file_has_its_colours_and_a_page_those_of_the_site(self):
        picture = svg.Picture("A < B", 50)
        picture.text(10, 10, "1 < 2 & 3", colour="quiet")
        text = picture.render()
        ElementTree.fromstring(text)
        self.assertIn("<title>A &lt; B</title>", text)
        self.assertIn("1 &lt; 2 &amp; 3", text)
        for mode in (0, 1):
            self.assertIn(f"--quiet:{svg.PALETTE['quiet'][mode]};", text)
        self.assertNotIn("--tool", text)
        inside = svg.for_page(text, "Another & text")
        self.assertIn("<title>Another &amp; text</title>", inside)
        self.assertNotIn("prefers-color-scheme", inside)

    def test_every_picture_is_well_formed_and_small(self):
        for name, text in draw.pictures(root).items():
            with self.subTest(name):
                picture = ElementTree.fromstring(text)
                self.assertEqual(picture.get("viewBox").split()[2], str(svg.WIDTH))
                self.assertGreater(len(picture.findtext("{http://www.w3.org/2000/svg}title")), 40)
                self.assertLess(len(text), 20_000)
                used = set(re.findall(r"var\(--([\w-]+)\)", text))
                self.assertEqual(used - set(svg.PALETTE), set())

    def test_what_follows_from_others_is_left_out(self):
        between = {("host", "core"), ("host", "abi"), ("core", "abi")}
        self.assertEqual(architecture.reduced(between)["host"], ["core"])
        with self.assertRaises(SystemExit):
            architecture.levels_of({"a", "b"}, {("a", "b"), ("b", "a")})


class Recordings(unittest.TestCase):
    def cast(self, *events):
        folder = tempfile.TemporaryDirectory(prefix="tenon-cast-")
        self.addCleanup(folder.cleanup)
        path = pathlib.Path(folder.name) / "a.cast"
        path.write_text("\n".join(json.dumps(line) for line in ({"version": 2, "title": "A"}, *events)) + "\n")
        return path

    def test_lines_have_the_time_of_their_beginning(self):
        path = self.cast([0, "o", "$ a\r\n"], [1, "o", "on"], [2, "o", "e\r\ntwo\r\n"], [3, "i", "x"], [4, "o", "end"])
        self.assertEqual(terminal.read(path), ("A", [(0, "$ a"), (1, "one"), (2, "two"), (4, "end")]))

    def test_long_lines_are_broken_and_long_waits_shortened(self):
        self.assertEqual(list(terminal.broken("")), [""])
        pieces = terminal.broken("  " + 12 * "words of ")
        self.assertEqual({len(piece) <= terminal.COLUMNS for piece in pieces}, {True})
        self.assertTrue(pieces[1].startswith("    words") or pieces[1].startswith("    of"))
        drawn = terminal.picture_of(self.cast([0, "o", "$ a\r\n"], [90, "o", "b\r\n"]))
        self.assertIn(f"animation-delay:{terminal.LONGEST_WAIT:.2f}s", drawn)

    def test_numbers_may_differ_and_words_not(self):
        def stable(line):
            return record.stable(self.cast([0, "o", line]))

        self.assertEqual(stable("3 passed in 1.5 s at 0x7f"), stable("12 passed in 20 ms at 0xa0"))
        self.assertNotEqual(stable("3 passed in 1.5 s"), stable("3 failed in 1.5 s"))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
