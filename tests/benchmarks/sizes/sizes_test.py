# SPDX-License-Identifier: MIT
"""Compares the sizes of what users get, stripped, and fails when one has grown by more than 3 %.

sizes_test.py [--write] KEY RECORD NAME=FILE...

RECORD has one table for each KEY, which says what a size depends on: compiler, level of optimisation, linker. Without a
table for KEY the sizes are printed, and the test is skipped.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

SKIPPED = 77
GROWTH = 1.03


def stripped_size(file):
    """Bytes of a program or a library without its symbol tables, as packages install it."""
    with tempfile.TemporaryDirectory(prefix="tenon-sizes-") as folder:
        out = pathlib.Path(folder) / "stripped"
        subprocess.run(["strip", "-o", out, file], check=True)
        return out.stat().st_size


def compare(known, sizes):
    """A line for each file, and whether none has grown or is missing."""
    lines, good = [], True
    for name in list(known) + [name for name in sizes if name not in known]:
        before, now = known.get(name), sizes.get(name)
        verdict = ""
        if now is None:
            verdict, good = "NOT BUILT", False
        elif before is None:
            verdict = "new: write it down with --write"
        elif now > before * GROWTH:
            verdict, good = f"GREW by {100 * (now / before - 1):.1f} %", False
        elif now < before / GROWTH:
            verdict = f"less by {100 * (1 - now / before):.1f} %: write it down with --write"
        lines.append(f"  {name:16} {before or '':>12} {now or '':>12}  {verdict}".rstrip())
    return lines, good


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--write", action="store_true")
    parser.add_argument("key")
    parser.add_argument("record", type=pathlib.Path)
    parser.add_argument("files", nargs="+", metavar="NAME=FILE")
    given = parser.parse_args()
    tables = json.loads(given.record.read_text(encoding="utf-8"))
    sizes = {name: stripped_size(file) for name, _, file in (each.partition("=") for each in given.files)}
    lines, good = compare(tables.get(given.key, {}), sizes)
    print(f"bytes with {given.key}: recorded, now\n" + "\n".join(lines))
    if given.write:
        tables[given.key] = sizes
        given.record.write_text(json.dumps(tables, indent=2) + "\n", encoding="utf-8")
        return 0
    if given.key not in tables:
        print(f"{given.record.name} has no table for {given.key}")
        return SKIPPED
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
