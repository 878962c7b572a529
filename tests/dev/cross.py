# SPDX-License-Identifier: MIT
"""`./dev cross`."""

import json
import pathlib

from dev import packages
from dev.totals import FAILED, PASSED


def quick(part):
    """A part of arm64, Windows and Debian 13, with the counts of its summary. Without one it has failed."""
    part.call(["tests/cross/run", "quick"])
    found = json.loads(pathlib.Path("build/cross/quick.json").read_text(encoding="utf-8"))
    for target in found["targets"]:
        for check in target["checks"]:
            part.add(f"cross: {target['target']}: {check['name']}", PASSED if check["passed"] else FAILED)


def cross(part, words):
    """tests/cross/run."""
    packages.setup(part)
    return part.call(["tests/cross/run", *words])
