#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes the cases of the plugins in C and Rust (examples/backends/in_c, in_rust).

usage: make_c_and_rust_cases.py TENON_PACK [FOLDER]     FOLDER: where this script is
"""

import json
import math
import pathlib
import random
import struct
import subprocess
import sys
import tempfile

SCALE, BIAS = 2, 0.5


def write_array(path, shape, values):
    """A .npy file of float32."""
    descr = repr({"descr": "<f4", "fortran_order": False, "shape": tuple(shape)})
    header = descr + " " * (-(len(descr) + 11) % 64) + "\n"
    start = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode()
    path.write_bytes(start + struct.pack(f"<{len(values)}f", *values))


class Maker:
    def __init__(self, tenon_pack, folder):
        self.tenon_pack = tenon_pack
        self.folder = folder

    def write_program(self, path, backend, blob, tensor):
        with tempfile.NamedTemporaryFile() as file:
            file.write(blob)
            file.flush()
            command = [self.tenon_pack, file.name, "--backend", backend]
            command += ["--input", tensor, "--output", tensor, "-o", str(path)]
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)

    def case(self, name, description, tensor, shapes, *, count=None, gain=1, fresh=()):
        """`count` is the most elements of a tensor in C, whose backend keeps sums; None in Rust."""
        numbers = struct.pack("<Iff", 1, SCALE, BIAS)
        if count is None:
            backend, blob = "RustScaleBias", b"RSCB" + numbers
        else:
            backend, blob = "ScaleBias", b"SCLB" + numbers + struct.pack("<I", count)
        folder = self.folder / name
        folder.mkdir(parents=True, exist_ok=True)
        self.write_program(folder / "model.pte", backend, blob, tensor)
        source, runs, sums = random.Random(7), [], [0] * 64
        for i, shape in enumerate(shapes):
            x = [float(source.randint(-8, 8)) for _ in range(math.prod(shape))]
            if count is None or i in fresh:
                sums = [0] * 64
            sums[: len(x)] = [a + b for a, b in zip(sums, x)]
            y = [gain * (SCALE * value + BIAS) for value in sums[: len(x)]]
            if count is None:
                sums = [0] * 64
            write_array(folder / f"x{i}.npy", shape, x)
            write_array(folder / f"y{i}.npy", shape, y)
            run = {"inputs": [f"x{i}.npy"], "expected": [f"y{i}.npy"]}
            runs.append(run | ({"fresh": True} if i in fresh else {}))
        members = {
            "$schema": "../../../../../docs/schemas/tenon-case.schema.json",
            "description": description,
            "runs": "RUNS",
        }
        if gain != 1:
            members["runtime_specs"] = {backend: {"gain": float(gain)}}
        lines = ",\n".join("    " + json.dumps(run) for run in runs)
        text = json.dumps(members, indent=2).replace('"RUNS"', f"[\n{lines}\n  ]")
        (folder / "case.json").write_text(text + "\n")


def main():
    here = pathlib.Path(__file__).parent
    make = Maker(sys.argv[1], pathlib.Path(sys.argv[2]) if len(sys.argv) > 2 else here).case
    sizes = [(3, 4), (1, 4), (0, 4), (2, 3), (3, 4)]
    of_sizes = "Sizes up to the bounds, and none"
    of_sums = "Sums over runs, and a fresh load"
    make("in_c/running", of_sums, "Float:3,4", [(3, 4)] * 3, count=12, fresh=[2])
    make("in_c/dynamic", of_sizes, "Float:3,4:dynamic", sizes, count=12, fresh=[4])
    make("in_c/scalar", "A scalar", "Float:", [()] * 3, count=1, fresh=[2])
    make("in_c/gain", "An option of the load", "Float:5", [(5,)] * 3, count=5, gain=3, fresh=[2])
    make("in_rust/fixed", "One size", "Float:3,4", [(3, 4)] * 2)
    make("in_rust/dynamic", of_sizes, "Float:3,4:dynamic", sizes)
    make("in_rust/gain", "An option of the load", "Float:5", [(5,)] * 2, gain=3)


if __name__ == "__main__":
    main()
