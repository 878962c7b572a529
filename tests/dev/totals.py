#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks, and totals of them, as `./dev` prints them in a line of its own: `3 passed, 0 failed, 1 skipped`; `./dev cross`
puts a name before it and has none that are skipped.

usage: totals.py LOG...: prints the sum of the last such line of each log. A log without one counts as one failure. The
exit status is 0 if nothing failed.
"""

import collections
import dataclasses
import pathlib
import re
import sys

LINE = re.compile(r"(?:[\w-]+: )?(\d+) passed, (\d+) failed(?:, (\d+) skipped)?")
PASSED, FAILED, SKIPPED = "passed", "failed", "skipped"


@dataclasses.dataclass
class Check:
    """One thing that was checked, or left out."""

    name: str
    # PASSED, FAILED or SKIPPED.
    outcome: str
    # What it counted or measured, a line each.
    details: list = dataclasses.field(default_factory=list)


@dataclasses.dataclass
class Totals:
    """How many checks passed, failed and were skipped."""

    passed: int = 0
    failed: int = 0
    skipped: int = 0

    def __add__(self, other):
        return Totals(self.passed + other.passed, self.failed + other.failed, self.skipped + other.skipped)

    def __str__(self):
        return f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped"


def of_checks(checks):
    """The totals of checks."""
    counted = collections.Counter(check.outcome for check in checks)
    return Totals(counted[PASSED], counted[FAILED], counted[SKIPPED])


def of_line(line):
    """The totals that a line is, or None."""
    found = LINE.fullmatch(line.strip())
    return Totals(*(int(number or 0) for number in found.groups())) if found else None


def of_log(path):
    """The totals of the last line of a file that has any."""
    text = path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""
    found = [totals for totals in map(of_line, text.splitlines()) if totals]
    if found:
        return found[-1]
    print(f"failed: {path}: has no line of totals")
    return Totals(failed=1)


def main():
    total = sum((of_log(pathlib.Path(name)) for name in sys.argv[1:]), Totals())
    print(total)
    sys.exit(1 if total.failed else 0)


if __name__ == "__main__":
    main()
