#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Fails with the names of slices of `./dev rest` that last ran without a failure more than 300 commits ago.

usage: age_test.py. Exit status 77 where the history is not here: an archive, or a shallow clone.
"""

import pathlib
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))

from dev.rest import record  # noqa: E402  pylint: disable=wrong-import-position
from dev.rest.slices import SLICES  # noqa: E402  pylint: disable=wrong-import-position
from lint.problems import leave  # noqa: E402  pylint: disable=wrong-import-position


def main():
    past = record.history()
    if past is None:
        print("skipped: the history is not here")
        sys.exit(77)
    old, notes = record.ages(SLICES, record.read(), past)
    for note in notes:
        print(f"note: {note}")
    leave(old, f"{len(SLICES)} slices, {len(old)} too old, {len(notes)} without a run that is free of failures")


if __name__ == "__main__":
    main()
