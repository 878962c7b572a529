# SPDX-License-Identifier: MIT
"""Compiles each wrong backend of compile_fail/: it must give exactly one error, with the text that
its `// expect:` line names. A second error would hide the first from the author.
"""

import argparse
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys
import tempfile

FLAGS = ["-std=c++20", "-Wall", "-Wextra", "-Werror"]
INCLUDE = re.compile(r"^#include <(tenon/(?:tenon|aoti?)\.hpp)>$", re.M)
ERROR = re.compile(r"^.*?: (?:fatal )?error: .*$", re.M)


def precompile(args, folder, header):
    """The header, and those that it is used with, compiled once for all sources."""
    first = folder / header.replace("/", "_")
    first.write_text(f"#include <{header}>\n#include <tenon/tenon.hpp>\n")
    subprocess.run(
        [args.cxx, *FLAGS, f"-I{args.include}", "-x", "c++-header", first, "-o", f"{first}.gch"],
        check=True,
    )
    return first


def judge(args, source, precompiled):
    """A sentence about what is wrong, or nothing."""
    text = source.read_text()
    expected = re.findall(r"^// expect: (.+)$", text, re.M)
    if len(expected) != 1:
        return f"{source.name}: expected one line `// expect: TEXT`, found {len(expected)}"
    includes = set(INCLUDE.findall(text))
    if not includes:
        return f"{source.name}: expected an include of {' or '.join(precompiled)}"
    first = ["-include", precompiled[min(includes)]]  # aot.hpp and aoti.hpp bring more than tenon.hpp.
    if re.search(r"^#define.*\n(?:.*\n)*#include", text, re.M):
        first = []  # What is defined before a header is meant for it.
    done = subprocess.run(
        [args.cxx, *FLAGS, "-fsyntax-only", f"-I{args.include}", *first, source],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "LC_ALL": "C"},
    )
    errors = ERROR.findall(done.stderr)
    if done.returncode != 0 and len(errors) == 1 and expected[0] in errors[0]:
        return None
    return (
        f"{source.name} with {args.cxx}: expected one error with `{expected[0]}`, "
        f"found {len(errors)}:\n" + "\n".join(errors)
    )


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--include", type=pathlib.Path, required=True)
    parser.add_argument("--cxx", required=True)
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("folder", type=pathlib.Path)
    args = parser.parse_args()
    every = 1 if os.environ.get("TENON_ALL_HEADERS") else args.every
    sources = sorted(args.folder.glob("*.cpp"))[::every]
    if not sources:
        sys.exit(f"no sources in {args.folder}")
    pool = concurrent.futures.ThreadPoolExecutor(min(os.cpu_count() or 1, 8))
    with tempfile.TemporaryDirectory() as folder, pool:
        headers = ["tenon/tenon.hpp", "tenon/aot.hpp", "tenon/aoti.hpp"]
        made = pool.map(lambda header: precompile(args, pathlib.Path(folder), header), headers)
        precompiled = dict(zip(headers, made))
        outcomes = pool.map(lambda source: judge(args, source, precompiled), sources)
        problems = [problem for problem in outcomes if problem]
    for problem in problems:
        print(f"not ok: {problem}")
    print(f"{len(sources)} wrong backends, {len(problems)} problems")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
