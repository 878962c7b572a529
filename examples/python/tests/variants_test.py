# SPDX-License-Identifier: MIT
"""tenon.merge_variants and tenon.strip_variants: variants_test.py BUILD SOURCE."""

import array
import pathlib
import struct
import sys
import tempfile
import unittest

import tenon

BUILD = pathlib.Path(sys.argv[1])
HELLO = BUILD / "examples/backends/hello.so"
RANK_2 = struct.pack("<I", 2)


class Variants(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)

    def pack(self, backend, tensor="Float:4,3:dynamic", **arguments):
        program = self.folder / f"{backend}.pte"
        tenon.pack(RANK_2, backend, program, inputs=[tensor, tensor], outputs=[tensor], **arguments)
        return program

    def merge(self, *variants):
        program = self.folder / "model.pte"
        tenon.merge_variants(program, variants)
        return program

    def check_runs(self, method):
        rows = memoryview(array.array("f", [1, 2, 3])).cast("B").cast("f", (1, 3))
        self.assertEqual(memoryview(method(rows, rows)).tolist(), [[2, 4, 6]])

    def test_the_best_variant_that_can_run_is_loaded(self):
        absent = self.pack("Absent", data={"weights": b"seven"})
        program = self.merge(self.pack("Add"), ("wanted", absent), ("same", self.pack("Add").read_bytes()))
        loaded = tenon.load(program, plugins=[HELLO])
        self.assertEqual(loaded.method_names, ["forward"])
        self.assertEqual(loaded.method_meta().variants,
                         {"wanted": ["Absent"], "same": ["Add"], "Add": ["Add"]})
        method = loaded["forward"]
        self.assertEqual(method.variant, "same")
        self.check_runs(method)
        named = loaded.load_method(variant="Add")
        self.assertEqual((named.name, named.variant), ("forward", "Add"))
        self.check_runs(named)
        with self.assertRaises(tenon.Error) as caught:
            loaded.load_method(variant="wanted")
        self.assertEqual(caught.exception.name, "NotFound")
        with self.assertRaises(tenon.Error) as caught:
            loaded.load_method(variant="other")
        self.assertIn("has no variant 'other'", str(caught.exception))
        diagnosis = tenon.doctor(program, plugins=[HELLO])
        method, = diagnosis.methods
        self.assertEqual([(each.name, each.chosen) for each in method.variants],
                         [("wanted", False), ("same", True), ("Add", False)])
        self.assertIn("not registered", method.variants[0].refused.text)

    def test_a_method_with_a_single_form_has_no_variant(self):
        loaded = tenon.load(self.pack("Add"), plugins=[HELLO])
        self.assertEqual(loaded.method_meta().variants, {})
        self.assertIsNone(loaded["forward"].variant)

    def test_what_was_merged_can_be_taken_out_again(self):
        first, second = self.pack("Add"), self.pack("Absent", data={"weights": b"seven"})
        program = self.merge(first, second)
        stripped = self.folder / "stripped.pte"
        tenon.strip_variants(program, stripped)
        self.assertEqual(stripped.read_bytes(), first.read_bytes())
        tenon.strip_variants(program.read_bytes(), stripped, {"forward": "Absent"})
        self.assertEqual(stripped.read_bytes(), second.read_bytes())
        with self.assertRaises(tenon.Error) as caught:
            tenon.strip_variants(program, stripped, {"forward": "none"})
        self.assertEqual(caught.exception.name, "InvalidArgument")

    def test_programs_that_do_not_fit_are_refused_and_nothing_is_written(self):
        program = self.folder / "model.pte"
        other = self.pack("Absent", tensor="Float:5,3")
        for variants, text in (([self.pack("Add"), other], "input 0 differs"),
                               ([self.pack("Add"), self.pack("Add")], "another variant has this name"),
                               ([], "no program")):
            with self.assertRaises(tenon.Error) as caught:
                tenon.merge_variants(program, variants)
            self.assertIn(text, str(caught.exception))
            self.assertFalse(program.exists())
        with self.assertRaises(TypeError):
            tenon.merge_variants(program, [5])


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
