#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A model that AOTInductor compiled, packed by tenon-compile and run by tenon-run without PyTorch:
the numbers are PyTorch's.

usage: pack_test.py TENON_COMPILE TENON_RUN CPU_AOTI FIXTURES
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest
import zipfile

compiler, runner, plugin = sys.argv[1:4]
fixture = pathlib.Path(sys.argv[4]) / "aoti_package"


def run(program, *arguments):
    environment = {n: v for n, v in os.environ.items() if not n.startswith("TENON_")}
    return subprocess.run([program, *map(str, arguments)], capture_output=True, text=True,
                          env=environment, check=False)


class Pack(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)

    def pack(self, *arguments, aoti=fixture / "compiled.pt2", expect=0):
        output = self.folder / "model.pte"
        done = run(compiler, fixture / "model.pt2", "--aoti", aoti, "-o", output, "--json",
                   *arguments)
        self.assertEqual(done.returncode, expect, done.stderr)
        self.assertEqual(output.exists(), expect == 0)
        return output, json.loads(done.stdout), done.stderr

    def check_numbers(self, program, *arguments):
        done = run(runner, program, "--plugin", plugin, "--input", fixture / "in0.npy", "--expect",
                   fixture / "out0.npy", *arguments)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_a_package_runs_with_each_form_of_keys(self):
        for keys, blob in (("content", 150), ("method", 0)):
            program, report, _ = self.pack("--aoti-keys", keys)
            delegate, = report["methods"][0]["delegates"]
            self.assertEqual(delegate["backend"], "CpuAotiBackend")
            self.assertEqual(delegate["blob_size"], blob)
            self.assertEqual(report["methods"][0]["left_over_nodes"], 0)
            self.assertEqual(report["data"], [])
            self.check_numbers(program)
            program.unlink()

    def test_weights_in_a_file_of_their_own(self):
        program, report, _ = self.pack("--external-weights")
        data, = report["data"]
        self.assertEqual(pathlib.Path(data["path"]).name, "aoti_cpu_blob.ptd")
        self.check_numbers(program, "--data", data["path"])
        done = run(runner, program, "--plugin", plugin, "--input", fixture / "in0.npy")
        self.assertEqual(done.returncode, 4, "the weights are not in the program")

    def test_a_library_with_its_weights_gives_the_same_program(self):
        packed = self.pack()[0].read_bytes()
        (self.folder / "model.pte").unlink()
        library, blob = self.unpacked_library()
        program, _, _ = self.pack("--aoti-weights", blob, aoti=library)
        self.assertEqual(program.read_bytes(), packed)
        self.check_numbers(program)

    def unpacked_library(self):
        with zipfile.ZipFile(fixture / "compiled.pt2") as archive:
            for name in archive.namelist():
                if name.endswith((".so", ".blob")):
                    (self.folder / name.rpartition(".")[2]).write_bytes(archive.read(name))
        return (self.folder / "so").rename(self.folder / "model.so"), self.folder / "blob"

    @unittest.skipUnless(shutil.which("objcopy"), "there is no objcopy")
    def test_symbols_are_left_out_unless_they_are_to_be_kept(self):
        library, blob = self.unpacked_library()
        # The fixture was stripped: this is one local symbol with a long name.
        symbol = "tenon_test_" + 2000 * "x"
        subprocess.run(["objcopy", "--add-symbol", f"{symbol}=.text:0,function,local", library],
                       check=True)
        for options, kept in (((), False), (("--keep-symbols",), True)):
            program, _, text = self.pack("--aoti-weights", blob, *options, aoti=library)
            self.assertEqual(text, "")
            self.assertEqual(symbol.encode() in program.read_bytes(), kept)
            self.check_numbers(program)
            program.unlink()

    @unittest.skipUnless(shutil.which("objcopy"), "there is no objcopy")
    def test_a_library_that_keeps_its_symbols_is_reported(self):
        library, blob = self.unpacked_library()
        subprocess.run(["objcopy", "--add-symbol", "a=.text:0,function,local", library], check=True)
        with library.open("ab") as file:
            file.write(bytes(4096))
        program, report, text = self.pack("--aoti-weights", blob, aoti=library)
        warning = (f"--aoti {library}: the library keeps its symbols: it has 4096 bytes behind its "
                   "sections")
        self.assertIn(warning, text)
        self.assertEqual(report["warnings"], [warning])
        program.unlink()
        self.assertIn(warning, self.pack("--aoti-weights", blob, "--strict", aoti=library, expect=2)[2])

    def test_what_cannot_be_packed_is_refused_and_nothing_is_written(self):
        damaged = self.folder / "damaged.pt2"
        whole = (fixture / "compiled.pt2").read_bytes()
        middle = len(whole) // 2
        damaged.write_bytes(whole[:middle] + bytes([whole[middle] ^ 255]) + whole[middle + 1:])
        for aoti, code in ((damaged, 3), (fixture / "model.pt2", 3), (fixture / "in0.npy", 3),
                           (self.folder / "none.pt2", 3)):
            _, report, text = self.pack(aoti=aoti, expect=code)
            self.assertIn(str(aoti), text)
            self.assertIsNone(report["program"])
        done = run(compiler, "--method", f"a={fixture / 'model.pt2'}", "--method",
                   f"b={fixture / 'model.pt2'}", "--aoti", fixture / "compiled.pt2", "-o",
                   self.folder / "two.pte")
        self.assertEqual(done.returncode, 2)
        self.assertIn("has no model for method 'a', found 'forward'", done.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
