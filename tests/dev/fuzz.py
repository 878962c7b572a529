# SPDX-License-Identifier: MIT
"""`./dev fuzz [TARGET] [SECONDS]`."""

import os
import pathlib
import sys

from dev import builds, packages, suites

# The archives PROGRAM/TARGET.zip are the list of targets.
CORPUS = pathlib.Path("tests/fuzz/corpus")


def _selected(target):
    archives = sorted(CORPUS.glob("*/*.zip"))
    chosen = [archive for archive in archives if target in ("all", archive.stem)]
    if not chosen:
        print(f"dev: fuzz: there is no target {target}; there are {' '.join(archive.stem for archive in archives)}",
              file=sys.stderr)
        raise SystemExit(2)
    return chosen


def fuzz(part, target=None, seconds=None):
    """libFuzzer with both sanitizers on one target, or on all in turn."""
    if target and target[0].isdigit():
        target, seconds = None, target
    seconds = seconds or "60"
    archives = _selected(target or "all")
    packages.setup(part)
    packages.from_pypi(part)
    builds.configure(part, builds.FUZZ)
    suites.set_sanitizers()
    for archive in archives:
        _fuzz_one(part, archive, seconds)


def _fuzz_one(part, archive, seconds):
    target, program = archive.stem, f"tests/fuzz/fuzz-{archive.parent.name}"
    if part.captured(["ninja", "-C", builds.FUZZ.folder, "-t", "query", program]).returncode != 0:
        part.skip(f"dev: fuzz: {target} is left out: {archive.parent.name} needs a package that is not here")
        return
    seeds = f"tests/fuzz/seeds-{target}"
    builds.compile_in(part, builds.FUZZ.folder, [program, seeds])
    found = f"{builds.FUZZ.folder}/corpus/{target}"
    os.makedirs(found, exist_ok=True)
    # The entropic schedule costs more than the execution of so small an input, ten times as much.
    options = [f"-max_total_time={seconds}", "-max_len=16384", "-rss_limit_mb=2048", "-malloc_limit_mb=1024", "-timeout=10",
               "-entropic=0", "-print_final_stats=1", "-verbosity=0"]
    dictionary = f"tests/fuzz/dictionaries/{target}.dict"
    options += [f"-dict={dictionary}"] if os.path.isfile(dictionary) else []
    corpus = [f"{builds.FUZZ.folder}/{seeds}", *(path for path in [f"tests/fixtures/{target}"] if os.path.isdir(path))]
    part.check(f"fuzz: {target}, {seconds} s", [f"{builds.FUZZ.folder}/{program}", *options, found, *corpus],
               env={"TENON_FUZZ_TARGET": target})
