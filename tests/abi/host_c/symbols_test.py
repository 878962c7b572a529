# SPDX-License-Identifier: MIT
"""Compares what libtenon.so or libtenon-1.dll exports with what its header declares and its version script lists, and
the list with the one that was released.

    symbols_test.py HEADER MAP LIBRARY SYMBOLS
"""

import pathlib
import re
import subprocess
import sys
import unittest

header, version_script, library, symbols = map(pathlib.Path, sys.argv[1:5])

# The symbols file of Debian's package: a line for each symbol of the library, with the version of the symbol and the release
# that it came with. Lines are added to it and never removed.
LIBRARY, SYMBOL = re.compile(r"^(\S+\.so\.[0-9]+) "), re.compile(r"^ ([\w.]+)@(TENON_[0-9.]+) [0-9.]+$", re.M)


def released():
    """Version of symbols -> names, of the symbols file."""
    out = {}
    for name, node in SYMBOL.findall(symbols.read_text()):
        if name != node:
            out.setdefault(node, []).append(name)
    return out


def declared():
    return re.findall(r"^TENON_HOST_API[^;(]*?\b(tenon_\w+)\(", header.read_text(), re.M)


def listed():
    """Version of symbols -> names, of the version script."""
    text = re.sub(r"/\*.*?\*/", "", version_script.read_text(), flags=re.S)
    nodes = re.findall(r"(TENON_[0-9.]+) \{\s*global:(.*?)(?:local:|\})", text, re.S)
    return {node: re.findall(r"(\w+);", names) for node, names in nodes}


def exported_by_dll():
    """The names alone: functions of DLLs have no versions."""
    output = subprocess.run(["x86_64-w64-mingw32-objdump", "-p", library], check=True, text=True, capture_output=True).stdout
    table = output.partition("[Ordinal/Name Pointer] Table")[2].partition("\n\n")[0]
    return [line.split()[-1] for line in table.splitlines() if "]" in line]


def exported():
    """As `listed`, of the library: with the kind of its symbols."""
    output = subprocess.run(["nm", "-D", "--defined-only", library], check=True, text=True,
                            capture_output=True).stdout
    out = {}
    for line in output.splitlines():
        _, kind, name = line.split()
        if kind == "A":  # The name of a version.
            continue
        name, _, version = name.partition("@@")
        out.setdefault(f"{version} {kind}", []).append(name)
    return out


class Symbols(unittest.TestCase):
    @unittest.skipIf(library.suffix == ".dll", "Debian's package has libtenon.so")
    def test_the_symbols_file_is_that_of_the_library(self):
        dynamic = subprocess.run(["readelf", "--dynamic", "--wide", library], check=True, text=True, capture_output=True).stdout
        self.assertEqual(LIBRARY.match(symbols.read_text())[1], re.search(r"Library soname: \[(.*)\]", dynamic)[1])
        lines = [line for line in symbols.read_text().splitlines() if line.startswith(" ")]
        self.assertEqual(len(lines), len(SYMBOL.findall(symbols.read_text())))

    def test_functions_are_those_that_were_released(self):
        self.assertEqual({node: sorted(names) for node, names in listed().items()},
                         {node: sorted(names) for node, names in released().items()})

    def test_the_header_declares_what_the_version_script_lists(self):
        self.assertEqual(sorted(declared()), sorted(sum(listed().values(), [])))

    def test_the_library_exports_these_functions_and_nothing_else(self):
        if library.suffix == ".dll":
            self.assertEqual(sorted(exported_by_dll()), sorted(sum(listed().values(), [])))
            return
        self.assertEqual({node: sorted(names) for node, names in exported().items()},
                         {f"{node} T": sorted(names) for node, names in listed().items()})


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
