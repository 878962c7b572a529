#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The scripts that draw pictures read what they say they read, and refuse what is missing or does not fit. That each
picture is drawn of its data is checked by docs/site/pictures/draw.py.

usage: pictures_test.py ROOT
"""

import json
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as ElementTree

root = pathlib.Path(sys.argv[1]).resolve()
sys.dont_write_bytecode = True
sys.path[:0] = [str(root / "docs/site/pictures"), str(root / "tests/conformance/kit/verdict")]

import against_stock  # noqa: E402
import architecture  # noqa: E402
import draw  # noqa: E402
import execution  # noqa: E402
import record  # noqa: E402
import rulebook  # noqa: E402
import svg  # noqa: E402
import tables  # noqa: E402
import terminal  # noqa: E402
import trust  # noqa: E402

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


def time(minimum):
    return {"minimum": minimum, "median": minimum, "halves": [minimum, minimum]}


def row(what, ours, stock=None, floor=None, goal=None, unit="ns"):
    return {"group": "load", "what": what, "unit": unit, "ours": ours, "stock": stock, "floor": floor, "goal": goal}


RUN = {"facts": {"processor": "A & B", "machine class": "AVX2", "system": "Linux"}, "rows": [
    row("four times as fast", time(25), time(100), time(20), "≤ 0.5 × stock"),
    row("twice as slow", time(200), time(100)),
    row("faster, without a goal", time(50), time(100)),
    row("without stock", time(60), None, time(40), "≤ 2 × floor"),
    row("a count", time(2), time(1), unit=""),
    row("one side alone", time(2), goal="≤ 3 ns"),
]}


class Charts(unittest.TestCase):
    def chart(self, run, facts=None):
        return against_stock.chart(against_stock.bars_of_run(run), facts or run["facts"])

    def run_it(self, text, name="chart.svg"):
        """Exit status, messages, and the picture if there is one, of a file with this text."""
        with tempfile.TemporaryDirectory(prefix="tenon-chart-") as folder:
            source, target = pathlib.Path(folder, "run.json"), pathlib.Path(folder, name)
            source.write_text(text, encoding="utf-8")
            done = subprocess.run([sys.executable, "-B", against_stock.__file__, source, target], capture_output=True,
                                  text=True, check=False)
            return done.returncode, done.stderr, target.read_text(encoding="utf-8") if target.exists() else None

    def test_rows_with_a_goal_and_rows_above_one_are_drawn(self):
        bars = [(bar.what, bar.ratio, bar.rival) for bar in against_stock.bars_of_run(RUN)]
        self.assertEqual(bars, [("four times as fast", 0.25, "stock"), ("twice as slow", 2, "stock"),
                                ("without stock", 1.5, "floor")])

    def test_bars_begin_at_one_and_are_logarithmic(self):
        picture = ElementTree.fromstring(self.chart(RUN))
        colours = [svg.PALETTE[name][0] for name in ("host-line", "bridge-line")]
        bars = [(float(bar.get("x")), float(bar.get("width")), bar.get("fill"))
                for bar in picture.iter("{http://www.w3.org/2000/svg}rect") if bar.get("fill") in colours]
        one = against_stock.Scale([0.25, 2, 1.5]).x_of(1)
        [(fast, length, ours), (slow, above, theirs), (floor, _, _)] = bars
        self.assertAlmostEqual(fast + length, one, delta=0.2)
        self.assertEqual([ours, theirs], colours)
        self.assertAlmostEqual(slow, one, delta=0.2)
        self.assertEqual(floor, slow)
        self.assertAlmostEqual(length, 2 * above, delta=0.3)  # a quarter is twice a half

    def test_the_machine_is_named_and_both_modes_have_colours(self):
        text = self.chart(RUN)
        shown = [each.text for each in ElementTree.fromstring(text).iter("{http://www.w3.org/2000/svg}text")]
        for line in ("processor: A & B", "machine class: AVX2", "load: twice as slow", "2.00", "0.25"):
            self.assertIn(line, shown)
        self.assertNotIn("system: Linux", shown)
        for mode in (0, 1):
            self.assertIn(f"--bridge-line:{svg.PALETTE['bridge-line'][mode]};", text)

    def test_the_table_of_a_run_gives_the_bars_of_the_run(self):
        page = ("- processor: P\n- compiler: C\n\n| group | what | floor | stock | ours | ours / stock | goal | reached |\n"
                "|---|---|---:|---:|---:|---:|---|---|\n| load | a | 1.0 ns | 4.0 ns | 1.0 ns | 0.25 | ≤ 1 × stock | yes |\n"
                "| load | b |  | 2.0 ns | 1.0 ns | 0.50 |  |  |\n| allocations | c |  | 1 | 2 | 2.00 |  |  |\n"
                "| load | d | 1.0 ns |  | 2.0 ns |  | ≤ 3 × floor | yes |\n")
        bars = against_stock.bars_of_table(tables.table_of(page, "group | what | floor"))
        self.assertEqual([(bar.what, bar.ratio) for bar in bars], [("a", 0.25)])
        self.assertEqual(against_stock.facts_of_page("text\n\n" + page), {"processor": "P", "compiler": "C"})

    def test_one_run_is_drawn_the_same_each_time(self):
        status, said, text = self.run_it(json.dumps(RUN))
        self.assertEqual((status, said), (0, ""))
        self.assertEqual(text, self.chart(RUN))

    def test_what_is_no_run_or_has_no_bar_is_an_error_and_leaves_no_file(self):
        for text in ("", "[]", "{}", '{"rows": 3}', json.dumps(RUN | {"rows": RUN["rows"][4:]})):
            status, said, drawn = self.run_it(text)
            self.assertEqual((status, drawn), (2, None), text)
            self.assertIn("expected a file of tenon-bench --json", said)

    def test_a_picture_that_cannot_be_written_is_an_error(self):
        status, said, _ = self.run_it(json.dumps(RUN), "absent/chart.svg")
        self.assertEqual(status, 2)
        self.assertRegex(said, "absent/chart.svg: No such file")


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

    def test_a_viewer_without_variables_has_the_light_colours(self):
        picture = svg.Picture("A", 50)
        picture.rect(1, 1, 10, 10, "host", "host-line")
        text = picture.render()
        host, line = (svg.PALETTE[name][0] for name in ("host", "host-line"))
        self.assertIn(f'fill="{host}" stroke="{line}"', text)
        self.assertIn(f'.tenon [fill="{host}"]{{fill:var(--host)}}', text)
        self.assertNotIn('="var(', text)
        self.assertEqual(len({light for light, _ in svg.PALETTE.values()}), len(svg.PALETTE), "one colour, two names")

    def test_every_picture_is_well_formed_and_small(self):
        for name, text in draw.pictures(root).items():
            with self.subTest(name):
                picture = ElementTree.fromstring(text)
                self.assertEqual(picture.get("viewBox").split()[2], str(svg.WIDTH))
                self.assertGreater(len(picture.findtext("{http://www.w3.org/2000/svg}title")), 40)
                self.assertLess(len(text), 24_000)
                used = set(re.findall(r"var\(--([\w-]+)\)", text))
                self.assertEqual(used - set(svg.PALETTE), set())

    def test_the_host_is_two_storeys(self):
        directories, between, _ = architecture.read_sources(root)
        self.assertIn(("host/layers", "host/loader"), between)
        self.assertNotIn(("host/loader", "host/layers"), between)
        layers = {path.name for path in (root / "include/tenon/host/layers").iterdir() if path.is_dir()}
        self.assertEqual(directories["host/layers"], layers)
        self.assertEqual(architecture.part_of(pathlib.Path("host/async.hpp")), "host/layers")

    def test_the_trust_picture_says_what_the_page_says(self):
        with tempfile.TemporaryDirectory(prefix="tenon-trust-") as folder:
            page = pathlib.Path(folder, "docs/SECURITY.md")
            page.parent.mkdir()
            page.write_text("EmbeddedCodePolicy")
            with self.assertRaisesRegex(ValueError, "does not say Program::open"):
                trust.draw(pathlib.Path(folder))

    def test_what_follows_from_others_is_left_out(self):
        between = {("host/loader", "core"), ("host/loader", "abi"), ("core", "abi")}
        self.assertEqual(architecture.reduced(between)["host/loader"], ["core"])
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

    def test_without_animations_the_picture_is_still_and_whole(self):
        drawn = terminal.picture_of(self.cast([0, "o", "$ a\r\n"], [1, "o", "b\r\n"]))
        moving = re.search(r"@media screen and \(prefers-reduced-motion:no-preference\)\{.*?\}\}\}", drawn)[0]
        self.assertIn("opacity:0", moving)
        self.assertNotIn("opacity", drawn.replace(moving, ""))

    def test_the_kit_has_todays_rules_and_boundary(self):
        """record.py compares words alone, because most numbers change with the machine."""
        text = "\n".join(line for _, line in terminal.read(root / "docs/site/pictures/kit.cast")[1])
        rules, _ = rulebook.read_boundary(root)
        [(total, kept, left)] = re.findall(r"(\d+) rules: (\d+) kept, (\d+) not judged", text)
        self.assertEqual((int(total), int(kept) + int(left)), (len(rules), len(rules)))
        version = (root / "include/tenon/abi/version.h").read_text(encoding="utf-8")
        major, minor = (re.search(rf"TENON_ABI_{part} (\d+)", version)[1] for part in ("MAJOR", "MINOR"))
        self.assertEqual(set(re.findall(r"boundary ([\d.]+)", text)), {f"{major}.{minor}"})

    def test_numbers_may_differ_and_words_not(self):
        def stable(line):
            return record.stable(self.cast([0, "o", line]))

        self.assertEqual(stable("3 passed in 1.5 s at 0x7f"), stable("12 passed in 20 ms at 0xa0"))
        self.assertNotEqual(stable("3 passed in 1.5 s"), stable("3 failed in 1.5 s"))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
