# SPDX-License-Identifier: MIT
"""Reads what tests/cross/macos.sh linked, on the machine that built it.

Each check is a line "ok" or "not ok" and the last line has the totals. No Mac is involved: nothing
that was built is run.
"""

import argparse
import json
import pathlib
import struct
import subprocess
import sys

MH_MAGIC_64, CPU_TYPE_ARM64 = 0xFEEDFACF, 0x0100000C
MH_EXECUTE, MH_DYLIB = 2, 6
BACKENDS = {
    "hello": ["Add"],
    "demo_backend": ["BackendWithCompilerDemo"],
}
PROGRAMS = ["run", "list", "inspect", "doctor"]


def kind_of(path):
    """Magic number, machine and kind of a Mach-O file."""
    head = struct.unpack_from("<4I", path.read_bytes())
    return head[0], head[1], head[3]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--plugins", type=pathlib.Path, required=True)
    parser.add_argument("--inspect", type=pathlib.Path, required=True)
    args = parser.parse_args()
    outcomes = []

    def check(name, good, shown):
        outcomes.append(good)
        print(f"{'ok' if good else 'not ok'}: {name}" + ("" if good else f"\n{shown}"))

    for name in PROGRAMS:
        kind = kind_of(args.build / f"examples/tenon-{name}/tenon-{name}")
        good = kind == (MH_MAGIC_64, CPU_TYPE_ARM64, MH_EXECUTE)
        check(f"tenon-{name} is a program for macOS on arm64", good, kind)
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
    failed = outcomes.count(False)
    print("not run: any of it; no Mac was there")
    print(f"{len(outcomes)} checks, {failed} failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
