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

ERROR = re.compile(r"^.*?: (?:fatal )?error: .*$", re.M)


def judge(args, source):
    """A sentence about what is wrong, or nothing."""
    expected = re.findall(r"^// expect: (.+)$", source.read_text(), re.M)
    if len(expected) != 1:
        return f"{source.name}: expected one line `// expect: TEXT`, found {len(expected)}"
    command = [args.cxx, "-std=c++20", "-fsyntax-only", "-Wall", "-Wextra", "-Werror"]
    done = subprocess.run(
        [*command, f"-I{args.include}", source],
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
    parser.add_argument("folder", type=pathlib.Path)
    args = parser.parse_args()
    sources = sorted(args.folder.glob("*.cpp"))
    if not sources:
        sys.exit(f"no sources in {args.folder}")
    with concurrent.futures.ThreadPoolExecutor(min(os.cpu_count() or 1, 8)) as pool:
        problems = [problem for problem in pool.map(lambda s: judge(args, s), sources) if problem]
    for problem in problems:
        print(f"not ok: {problem}")
    print(f"{len(sources)} wrong backends, {len(problems)} problems")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
