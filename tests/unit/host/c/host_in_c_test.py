#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The host in C runs plugins in C, C++ and Rust, and says why it cannot.

usage: host_in_c_test.py HOST HELLO IN_C [IN_RUST]
"""

import pathlib
import struct
import subprocess
import sys
import tempfile
import unittest

host, hello, in_c, *in_rust = sys.argv[1:]

HELLO_BLOB = "01000000"
C_BLOB = (b"SCLB" + struct.pack("<IffI", 1, 2, 0.5, 6)).hex()
RUST_BLOB = (b"RSCB" + struct.pack("<Iff", 1, 2, 0.5)).hex()


def run(*arguments):
    done = subprocess.run(
        [host, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False
    )
    return done.returncode, done.stdout, done.stderr


class Runs(unittest.TestCase):
    def test_a_plugin_in_cpp(self):
        inputs = ["--input", "3=1,2,3", "--input", "3=10,20,30", "--output", "3"]
        self.assertEqual(
            run(hello, "Add", "--hex", HELLO_BLOB, *inputs), (0, "output 0 [3]: 11 22 33\n", "")
        )

    def test_a_plugin_in_c_keeps_its_state_from_run_to_run(self):
        arguments = ["--hex", C_BLOB, "--input", "1,3=1,2,3", "--output", "2,3", "--runs", "2"]
        expected = "output 0 [1,3]: 2.5 4.5 6.5\noutput 0 [1,3]: 4.5 8.5 12.5\n"
        self.assertEqual(run(in_c, "ScaleBias", *arguments), (0, expected, ""))

    def test_more_elements_than_a_block_between_two_looks_at_the_cancel_flag(self):
        count = 20000
        blob = (b"SCLB" + struct.pack("<IffI", 1, 2, 0.5, count)).hex()
        values = ",".join(str(i) for i in range(count))
        code, out, err = run(
            in_c, "ScaleBias", "--hex", blob, "--input", f"{count}={values}", "--output", str(count)
        )
        expected = " ".join(f"{2 * i + 0.5:g}" for i in range(count))
        self.assertEqual((code, out, err), (0, f"output 0 [{count}]: {expected}\n", ""))

    @unittest.skipUnless(in_rust, "no rustc")
    def test_a_plugin_in_rust(self):
        arguments = ["--hex", RUST_BLOB, "--input", "2=1,-1", "--output", "4", "--runs", "2"]
        expected = "output 0 [2]: 2.5 -1.5\n" * 2
        self.assertEqual(run(in_rust[0], "RustScaleBias", *arguments), (0, expected, ""))

    def test_a_blob_in_a_file_a_scalar_and_no_elements(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "blob"
            path.write_bytes(bytes.fromhex(C_BLOB))
            blob = ["--blob", str(path)]
            self.assertEqual(
                run(in_c, "ScaleBias", *blob, "--input", "=4", "--output", ""),
                (0, "output 0 []: 8.5\n", ""),
            )
            self.assertEqual(
                run(in_c, "ScaleBias", *blob, "--input", "0,3=", "--output", "2,3"),
                (0, "output 0 [0,3]:\n", ""),
            )

    def test_help(self):
        code, out, err = run("--help")
        self.assertEqual((code, err), (0, ""))
        self.assertIn("--blob FILE", out)


class Failures(unittest.TestCase):
    """Each has an exit code, and a line that says what failed, what was expected and found."""

    def check(self, arguments, code, *parts):
        found = run(*arguments)
        self.assertEqual(found[:2], (code, ""), found[2])
        self.assertEqual(found[2].count("\n"), 1, found[2])
        for part in ("host_in_c: ", *parts):
            self.assertIn(part, found[2])

    def test_no_file(self):
        self.check(["/no/such.so", "Add", "--hex", "00"], 4, "/no/such.so: No such file")

    def test_a_file_that_is_no_library(self):
        self.check([__file__, "Add", "--hex", "00"], 4, "expected a library, found: ")

    def test_a_library_without_the_symbol(self):
        libraries = pathlib.Path("/proc/self/maps")
        if not libraries.exists():
            self.skipTest("no /proc")
        names = {line.split()[-1] for line in libraries.read_text().splitlines()}
        libc = [name for name in names if pathlib.Path(name).name.startswith("libc.")]
        if not libc:
            self.skipTest("no libc")
        self.check(
            [libc[0], "Add", "--hex", "00"], 4, "expected the symbol tenon_plugin_v1, found none"
        )

    def test_an_id_that_the_plugin_lacks(self):
        self.check([in_c, "Add", "--hex", "00"], 4, "backend: expected 'Add', found ScaleBias")

    def test_a_feature_that_the_cpu_lacks(self):
        # The text of the record is behind its id and its tags, all three in fields of a fixed size.
        before = b"ScaleBias".ljust(64, b"\0") + b"cpu".ljust(128, b"\0")
        head, found, rest = pathlib.Path(in_c).read_bytes().partition(before)
        self.assertTrue(found)
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "fast.so"
            for features in ("no_such", "x86-64-v9,x"):
                path.write_bytes(head + found + features.encode() + rest[len(features):])
                self.check(
                    [str(path), "ScaleBias", "--hex", C_BLOB], 4,
                    f"cpu_features: expected a CPU with {features}, found one without",
                )

    def test_a_blob_that_is_refused(self):
        newer = (b"SCLB" + struct.pack("<I", 3)).hex()
        self.check(
            [in_c, "ScaleBias", "--hex", newer], 4,
            "init: expected status 0, found 0x30: blob: expected version 1, found 3",
        )
        self.check([in_c, "ScaleBias", "--hex", ""], 4, "expected SCLB", "found 0 other bytes")

    def test_arguments_that_are_refused(self):
        self.check(
            [in_c, "ScaleBias", "--hex", C_BLOB], 5,
            "execute: expected status 0, found 0x12: number of arguments: expected 2, found 0",
        )
        self.check(
            [in_c, "ScaleBias", "--hex", C_BLOB, "--input", "2=1,2", "--output", "1"], 5,
            "argument 1: expected a tensor that can have the sizes of argument 0",
        )

    def test_wrong_usage(self):
        for arguments, part in (
            ([], "expected a plugin, an id and a blob"),
            ([in_c, "ScaleBias", "--hex", "0"], "--hex: expected two digits"),
            ([in_c, "ScaleBias", "--hex", "00", "--input", "2=1"], "expected 2 values, found 1"),
            ([in_c, "ScaleBias", "--hex", "00", "--input", "x=1"], "found 'x=1'"),
            ([in_c, "ScaleBias", "--blob", "/no/such"], "--blob /no/such: No such file"),
            ([in_c, "ScaleBias", "--hex"], "--hex: expected a value, found none"),
            ([in_c, "ScaleBias", "--speed", "9"], "--speed: unknown option"),
        ):
            with self.subTest(arguments):
                self.check(arguments, 2, part)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
