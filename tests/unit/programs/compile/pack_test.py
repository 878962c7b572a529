#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A model that AOTInductor compiled, packed by tenon-compile and run by tenon-run without PyTorch:
the numbers are PyTorch's.

usage: pack_test.py TENON_COMPILE TENON_RUN TENON_DOCTOR CPU_AOTI FIXTURES
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

compiler, runner, doctor, plugin = sys.argv[1:5]
fixture = pathlib.Path(sys.argv[5]) / "aoti_package"
# Names of the library of Zydis that some version of its headers asks for.
DECODERS = [f"libZydis.so.{major}.{minor}" for major in (3, 4, 5) for minor in range(4)]


def run(program, *arguments, **options):
    environment = {n: v for n, v in os.environ.items() if not n.startswith("TENON_")}
    return subprocess.run([program, *map(str, arguments)], capture_output=True, text=True,
                          env=environment, check=False, **options)


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

    def test_a_backend_that_compiles_nothing_names_the_option_that_packs(self):
        output = self.folder / "model.pte"
        done = run(compiler, fixture / "model.pt2", "--plugin", plugin, "--backend", "CpuAotiBackend", "-o", output)
        self.assertEqual(done.returncode, 4, done.stderr)
        self.assertRegex(done.stderr, r"NotSupported .*no ahead-of-time half.*; CpuAotiBackend runs what AOTInductor "
                                      r"compiled, which --aoti FILE packs\n$")
        self.assertFalse(output.exists())

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

    def without_decoder(self, program):
        """A copy that finds no library of Zydis: those next to it come first, and are none."""
        folder = self.folder / "without_decoder"
        folder.mkdir(exist_ok=True)
        for name in DECODERS:
            (folder / name).write_text("no library")
        return shutil.copy(program, folder)

    def packed_features(self, *arguments, compiler=compiler, **options):
        output = self.folder / "model.pte"
        done = run(compiler, fixture / "model.pt2", "--aoti", fixture / "compiled.pt2", "-o", output,
                   "--json", *arguments, **options)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        report = json.loads(done.stdout)
        self.assertEqual(report["warnings"], [])
        delegate, = report["methods"][0]["delegates"]
        features = delegate["cpu_features"]
        shown = "not known" if features is None else ",".join(features) or "none"
        self.assertIn(f", CPU features {shown}", delegate["info"])
        self.assertEqual(b"_cpu_features" in output.read_bytes(), features is not None)
        return output, features

    def verdict(self, program, plugin):
        done = run(doctor, program, "--plugin", plugin)
        return done.stdout + done.stderr

    def test_a_program_names_the_cpu_features_of_its_code(self):
        program, features = self.packed_features("--strict")
        if features is None:
            self.skipTest("there is no decoder here")
        # The archive is for x86-64-v3; all of its library's code was compiled with AVX.
        self.assertIn("avx", features)
        self.assertFalse([name for name in features if name.startswith("avx512")])
        self.check_numbers(program)
        self.assertIn(",".join(features).encode(), program.read_bytes())

    def test_cpu_features_are_left_out_where_nothing_decodes(self):
        bare, bare_plugin = self.without_decoder(compiler), self.without_decoder(plugin)
        program, features = self.packed_features("--strict", compiler=bare)
        self.assertIsNone(features)
        self.assertIn("instructions unknown", self.verdict(program, bare_plugin))
        # A list is believed, and the verdict of a backend without a decoder is no guess then.
        program, features = self.packed_features("--cpu-features", "x86-64-v3", compiler=bare)
        self.assertEqual(features, ["x86-64-v3"])
        self.assertNotIn("instructions unknown", self.verdict(program, bare_plugin))

    def test_a_backend_without_decoder_refuses_a_feature_that_the_program_names(self):
        bare_plugin = self.without_decoder(plugin)
        # No processor that has AVX2 has 3DNow! as well.
        program, features = self.packed_features("--cpu-features", "x86-64-v3,3dnow")
        self.assertEqual(features, ["x86-64-v3", "3dnow"])
        self.assertRegex(self.verdict(program, bare_plugin), r"CPU features?: (x86-64-v3, )?3dnow")
        done = run(runner, program, "--plugin", bare_plugin, "--input", fixture / "in0.npy")
        self.assertGreater(done.returncode, 0)
        self.assertRegex(done.stderr, r"\d CPU features?: (x86-64-v3, )?3dnow")

    def test_a_wrong_list_of_cpu_features_is_refused_and_nothing_is_written(self):
        decodes = self.packed_features()[1] is not None
        (self.folder / "model.pte").unlink()
        for features, expected in (
                ("avx2,avx3", "expected CPU features of x86-64, which the library is for, as "
                 "/proc/cpuinfo names them, or x86-64, x86-64-v2, x86-64-v3, x86-64-v4; found 'avx3'"),
                ("i8mm", "found 'i8mm' of arm64"),
                ("x86-64-v2", "the list lacks avx" if decodes else None),
                ("", "the list lacks avx" if decodes else None)):
            if expected is None:
                continue
            _, report, text = self.pack("--cpu-features", features, expect=2)
            self.assertIn(f"--aoti {fixture / 'compiled.pt2'}: model forward: --cpu-features "
                          f"'{features}': ", text)
            self.assertIn(expected, text)
            self.assertIsNone(report["program"])

    def test_a_list_for_a_library_of_another_machine_is_judged_by_that_machine(self):
        library, blob = self.unpacked_library()
        other = bytearray(library.read_bytes())
        other[18:20] = (183).to_bytes(2, "little")
        library.write_bytes(other)
        arguments = ("--aoti-weights", blob, "--cpu-features")
        self.assertIn("expected CPU features of arm64", self.pack(
            *arguments, "avx2", aoti=library, expect=2)[2])
        _, report, _ = self.pack(*arguments, "asimd,i8mm", aoti=library)
        self.assertEqual(report["methods"][0]["delegates"][0]["cpu_features"], ["asimd", "i8mm"])
        (self.folder / "model.pte").unlink()
        _, report, _ = self.pack("--aoti-weights", blob, aoti=library)
        self.assertIsNone(report["methods"][0]["delegates"][0]["cpu_features"])

    def test_a_program_on_path_takes_no_decoder_from_the_current_directory(self):
        usual = self.packed_features()[1]
        bare = pathlib.Path(self.without_decoder(compiler))
        here = self.packed_features(
            compiler=bare.name, executable=pathlib.Path(compiler).resolve(), cwd=bare.parent)[1]
        self.assertEqual(here, usual)

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
