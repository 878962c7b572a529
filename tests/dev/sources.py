# SPDX-License-Identifier: MIT
"""Sources: their format, and clang-tidy."""

import glob
import shutil

from dev import packages
from dev.part import Failed

FORMAT = "clang-format-19"


def _sources(part):
    return part.output(["git", "ls-files", "*.h", "*.hpp", "*.c", "*.cpp"]).splitlines()


def check(part):
    """Whether all are in the project's style, as a check of `test`."""
    part.check("format", [FORMAT, "--dry-run", "--Werror", *_sources(part)])


def write(part):
    """Rewrites them in it."""
    packages.setup(part)
    return part.call([FORMAT, "-i", *_sources(part)])


def tidy(part, files):
    """Not a part of `test`: it takes minutes, and what it finds depends on its version."""
    if not shutil.which("clang-tidy"):
        raise Failed("clang-tidy is missing; on Debian or Ubuntu: apt-get install clang-tidy")
    statuses = []
    for file in files or sorted(glob.glob("include/tenon/core/*.hpp")):
        part.say(f"clang-tidy {file}")
        statuses.append(part.call(["clang-tidy", "--quiet", file, "--", "-x", "c++", "-std=c++20", "-Iinclude",
                                   "-Ibuild/gcc/include"]))
    return int(any(statuses))
