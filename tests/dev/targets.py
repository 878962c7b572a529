#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Prints the build targets that selected tests need, one a line, so that nothing else is compiled.

usage: .ci/targets-of-tests BUILD_FOLDER [--suite NAME]... [--no-suite NAME]...
       .ci/targets-of-tests BUILD_FOLDER [--test NAME]...

The suites mean what they mean to `meson test`.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys


def _introspect(build, what):
    done = subprocess.run(["meson", "introspect", "--" + what, str(build)], stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout)


def _parsed(words):
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("build", type=pathlib.Path)
    for name in ("--suite", "--no-suite", "--test"):
        parser.add_argument(name, action="append", default=[])
    return parser, parser.parse_args(words)


# The tests of these suites run `meson install`, which needs everything that is installed.
INSTALLING = {"install", "package"}


def select(tests, options, installed=frozenset()):
    """The ids of the targets that are needed, of what Meson says about tests; `installed` are those that `meson install`
    copies. A ValueError for a name that no test has."""
    unknown = set(options.test) - {test["name"] for test in tests}
    if unknown:
        raise ValueError(f"no test has the name {', '.join(sorted(unknown))}")
    needed, names = set(), set()
    for test in tests:
        suites = {suite.split(":")[-1] for suite in test["suite"]}
        selected = not options.suite or suites & set(options.suite)
        selected = selected and not suites & set(options.no_suite)
        selected = selected and (not options.test or test["name"] in options.test)
        if selected:
            names.add(test["name"])
            needed.update(test["depends"])
            if suites & INSTALLING:
                needed |= installed
    # Without a target Ninja builds everything.
    outside = set(options.test) - names
    if outside:
        raise ValueError(f"not in the suites that are named: {', '.join(sorted(outside))}")
    return needed


def of_tests(words):
    """The files that tests need, relative to the build folder; the words are the command's."""
    parser, options = _parsed(words)
    build = options.build.resolve()
    targets = {target["id"]: target for target in _introspect(build, "targets")}
    try:
        installed = {name for name, target in targets.items() if target["installed"]}
        needed = select(_introspect(build, "tests"), options, installed)
    except ValueError as wrong:
        parser.error(str(wrong))
    files = {file for name in needed for file in targets[name]["filename"]}
    return sorted(os.path.relpath(file, build) for file in files)


if __name__ == "__main__":
    print("\n".join(of_tests(sys.argv[1:])))
