#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes which system calls the example plugins make, as a table.

Runs tenon-run under strace with each plugin of SUBJECTS, from the start of the process until its end, and counts calls
by name, with what the filter of a worker looks at: requests of ioctl, options of prctl, families of socket, protections
of memory that is executable and writable, directories of files that are opened.

    measure_calls.py BUILD_FOLDER OUTPUT.md
"""

import collections
import math
import os
import pathlib
import re
import struct
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[5]
OPENVINO = pathlib.Path.home() / ".cache/tenon/openvino-2026.4.1/openvino/libs"

CASES = "tests/conformance/cases"
# Column, plugin in the build folder, programs.
SUBJECTS = [
    ("hello", "examples/backends/hello.so", [f"{CASES}/hello/add/model.pte"]),
    ("GraphBackend", "examples/backends/graph_backend/graph_backend.so",
     [f"{CASES}/graph_backend/{name}/model.pte" for name in ("mlp", "transformer", "vision")]),
    ("CpuAoti", "reference_backends/cpu_aoti/cpu_aoti.so",
     ["examples/applications/digits/model.pte", f"{CASES}/cpu_aoti/dynamic_shapes/model.pte"]),
    ("OpenVINO", "examples/backends/openvino/openvino.so", [f"{CASES}/openvino/linear/model.pte"]),
    ("OpenCL on PoCL", "examples/backends/opencl/opencl.so",
     [f"{CASES}/opencl/{name}/model.pte" for name in ("mlp", "vision")]),
]
CALL = re.compile(r"^(?:\d+ +)?(\w+)\((.*)$")
ARGUMENT = {
    "ioctl": re.compile(r"^[^,]+, (\w+)"),
    "prctl": re.compile(r"^(\w+)"),
    "socket": re.compile(r"^(\w+)"),
    "madvise": re.compile(r"^[^,]+, [^,]+, (\w+)"),
    "fcntl": re.compile(r"^[^,]+, (\w+)"),
}
MISSING = re.compile(r"input (\d+) \((\w+) (?:up to )?\[([^\]]*)\]\) has no file")
DTYPES = {"Float": "<f4", "Double": "<f8", "Long": "<i8", "Int": "<i4"}
LARGE_FOLDERS = ("/usr/lib", "/lib", "OPENVINO_LIB", "SOURCE", "/usr/share/locale")
OPENED = re.compile(r'"([^"]*)"(?:\.\.\.)?, ([A-Z_|]+)')


class Measured:
    def __init__(self):
        self.calls = collections.Counter()
        self.details = collections.Counter()
        self.read = collections.Counter()
        self.written = collections.Counter()


def folder_of(path, scratch):
    """What a reader wants to know of a path: its directory, without names of this machine."""
    path = path.replace(str(OPENVINO), "OPENVINO_LIB").replace(str(OPENVINO.parent), "OPENVINO_LIB/..")
    path = path.replace(str(ROOT), "SOURCE")
    for folder, name in ((scratch, "SCRATCH"), ("SOURCE/build", "BUILD"), *((same, same) for same in LARGE_FOLDERS)):
        if path.startswith(folder + "/"):
            return name
    if path.startswith("/sys/"):
        return "/".join(path.split("/")[:5])
    if path.startswith(("/proc/", "/etc/")):
        return re.sub(r"\d+", "N", path)
    return os.path.dirname(path) or path


def read_trace(path, measured, scratch):
    for line in path.read_text(errors="replace").splitlines():
        found = CALL.match(line)
        if not found:
            continue
        name, arguments = found.groups()
        measured.calls[name] += 1
        if name in ARGUMENT and (detail := ARGUMENT[name].match(arguments)):
            measured.details[f"{name} {detail[1]}"] += 1
        if name in ("mmap", "mprotect") and "PROT_EXEC" in arguments and "PROT_WRITE" in arguments:
            measured.details[f"{name} PROT_WRITE\\|PROT_EXEC"] += 1
        if name == "openat" and (opened := OPENED.search(arguments)):
            writes = "O_WRONLY" in opened[2] or "O_RDWR" in opened[2] or "O_CREAT" in opened[2]
            (measured.written if writes else measured.read)[folder_of(opened[1], scratch)] += 1


def write_zeros(path, dtype, sizes):
    """A .npy file; what it holds has no influence on the calls."""
    sizes = [int(size) for size in sizes.split(",") if size.strip()]
    head = f"{{'descr': '{DTYPES[dtype]}', 'fortran_order': False, 'shape': {tuple(sizes)}, }}"
    head += " " * (-(len(head) + 11) % 64) + "\n"
    content = bytes(math.prod(sizes) * int(DTYPES[dtype][2:]))
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + content)


def inputs_of(command, scratch, environment):
    """Arguments for the inputs of a program, from what tenon-run reports as missing."""
    arguments = []
    while True:
        ran = subprocess.run([*command, *arguments], env=environment, capture_output=True, text=True, check=False)
        if ran.returncode == 0:
            return arguments
        missing = MISSING.search(ran.stderr)
        if not missing:
            raise SystemExit(ran.stderr)
        path = scratch / f"input{missing[1]}.npy"
        write_zeros(path, missing[2], missing[3])
        arguments += ["--input", str(path)]


def measure(build, plugin, programs):
    measured = Measured()
    for program in programs:
        with tempfile.TemporaryDirectory() as folder:
            scratch = pathlib.Path(folder)
            environment = {**os.environ, "POCL_CACHE_DIR": folder + "/first", "OPENVINO_LIB": str(OPENVINO)}
            command = [str(build / "examples/programs/tenon-run/tenon-run"), str(ROOT / program), "--plugin",
                       str(build / plugin), "--repeat", "3"]
            inputs = inputs_of(command, scratch, environment)
            # An empty cache, so that the compiler of PoCL runs.
            environment["POCL_CACHE_DIR"] = folder + "/cache"
            subprocess.run(["strace", "-f", "-qq", "-s", "200", "-o", folder + "/trace", *command, *inputs], check=True,
                           env=environment, stdout=subprocess.DEVNULL)
            read_trace(scratch / "trace", measured, folder)
    return measured


def table(head, columns, rows):
    yield "| " + " | ".join([head, *columns]) + " |"
    yield "|---|" + "---:|" * len(columns)
    for name, counts in rows:
        yield "| " + " | ".join([f"`{name}`", *[str(count or "") for count in counts]]) + " |"


def main():
    build, output = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2])
    results = {name: measure(build, plugin, programs) for name, plugin, programs in SUBJECTS}
    lines = [
        "# System calls of the example plugins",
        "",
        "Written by `measure_calls.py`; calls of the whole process `tenon-run --repeat 3`, with all that it loads.",
    ]
    for title, head, part in [("Calls", "call", "calls"), ("What is asked of some", "call and argument", "details"),
                              ("Where files are opened for reading", "directory", "read"),
                              ("Where files are opened for writing", "directory", "written")]:
        names = sorted({name for measured in results.values() for name in getattr(measured, part)})
        rows = [(name, [getattr(measured, part)[name] for measured in results.values()]) for name in names]
        lines += ["", f"## {title}", "", *table(head, list(results), rows)]
    output.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
