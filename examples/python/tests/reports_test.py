# SPDX-License-Identifier: MIT
"""plugins, doctor and inspect, and the documentation of the package: reports_test.py BUILD SOURCE."""

import dataclasses
import os
import pathlib
import pydoc
import subprocess
import sys
import unittest
import xml.etree.ElementTree

BUILD, SOURCE = map(pathlib.Path, sys.argv[1:3])
DEMO = BUILD / "examples/backends/demo_backend.so"
ADD = SOURCE / "tests/fixtures/bench/demo_add.pte"
os.environ["TENON_PLUGIN_FILES"] = str(DEMO)

import tenon  # noqa: E402
from tenon._pictures import strips_svg  # noqa: E402


class Reports(unittest.TestCase):
    def test_plugins_lists_backends_without_loading_them(self):
        found = {each.id: each for each in tenon.plugins()}
        demo = found["BackendWithCompilerDemo"]
        self.assertEqual((demo.state, demo.path, demo.plugin.name),
                         ("known", str(DEMO), "BackendWithCompilerDemo"))
        self.assertTrue(dataclasses.is_dataclass(demo))
        maps = pathlib.Path("/proc/self/maps")
        if maps.exists():
            self.assertNotIn(DEMO.name, maps.read_text())
        self.assertEqual(tenon.plugins(tags=["no such tag"]), [])

    def test_doctor_says_what_is_missing(self):
        good = tenon.doctor(ADD)
        self.assertTrue(good.can_run)
        self.assertIn("1 of 1 method", good.summary)
        [delegate] = good.methods[0].delegates
        self.assertEqual((delegate.backend, delegate.served_by.origin, delegate.problems),
                         ("BackendWithCompilerDemo", str(DEMO), []))
        bad = tenon.doctor(SOURCE / "examples/applications/digits/model.pte")
        self.assertFalse(bad.can_run)
        self.assertIn("'CpuAotiBackend' is not registered", bad.methods[0].delegates[0].problems[0])
        with self.assertRaises(tenon.Error) as caught:
            tenon.doctor(SOURCE / "README.md")
        self.assertEqual(caught.exception.name, "InvalidProgram")
        with self.assertRaises(tenon.Error):
            tenon.doctor(ADD, method="backward")

    def test_doctor_runs_golden_cases_when_it_is_asked_to(self):
        self.assertEqual(tenon.doctor(ADD).methods[0].proofs, [])
        (proof,) = tenon.doctor(ADD, prove=True).methods[0].proofs
        self.assertEqual((proof["cases"], proof["error"]), (0, None))

    def test_a_trace_is_a_picture_in_a_notebook(self):
        trace = tenon.Trace()
        self.assertIn("no events", trace._repr_svg_())
        x = memoryview(bytes(16)).cast("f", shape=[2, 2])
        tenon.load(ADD, trace=trace)["forward"](x, x, x)
        picture = xml.etree.ElementTree.fromstring(trace._repr_svg_())
        svg = "{http://www.w3.org/2000/svg}"
        bars = {bar.find(f"{svg}title").text.split(":")[0]: bar for bar in picture.iter(f"{svg}rect")}
        self.assertLessEqual({"init", "execute"}, set(bars))
        width = float(picture.get("width"))
        for bar in bars.values():
            self.assertLessEqual(float(bar.get("x")) + float(bar.get("width")), width)
            self.assertGreater(float(bar.get("width")), 0)

    def test_graphs_are_strips_of_cells(self):
        nodes = [(0, "a <b>"), (None, "c"), (1, "d")]
        picture = xml.etree.ElementTree.fromstring(strips_svg([("graph 0", nodes, ["left: c"]), ("break", [], [])]))
        svg = "{http://www.w3.org/2000/svg}"
        cells = list(picture.iter(f"{svg}rect"))
        self.assertEqual([cell.find(f"{svg}title").text for cell in cells], ["a <b>", "c", "d"])
        self.assertEqual(len({cell.get("fill") for cell in cells}), 3)
        for left, right in zip(cells, cells[1:]):
            self.assertAlmostEqual(float(left.get("x")) + float(left.get("width")), float(right.get("x")), places=1)
        last = max(float(text.get("y")) for text in picture.iter(f"{svg}text"))
        self.assertLess(last, float(picture.get("height")))
        self.assertEqual([text.text for text in picture.iter(f"{svg}text")], ["graph 0", "left: c", "break"])

    def test_inspect_describes_a_plugin(self):
        plugin = tenon.inspect(DEMO)
        self.assertEqual(plugin.record.backends[0].id, "BackendWithCompilerDemo")
        self.assertIsNone(plugin.loaded)
        self.assertEqual({each.verdict for each in plugin.lint} & {"fail"}, set())
        loaded = tenon.inspect(DEMO, load=True).loaded
        self.assertIsNone(loaded.error)
        self.assertEqual([each.id for each in loaded.backends], ["BackendWithCompilerDemo"])
        with self.assertRaises(tenon.Error):
            tenon.inspect(SOURCE / "README.md")

    def test_the_reports_are_those_of_the_programs(self):
        """The dataclasses take every member that the program prints, but its version and exit code."""
        import json

        program = BUILD / "examples/programs/tenon-doctor/tenon-doctor"
        if not program.exists():
            self.skipTest("tenon-doctor is not built")
        done = subprocess.run([program, ADD, "--json"], stdout=subprocess.PIPE, check=True)
        printed = json.loads(done.stdout)
        ours = json.loads(json.dumps(dataclasses.asdict(tenon.doctor(ADD))))
        for name in ("version", "exit_code", "error"):
            printed.pop(name)
        for report in (ours, printed):
            for method in report["methods"]:
                self.assertEqual([each.pop("free") is None for each in method["memory"]], [False])
        self.assertEqual(ours, printed)


