# SPDX-License-Identifier: MIT
"""Compiles each public header alone, included twice, as a user with strict warnings would.

`*.h` is compiled as C11 and as C++20, `*.hpp` as C++20. The list is the directory itself, without
those that the caller leaves out; or only those that it names, with flags for what they need. What an
author includes is also compiled without exceptions and RTTI. With TENON_ALL_HEADERS in the
environment only those are left out that --always-leave-out names.
"""

import argparse
import concurrent.futures
import os
import pathlib
import subprocess
import sys

WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow", "-Werror"]


def jobs(include, examples, left_out, kept, only):
    """(what it is, language, standard, further flags, source text)."""
    for header in sorted(include.rglob("*.h*")):
        name = header.relative_to(include).as_posix()
        if name not in kept and any(name.startswith(folder) for folder in left_out):
            continue
        if only and not name.startswith(only):
            continue
        twice = f'#include "{name}"\n#include "{name}"\n'
        if header.suffix == ".h":
            yield name, "c", "c11", [], twice + "typedef int not_empty;\n"
        yield name, "c++", "c++20", [], twice
    if only:
        return
    without = ["-fno-exceptions", "-fno-rtti"]
    for example in examples:
        text = f'#include "{example}"\n'
        yield f"{example.name} without exceptions and RTTI", "c++", "c++20", without, text
    for name in ["tenon/abi/tenon.h", "tenon/tenon.hpp", "tenon/aot.hpp"]:
        text = f'#include "{name}"\n'
        yield f"{name} without exceptions and RTTI", "c++", "c++20", without, text


def compile_one(args, job):
    name, language, standard, flags, text = job
    compiler = args.cc if language == "c" else args.cxx
    paths = [f"-I{args.include}"] + [f"-I{path}" for path in args.generated] + args.flag
    command = [compiler, f"-std={standard}", "-fsyntax-only", "-x", language, *WARNINGS, *flags]
    done = subprocess.run(
        [*command, *paths, "-"], input=text, capture_output=True, text=True, check=False
    )
    return f"{name} as {standard}", done.returncode, done.stderr


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--include", type=pathlib.Path, required=True)
    parser.add_argument("--generated", action="append", default=[])
    parser.add_argument("--example", action="append", type=pathlib.Path, default=[])
    parser.add_argument("--leave-out", nargs="*", default=[], help="how paths of headers begin")
    parser.add_argument("--keep", nargs="*", default=[], help="headers that are not left out")
    parser.add_argument("--always-leave-out", nargs="*", default=[], help="how paths of headers begin")
    parser.add_argument("--only", default="", help="how paths of headers begin")
    parser.add_argument("--flag", action="append", default=[], help="for the compiler")
    parser.add_argument("--cc", required=True)
    parser.add_argument("--cxx", required=True)
    args = parser.parse_args()
    left_out = args.always_leave_out
    left_out += [] if os.environ.get("TENON_ALL_HEADERS") else args.leave_out
    all_jobs = list(jobs(args.include, args.example, left_out, args.keep, args.only))
    if len(all_jobs) < (1 if args.only else 40):
        sys.exit(f"found only {len(all_jobs)} headers to compile under {args.include}")
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(min(os.cpu_count() or 1, 8)) as pool:
        for name, code, errors in pool.map(lambda job: compile_one(args, job), all_jobs):
            if code != 0 or errors:
                failed += 1
                print(f"not ok: {name} with {args.cxx}\n{errors}")
    print(f"{len(all_jobs)} compilations, {failed} failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
