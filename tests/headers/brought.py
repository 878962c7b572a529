#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Prints how many files and lines of Tenon a header brings into a source, as its #include lines say.

Both sides of an `#if` count, so that the figures are the same on every system; --without leaves paths out, as
`/windows/` for what Linux reads. The schemas' generated headers do not count. abi and core are what both sides
use, and are apart.

    tests/headers/brought.py tenon/host.hpp tenon/host/implementation.hpp
    tests/headers/brought.py --list --without /windows/ tenon/host/implementation.hpp
"""

import argparse
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]
INCLUDE = re.compile(r'^\s*#\s*include\s*["<](tenon/[^">]+)[">]', re.M)


def brought_by(include, header):
    """{header: lines} of the header and all that it includes."""
    lines, open_ends = {}, [header]
    while open_ends:
        name = open_ends.pop()
        path = include / name
        if name in lines or not path.is_file():
            continue
        text = path.read_text()
        lines[name] = text.count("\n")
        open_ends += INCLUDE.findall(text)
    return lines


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    option = parser.add_argument
    option("headers", nargs="+", metavar="HEADER")
    option("--include", type=pathlib.Path, default=ROOT / "include", help="default: this checkout's")
    option("--apart", nargs="*", default=["abi", "core"], metavar="PART", help="default: abi core")
    option("--without", action="append", default=[], metavar="TEXT", help="leave out paths with TEXT")
    option("--list", action="store_true", help="print each folder's files and lines as well")
    args = parser.parse_args()
    for header in args.headers:
        if not (args.include / header).is_file():
            parser.error(f"{header}: there is no such header in {args.include}")
        everything = {
            name: lines
            for name, lines in brought_by(args.include, header).items()
            if not any(text in name for text in args.without)
        }
        counted = {
            name: lines for name, lines in everything.items() if name.split("/")[1] not in args.apart
        }
        print(
            f"{header}: {len(counted)} files, {sum(counted.values())} lines"
            f" ({len(everything)}, {sum(everything.values())} with {' and '.join(args.apart)})"
        )
        if not args.list:
            continue
        folders = {}
        for name, lines in sorted(counted.items()):
            folder, _, file = name.rpartition("/")
            folders.setdefault(folder, []).append((file, lines))
        for folder, files in sorted(folders.items()):
            print(f"  {folder}: {len(files)} files, {sum(lines for _, lines in files)} lines")
            for file, lines in files:
                print(f"    {lines:5} {file}")


if __name__ == "__main__":
    main()
