#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A plugin with any one group of kernels links: what the group's objects call is in it, in a group that it needs, or in the
objects of every plugin (reference_backends/cpu_kernels/meson.build). A call of another group would not be noticed in builds
that have all groups.

usage: groups_test.py NM GROUP=SOURCE,...;NEEDED,... ... -- ARCHIVE...
"""

import collections
import re
import subprocess
import sys


# Both are in operators/no_operators.cpp, in a build without the group `operators`.
INSTEAD = ("find_operator", "operator_kernels")


def read_symbols(nm, archives):
    """For each object: the symbols that it defines, and those that it wants."""
    defined, wanted = collections.defaultdict(set), collections.defaultdict(set)
    for archive in archives:
        # The names, which a demangler would change.
        lines = subprocess.run([nm, "-A", "-P", archive], check=True, capture_output=True, text=True).stdout.splitlines()
        for line in lines:
            where, name, kind = line.split()[:3]
            member = re.search(r"[\[:/]([^\[:/]+\.o)\]?:?$", where)[1]
            if kind in "Uw":
                wanted[member].add(name)
            elif kind.isupper() or kind == "u":
                defined[member].add(name)
    return defined, wanted


def object_of(source):
    """The name that Meson gives it."""
    return source.replace("/", "_") + ".o"


def read_group(word):
    """Name, objects, and needed groups."""
    name, rest = word.split("=")
    sources, needs = rest.split(";")
    return name, {object_of(source) for source in sources.split(",") if source}, [need for need in needs.split(",") if need]


def main():
    nm, *words = sys.argv[1:]
    end = words.index("--")
    groups = {name: (objects, needs) for name, objects, needs in map(read_group, words[:end])}
    defined, wanted = read_symbols(nm, words[end + 1:])
    grouped = set().union(*(objects for objects, _ in groups.values()))
    everywhere = set(defined) - grouped
    # Objects of several sources, in a build that compiles them together, have what each of the groups calls.
    together = {name for name in everywhere if "-unity" in name}
    owners = {symbol: name for name, symbols in defined.items() for symbol in symbols
              if name in grouped and not any(word in symbol for word in INSTEAD)}
    problems, checked = [], 0
    for group, (objects, needs) in groups.items():
        present = everywhere | objects
        for need in needs:
            present |= groups[need][0]
        has = set().union(*(defined[name] for name in present))
        for name in sorted(present - together):
            checked += len(wanted[name])
            problems += [f"group {group}: {name} calls {symbol} of {owners[symbol]}, which it does not need"
                         for symbol in sorted(wanted[name] - has) if symbol in owners]
    if problems:
        sys.exit("\n".join(problems))
    missing = grouped - set(defined)
    if missing and not together:
        sys.exit(f"expected these objects in the archives, found none: {', '.join(sorted(missing))}")
    if checked < 100:
        sys.exit(f"expected hundreds of symbols, found {checked}")
    print(f"right: {len(groups)} groups, {checked} calls")


if __name__ == "__main__":
    main()
