# SPDX-License-Identifier: MIT
"""Links a program with the host's definitions in no source, in one and in two.

implementation_test.py --cxx COMPILER --include FOLDER... --embed SOURCE --definitions SOURCE PLUGIN MODEL

The program is examples/applications/embed. MODEL adds 1, 2, 3, 4 to the four numbers that it gives (0.1, 0.2, 0.3,
0.4); it was made as docs/snippets/write_program.cpp makes one.
"""

import argparse
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

EXPECTED = "1.1\n2.2\n3.3\n4.4\n"
# What a linker says of two and of none. The order of its messages is the compiler's: gcc 12 puts it first of two, gcc 14 does not.
SENTENCE = re.compile("include_tenon_host_([a-z]+_)?implementation_hpp_in_exactly_one_source")


def check(problems, expected, what, done):
    """Notes what the linker or the program said when it is not what was expected."""
    if not expected:
        problems.append(f"{what}: exit code {done.returncode}\n{done.stdout}{done.stderr}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cxx", required=True)
    parser.add_argument("--include", nargs="+", required=True)
    parser.add_argument("--embed", required=True)
    parser.add_argument("--definitions", required=True)
    parser.add_argument("plugin", type=lambda path: pathlib.Path(path).resolve())
    parser.add_argument("model")
    args = parser.parse_args()
    problems = []
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)

        def run(*command):
            return subprocess.run(
                command, capture_output=True, text=True, check=False, cwd=folder, timeout=500
            )

        def compile_source(source, name):
            paths = [f"-I{path}" for path in args.include]
            done = run(args.cxx, "-std=c++20", "-O0", *paths, "-c", source, "-o", name)
            if done.returncode != 0:
                sys.exit(f"{source}: exit code {done.returncode}\n{done.stderr}")

        compile_source(args.embed, "embed.o")
        compile_source(args.definitions, "definitions.o")
        # What another source with the same line is compiled to.
        shutil.copy(folder / "definitions.o", folder / "other.o")

        none = run(args.cxx, "embed.o", "-o", "none")
        check(problems, none.returncode != 0 and SENTENCE.search(none.stderr), "no source", none)

        two = run(args.cxx, "embed.o", "definitions.o", "other.o", "-o", "two")
        twice = [line for line in two.stderr.splitlines() if "multiple definition" in line or "duplicate" in line]
        check(problems, two.returncode != 0 and any(map(SENTENCE.search, twice)), "two sources", two)

        one = run(args.cxx, "embed.o", "definitions.o", "-ldl", "-pthread", "-o", "one")
        check(problems, one.returncode == 0, "one source", one)
        if one.returncode == 0:
            ran = run(folder / "one", args.plugin, args.model)
            check(problems, ran.returncode == 0 and ran.stdout == EXPECTED, "the program", ran)
    for problem in problems:
        print(f"not ok: {problem}")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
