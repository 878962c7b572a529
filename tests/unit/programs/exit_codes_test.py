#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""All programs report out of memory, a wrong option and a missing file in the same way: one line
and the exit code of docs/reference/errors.md. Prints the table.

usage: exit_codes_test.py PROGRAM...
"""

import pathlib
import re
import resource
import subprocess
import sys
import unittest

programs = {pathlib.Path(path).name: path for path in sys.argv[1:]}
MIB = 1 << 20
MISSING = {
    "tenon-run": (["/no/such/model.pte"], 3),
    "tenon-doctor": (["/no/such/model.pte"], 3),
    "tenon-inspect": (["/no/such/plugin.so"], 3),
    "tenon-conformance": (["/no/such/plugin.so"], 3),
    "tenon-compile": (["/no/such/model.pt2", "--backend", "Add", "-o", "/no/such/out.pte"], 3),
    "tenon-pack": (["/no/such/model.bin", "--backend", "Add", "--output", "Float:2", "-o",
                    "/no/such/out.pte"], 2),
    "tenon-new": (["acme_npu", "--template", "/no/such/template"], 2),
}


def run(program, arguments, address_space=None):
    def limit():
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if address_space:
            resource.setrlimit(resource.RLIMIT_AS, (address_space, address_space))

    return subprocess.run([program, *arguments], capture_output=True, preexec_fn=limit,
                          timeout=60, check=False)


def least_address_space(program):
    """Bytes of address space with which the program prints its version, to a quarter of a MiB."""
    low, high = MIB, 1 << 32
    while high - low > MIB // 4:
        middle = (low + high) // 2
        if run(program, ["--version"], middle).returncode == 0:
            high = middle
        else:
            low = middle
    return high


class ExitCodes(unittest.TestCase):
    def check(self, program, case, done, code):
        text = done.stderr.decode()
        print(f"{program:18} {case:14} {done.returncode}  {text.strip()}", flush=True)
        self.assertEqual(done.returncode, code, text)
        self.assertRegex(text, rf"\A{re.escape(program)}: [A-Za-z]+ \(0x[0-9a-f]+\): [^\n]+\n\Z")

    def test_a_wrong_option(self):
        for program, path in programs.items():
            with self.subTest(program):
                self.check(program, "wrong option", run(path, ["--no-such-option"]), 2)

    def test_a_missing_file(self):
        for program, path in programs.items():
            # tenon-list takes no file.
            if program not in MISSING:
                continue
            with self.subTest(program):
                arguments, code = MISSING[program]
                self.check(program, "missing file", run(path, arguments), code)

    def test_out_of_memory(self):
        # The arguments alone, which a program copies, are more than what is left of its memory.
        arguments = ["A" * 120_000] * 15
        size = sum(map(len, arguments))
        for program, path in programs.items():
            with self.subTest(program):
                done = run(path, arguments, least_address_space(path) + size + MIB // 2)
                self.check(program, "out of memory", done, 5)
                self.assertIn(b"MemoryAllocationFailed (0x21): out of memory", done.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