class Memory(unittest.TestCase):
    def test_a_budget_refuses_what_does_not_fit(self):
        program = tenon.load(ADD, plugins=[DEMO], budget={"cpu": "1M", "cuda:1": 0})
        memory = program.load_method().memory_info()
        self.assertEqual([each["backend"] for each in memory["delegates"]], ["BackendWithCompilerDemo"])
        self.assertEqual([each["reported"] for each in memory["delegates"]], [None])
        self.assertGreater(memory["tables"], 0)
        self.assertGreaterEqual(memory["host_bytes"], memory["planned"]["CPU"] + memory["tables"])
        with self.assertRaisesRegex(tenon.Error, "OutOfResources.*budget of CPU: needs "):
            tenon.load(ADD, plugins=[DEMO], budget={"cpu": 100}).load_method()
        with self.assertRaisesRegex(tenon.Error, "InvalidArgument.*budget: expected a device"):
            tenon.load(ADD, budget={"npu": 1})


class Documentation(unittest.TestCase):
    def test_help_describes_all_that_is_public(self):
        text = pydoc.plain(pydoc.render_doc(tenon))
        for name in tenon.__all__:
            self.assertIn(name, text)
            thing = getattr(tenon, name)
            self.assertTrue(thing.__doc__, name)
            self.assertEqual(thing.__module__, "tenon", name)
            for member, value in vars(thing).items() if isinstance(thing, type) else ():
                if not member.startswith("_") and (callable(value) or isinstance(value, property)):
                    self.assertTrue(getattr(thing, member).__doc__, f"{name}.{member}")

    def test_stubs_have_all_that_the_module_has(self):
        import ast

        from tenon import _tenon

        stub = ast.parse((pathlib.Path(tenon.__file__).parent / "_tenon.pyi").read_text())
        declared = {node.name: node for node in stub.body if hasattr(node, "name")}
        for name, thing in vars(_tenon).items():
            if name.startswith("__"):
                continue
            self.assertIn(name, declared)
            if isinstance(thing, type):
                members = {node.name for node in declared[name].body if hasattr(node, "name")}
                public = {each for each in vars(thing) if not each.startswith("_")}
                self.assertEqual({each for each in members if not each.startswith("_")}, public, name)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
