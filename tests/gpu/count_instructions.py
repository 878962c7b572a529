#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Counts the instructions that a lane executes for 32 weights in the products of few rows.

usage: count_instructions.py FATBIN [--cuobjdump PROGRAM] [--arch sm_90]

Reads SASS by cuobjdump (of the CUDA Toolkit, or of PyPI, as .ci/fetch-python-build installs it): the inner loop for groups of at least 32 weights,
without the staging of `self`, which a block does once for all of its columns. Prints a Markdown table. Fails where a
kernel takes more than MOST. Exit status 77 without cuobjdump.
"""

import argparse
import pathlib
import re
import shutil
import subprocess
import sys

# What the code had when it was written, and a few for another ptxas. ExecuTorch's int4_plain_mm.cuh takes 106 for one
# row and 215 for four (ptxas 13.0, sm_90).
MOST = {
    ("int4_plain_mm", "one"): 80, ("int4_plain_mm", "one_narrow"): 87, ("int4_plain_mm", "few"): 160,
    ("int5_plain_mm", "one"): 115, ("int5_plain_mm", "one_narrow"): 122, ("int5_plain_mm", "few"): 190,
    ("int6_plain_mm", "one"): 118, ("int6_plain_mm", "one_narrow"): 125, ("int6_plain_mm", "few"): 192,
    ("int8_plain_mm", "one"): 50, ("int8_plain_mm", "one_narrow"): 57, ("int8_plain_mm", "few"): 128,
}
# 16-byte loads of the weight for 32 of them.
LOADS = {"int8_plain_mm": 2}


def find_program(asked):
    """cuobjdump as asked for, of the search path, of the toolkit, or None."""
    if asked:
        return asked
    root = pathlib.Path(__file__).resolve().parents[2]
    at = root.glob("build/python/venv/lib/python3*/site-packages/nvidia/cu*/bin/cuobjdump")
    for place in (shutil.which("cuobjdump"), "/usr/local/cuda/bin/cuobjdump", *at):
        if place and pathlib.Path(place).exists():
            return str(place)
    return None


def functions_of(sass):
    """{name: [(address, instruction)]}"""
    out = {}
    current = []
    for line in sass.splitlines():
        if named := re.search(r"Function : (\S+)", line):
            current = out.setdefault(named[1], [])
        elif found := re.match(r"\s+/\*([0-9a-f]{4,})\*/\s+(.*?)\s*;", line):
            current.append((int(found[1], 16), found[2]))
    return out


def inner_loops(code):
    """The instructions of each loop that has no loop in it."""
    at = {address: i for i, (address, _) in enumerate(code)}
    spans = []
    for i, (address, text) in enumerate(code):
        jump = re.search(r"\bBRA\b.*?0x([0-9a-f]+)", text)
        if jump and int(jump[1], 16) < address and int(jump[1], 16) in at:
            spans.append((at[int(jump[1], 16)], i))
    for first, last in spans:
        if not any((a, b) != (first, last) and first <= a and b <= last for a, b in spans):
            yield [text for _, text in code[first : last + 1]]


def count(code, loads):
    """Instructions for 32 weights: of the loops with dot products of bytes and loads of weights, the shortest, as the
    one for small groups loads more. Staging has dot products for its sums, and exchanges."""
    found = []
    for body in inner_loops(code):
        wide = sum("LDG" in text and ".128" in text for text in body)
        if wide and any("IDP" in text for text in body) and not any("SHFL" in text for text in body):
            found.append(len(body) * loads / wide)
    return min(found, default=None)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("fatbin")
    parser.add_argument("--cuobjdump")
    parser.add_argument("--arch", default="sm_90")
    args = parser.parse_args()
    program = find_program(args.cuobjdump)
    if program is None:
        print("no cuobjdump: run .ci/fetch-python-build, or install the CUDA Toolkit's")
        return 77

    def dump(what):
        done = subprocess.run([program, what, "-arch", args.arch, args.fatbin], check=False, capture_output=True,
                              text=True, timeout=300)
        if done.returncode != 0:
            sys.exit(f"count_instructions.py: {program} {what}: exit status {done.returncode}\n{done.stdout}{done.stderr}")
        return done.stdout

    functions = functions_of(dump("-sass"))
    usage = dict(re.findall(r"Function (\S+):\s*\n\s*(REG:.*)", dump("-res-usage")))
    problems = []
    print(f"| kernel, {args.arch} | instructions for 32 weights | at most | registers | spilled bytes |")
    print("|---|---:|---:|---:|---:|")
    for (product, rows), most in MOST.items():
        name = f"tenon_{product}_{rows}"
        found = count(functions.get(name, []), LOADS.get(product, 1))
        registers = re.search(r"REG:(\d+)", usage.get(name, ""))
        local = re.search(r"LOCAL:(\d+)", usage.get(name, ""))
        if found is None or registers is None or local is None:
            problems.append(f"{name}: expected a loop with loads of weights and dot products, found none")
            continue
        print(f"| `{product}`, {rows} | {found:g} | {most} | {registers[1]} | {local[1]} |")
        if found > most:
            problems.append(f"{name}: {found:g} instructions for 32 weights, expected at most {most}")
        if local[1] != "0":
            problems.append(f"{name}: {local[1]} bytes of local memory, expected none")
    for problem in problems:
        print(f"not ok: {problem}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
