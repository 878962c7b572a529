# SPDX-License-Identifier: MIT
"""Reads what macos.py linked, on the machine that built it. No Mac is involved: nothing that was built is run."""

import json
import pathlib
import struct
import subprocess

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


def check_all(target, plugins, inspect):
    """What each file is, and what tenon-inspect of this machine says of a plugin."""
    build, check = pathlib.Path(target.build), target.result
    for name in PROGRAMS:
        kind = kind_of(build / f"examples/programs/tenon-{name}/tenon-{name}")
        good = kind == (MH_MAGIC_64, CPU_TYPE_ARM64, MH_EXECUTE)
        check(f"tenon-{name} is a program for macOS on arm64", good, kind)
    kind = kind_of(build / "tests/conformance/tenon-conformance")
    good = kind == (MH_MAGIC_64, CPU_TYPE_ARM64, MH_EXECUTE)
    check("tenon-conformance is a program for macOS on arm64", good, kind)
    for name, expected in BACKENDS.items():
        library = pathlib.Path(plugins) / f"{name}.dylib"
        kind = kind_of(library)
        good = kind == (MH_MAGIC_64, CPU_TYPE_ARM64, MH_DYLIB)
        check(f"{name} is a library for macOS on arm64", good, kind)
        done = target.part.captured([inspect, library, "--json"], stderr=subprocess.PIPE)
        found = json.loads(done.stdout) if done.returncode == 0 else {}
        ids = [backend.get("id") for backend in found.get("record", {}).get("backends", [])]
        check(f"tenon-inspect reads the record of {name} from the file", ids == expected, done)
        refused = target.part.captured([inspect, library, "--load"])
        check(
            f"{name} is not loaded on another system",
            refused.returncode == 4 and "is a Mach-O file (macOS)" in refused.stdout,
            refused,
        )
    target.not_run("any of it: no Mac was there")
