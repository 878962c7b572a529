# SPDX-License-Identifier: MIT
"""Reads what tests/cross/macos.sh linked, on the machine that built it.

No Mac is involved: nothing that was built is run. Exit code 0 says that all checks were made: how they
came out is in the results.
"""

import argparse
import json
import pathlib
import struct
import subprocess

from results import Results

MH_MAGIC_64, CPU_TYPE_ARM64 = 0xFEEDFACF, 0x0100000C
MH_EXECUTE, MH_DYLIB = 2, 6
BACKENDS = {
    "hello": ["Add"],
    "demo_backend": ["BackendWithCompilerDemo"],
}
PROGRAMS = ["run", "list", "inspect", "doctor", "compile", "new"]


def kind_of(path):
    """Magic number, machine and kind of a Mach-O file."""
    head = struct.unpack_from("<4I", path.read_bytes())
    return head[0], head[1], head[3]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--plugins", type=pathlib.Path, required=True)
    parser.add_argument("--inspect", type=pathlib.Path, required=True)
    parser.add_argument("--results", type=pathlib.Path, required=True)
    args = parser.parse_args()
    results = Results(args.results)
    check = results.check
    for name in PROGRAMS:
        kind = kind_of(args.build / f"examples/tenon-{name}/tenon-{name}")
        good = kind == (MH_MAGIC_64, CPU_TYPE_ARM64, MH_EXECUTE)
        check(f"tenon-{name} is a program for macOS on arm64", good, kind)
    kind = kind_of(args.build / "tests/conformance/tenon-conformance")
    good = kind == (MH_MAGIC_64, CPU_TYPE_ARM64, MH_EXECUTE)
    check("tenon-conformance is a program for macOS on arm64", good, kind)
    for name, expected in BACKENDS.items():
        library = args.plugins / f"{name}.dylib"
        kind = kind_of(library)
        good = kind == (MH_MAGIC_64, CPU_TYPE_ARM64, MH_DYLIB)
        check(f"{name} is a library for macOS on arm64", good, kind)
        done = subprocess.run(
            [args.inspect, library, "--json"], capture_output=True, text=True, check=False
        )
        found = json.loads(done.stdout) if done.returncode == 0 else {}
        ids = [backend.get("id") for backend in found.get("record", {}).get("backends", [])]
        check(f"tenon-inspect reads the record of {name} from the file", ids == expected, done)
        refused = subprocess.run(
            [args.inspect, library, "--load"], capture_output=True, text=True, check=False
        )
        check(
            f"{name} is not loaded on another system",
            refused.returncode == 4 and "is a Mach-O file (macOS)" in refused.stderr,
            refused,
        )
    results.not_run("any of it: no Mac was there")


if __name__ == "__main__":
    main()
