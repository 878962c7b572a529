# SPDX-License-Identifier: MIT
"""tenon.pack, tenon.merge_variants and tenon.strip_variants: write_test.py BUILD SOURCE."""

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


class Writing(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)
        self.program = self.folder / "model.pte"

    def check_runs(self, method):
        rows = memoryview(array.array("f", [1, 2, 3])).cast("B").cast("f", (1, 3))
        self.assertEqual(memoryview(method(rows, rows)).tolist(), [[2, 4, 6]])


class Pack(Writing):
    def pack(self, blob=RANK_2, tensor="Float:4,3:dynamic", **arguments):
        tenon.pack(blob, "Add", self.program, inputs=[tensor, tensor], outputs=[tensor], **arguments)

    def test_bytes_and_a_file_become_a_program_that_runs(self):
        self.pack()
        self.check_runs(tenon.load(self.program, plugins=[HELLO])["forward"])
        from_bytes = self.program.read_bytes()
        (self.folder / "blob").write_bytes(RANK_2)
        self.pack(self.folder / "blob")
        self.assertEqual(self.program.read_bytes(), from_bytes)
        self.pack(str(self.folder / "blob"))
        self.pack(memoryview(RANK_2))
        self.assertEqual(self.program.read_bytes(), from_bytes)

    def test_specs_and_data_are_stored_as_they_were_given(self):
        (self.folder / "weights").write_bytes(b"seven")
        self.pack(method="decode", specs={"mode": "fast", "table": b"\0\1"},
                  data={"a": self.folder / "weights", "b": b"eight"})
        program = tenon.load(self.program)
        self.assertEqual(program.method_names, ["decode"])
        self.assertEqual({key: bytes(memoryview(value)) for key, value in program.named_data().items()},
                         {"a": b"seven", "b": b"eight"})
        found, = tenon.doctor(self.program).methods[0].delegates
        self.assertEqual([each["key"] for each in found.compile_specs], ["mode", "table"])

    def test_what_no_program_can_hold_is_an_error_with_a_reason(self):
        for tensor, name, text in (("float32:1", "InvalidArgument", "expected ExecuTorch's name of one: Float"),
                                   ("ComplexFloat:1", "NotSupported", "files cannot hold"),
                                   ("Float:-1", "InvalidArgument", "found '-1'")):
            with self.subTest(tensor), self.assertRaisesRegex(tenon.Error, text) as caught:
                self.pack(tensor=tensor)
            self.assertEqual(caught.exception.name, name)
            self.assertTrue(caught.exception.text.startswith(f"inputs: {tensor}: "))
        with self.assertRaisesRegex(tenon.Error, "the blob has no bytes"):
            self.pack(b"")
        with self.assertRaisesRegex(tenon.Error, "none: No such file"):
            self.pack(self.folder / "none")
        with self.assertRaisesRegex(tenon.Error, "expected an output or more"):
            tenon.pack(RANK_2, "Add", self.program, inputs=[], outputs=[])
        self.assertFalse(self.program.exists())

    def test_a_wrong_type_is_a_type_error(self):
        with self.assertRaisesRegex(TypeError, "blob: expected a path or bytes, found int"):
            self.pack(3)
        with self.assertRaisesRegex(TypeError, r"specs\['a'\]: expected a path or bytes, found int"):
            self.pack(specs={"a": 1})
        with self.assertRaisesRegex(TypeError, "inputs: expected a list of texts, found one text"):
            tenon.pack(RANK_2, "Add", self.program, inputs="Float:1", outputs=["Float:1"])


class Variants(Writing):
    def pack(self, backend, tensor="Float:4,3:dynamic", **arguments):
        program = self.folder / f"{backend}.pte"
        tenon.pack(RANK_2, backend, program, inputs=[tensor, tensor], outputs=[tensor], **arguments)
        return program

    def merge(self, *variants):
        tenon.merge_variants(self.program, variants)
        return self.program

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
        other = self.pack("Absent", tensor="Float:5,3")
        for variants, text in (([self.pack("Add"), other], "input 0 differs"),
                               ([self.pack("Add"), self.pack("Add")], "another variant has this name"),
                               ([], "at least one program")):
            with self.assertRaises(tenon.Error) as caught:
                tenon.merge_variants(self.program, variants)
            self.assertIn(text, str(caught.exception))
            self.assertFalse(self.program.exists())
        with self.assertRaises(TypeError):
            tenon.merge_variants(self.program, [5])


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
