# SPDX-License-Identifier: MIT
"""Counts the instructions of the paths that must stay short, and fails when one has grown.

hot_paths_test.py [--write] [--without PREFIX] KEY RECORD HOT_PATHS FIXTURES PLUGIN...

Callgrind counts the same number on a busy machine. RECORD has one table for each KEY, which says what the number
depends on: compiler, level of optimisation, C library. Without a table for KEY the numbers are printed, and the test is
skipped. Paths whose names begin with PREFIX are not expected: a build without the ExecuTorch wheel lacks the bridges'
paths.
"""

import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

SKIPPED = 77
# What may be added without a change of RECORD. A short path is given some instructions beside its
# share: memcmp of glibc (memcmp-avx2-movbe.S) takes six more where `a | b` is near the end of a page,
# and the place of a string on the heap depends on the lengths of all paths, so on the build folder.
GROWTH = 1.03
PLACES = 8


def parse(text):
    """The name of a path and the instructions of one repeat of it; None for the dump at the end."""
    mark = re.search(r"^desc: Trigger: Client Request: (\d+) (.+)$", text, re.M)
    total = re.search(r"^(?:totals|summary): (\d+)", text, re.M)
    return (mark[2], round(int(total[1]) / int(mark[1]), 1)) if mark and total else None


def count(program, fixtures, plugins):
    """Instructions by path, in the order of the program. It runs in the folder of fixtures: each folder of a file's path
    is looked at when the file is opened, so a long path takes more instructions."""
    command = [os.path.abspath(program), ".", *map(os.path.abspath, plugins)]
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "out"
        valgrind = ["valgrind", "--quiet", "--tool=callgrind", f"--callgrind-out-file={out}"]
        # Meson makes the C library fill memory with a pattern.
        env = {name: text for name, text in os.environ.items() if name != "MALLOC_PERTURB_"}
        subprocess.run(valgrind + command, check=True, env=env, cwd=fixtures)
        dumps = sorted(pathlib.Path(folder).glob("out.*"), key=lambda path: int(path.suffix[1:]))
        return dict(found for path in dumps if (found := parse(path.read_text())))


def compare(known, counted):
    """A line for each path, and whether none has grown or is missing."""
    lines, good = [], True
    for name in list(known) + [name for name in counted if name not in known]:
        before, now = known.get(name), counted.get(name)
        verdict = ""
        if now is None:
            verdict, good = "NOT COUNTED", False
        elif before is not None and now > max(before * GROWTH, before + PLACES):
            verdict, good = f"GREW by {100 * (now / before - 1):.1f} %", False
        elif before is not None and now < before / GROWTH:
            verdict = "less: write it down with --write"
        elif before is None:
            verdict = "new: write it down with --write"
        lines.append(f"  {name:48} {before or '':>12} {now or '':>12}  {verdict}".rstrip())
    return lines, good


def without(table, prefix):
    """The paths of a table whose names do not begin with the prefix."""
    return {name: number for name, number in table.items() if not prefix or not name.startswith(prefix)}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--without", default="")
    parser.add_argument("key")
    parser.add_argument("record", type=pathlib.Path)
    parser.add_argument("program")
    parser.add_argument("fixtures")
    parser.add_argument("plugins", nargs="+")
    given = parser.parse_args()
    key, record = given.key, given.record
    tables = json.loads(record.read_text())
    counted = count(given.program, given.fixtures, given.plugins)
    if not counted:
        sys.exit("hot_paths_test.py: Callgrind counted nothing")
    lines, good = compare(without(tables.get(key, {}), given.without), counted)
    print(f"instructions with {key}: recorded, now\n" + "\n".join(lines))
    if given.write:
        kept = tables.get(key, {}) if given.without else {}
        tables[key] = kept | counted
        record.write_text(json.dumps(tables, indent=2, sort_keys=True) + "\n")
        return 0
    if key not in tables:
        print(f"{record.name} has no table for {key}")
        return SKIPPED
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
