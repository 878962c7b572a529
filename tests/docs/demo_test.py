#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""README.md shows what `./dev demo` prints: tenon-run is run as the demo does (tests/dev/demo.py), and the block below
the comment `<!-- demo: ... -->` is the first lines of its output. Numbers may differ in the last digits,
as processors round differently; a line that ends with "..." is compared up to there.

usage: demo_test.py ROOT TENON_RUN PLUGIN
"""

import pathlib
import re
import subprocess
import sys

SKIPPED = 77
sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from dev import demo  # noqa: E402  pylint: disable=wrong-import-position

NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e[-+]?\d+)?")


def fail(text):
    sys.exit(f"README.md, the demo: {text}")


def same(shown, printed):
    """Whether two lines have the same words, and the same numbers up to a thousandth."""
    if shown.endswith(", ..."):
        shown = shown.removesuffix(", ...")
        printed = ", ".join(printed.split(", ")[: len(shown.split(", "))])
    if NUMBER.split(shown) != NUMBER.split(printed):
        return False
    pairs = zip(map(float, NUMBER.findall(shown)), map(float, NUMBER.findall(printed)), strict=True)
    return all(abs(a - b) <= 1e-3 * max(abs(a), abs(b)) for a, b in pairs)


def main():
    root, tenon_run, plugin = (pathlib.Path(path).resolve() for path in sys.argv[1:])
    page = (root / "README.md").read_text(encoding="utf-8")
    block = re.search(r"<!-- demo: .*?-->\n```text\n(.*?)```", page, re.DOTALL)
    if not block:
        fail("there is no block")
    if "avx2" not in pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8"):
        print("skipped: the model's code needs AVX2")
        sys.exit(SKIPPED)
    done = subprocess.run(
        [tenon_run, *demo.ARGUMENTS, "--plugin", plugin],
        cwd=root, text=True, capture_output=True, check=False,
    )
    if done.returncode != 0:
        fail(f"tenon-run ends with {done.returncode}: {done.stderr}")
    shown, printed = block[1].splitlines(), done.stdout.splitlines()
    if len(shown) < 6:
        fail("expected 6 lines or more")
    for number, line in enumerate(shown):
        if number >= len(printed) or not same(line, printed[number]):
            fail(f"{line!r} is shown, and this was printed:\n{done.stdout}")
    print(f"{len(shown)} lines are those that are printed")


if __name__ == "__main__":
    main()
