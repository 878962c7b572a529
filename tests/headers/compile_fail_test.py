# SPDX-License-Identifier: MIT
"""Compiles the wrong backends of compile_fail/. Each is a case:

    // expect: what the message of the compiler contains,
    // over one line or several
    namespace name_of_the_case {
    ...

A case must give exactly one error, with that text: a second error would hide the first from the author. All
cases of a file are compiled at once. An error belongs to the case in which it is, or from which the compiler
says that it came to the error.
"""

import argparse
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from lint.problems import leave  # noqa: E402  pylint: disable=wrong-import-position

FLAGS = ["-std=c++20", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-ftemplate-backtrace-limit=0"]
# As many errors as there are; those in a macro are where the macro is used.
CLANG, GCC = ["-ferror-limit=0"], ["-ftrack-macro-expansion=0"]
CASE = re.compile(r"^// expect: (.+(?:\n// .+)*)\nnamespace (\w+) \{$", re.M)
ERROR = re.compile(r"^.*?: (?:fatal )?error: .*$")


def cases_of(text):
    """[(line, name, text that is expected)], in order."""
    return [
        (text.count("\n", 0, found.start()) + 1, found[2], found[1].replace("\n//", ""))
        for found in CASE.finditer(text)
    ]


def errors_of(output, source, is_clang):
    """[(line of the source, error)]. g++ says before the error from where it came, clang after it; neither repeats
    a place that is the same as for the error before."""
    place = re.compile(re.escape(str(source)) + r":(\d+):")
    errors = []
    line, comes_after = 0, False
    for text in output.splitlines():
        found = place.match(text)
        if found:
            line = int(found[1])
            if comes_after:
                errors[-1] = (line, errors[-1][1])
                comes_after = False
        if ERROR.match(text):
            errors.append((line, text))
            comes_after = is_clang and not found
    return errors


def judge(args, is_clang, source):
    """(Number of cases, sentences about what is wrong)."""
    text = source.read_text()
    cases = cases_of(text)
    if len(cases) != text.count("// expect:") or not cases:
        return 0, [f"{source.name}: expected a namespace after each `// expect: TEXT`"]
    done = subprocess.run(
        [args.cxx, *FLAGS, *(CLANG if is_clang else GCC), f"-I{args.include}", source],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "LC_ALL": "C"},
    )
    errors = {name: [] for _, name, _ in cases}
    problems = []
    for line, error in errors_of(done.stderr, source, is_clang):
        owner = [name for first, name, _ in cases if first <= line]
        if owner:
            errors[owner[-1]].append(error)
        else:
            problems.append(f"{source.name}: an error outside of all cases:\n{error}")
    for line, name, expected in cases:
        if len(errors[name]) != 1 or expected not in errors[name][0]:
            problems.append(
                f"{source.name}:{line}: {name} with {args.cxx}: expected one error with `{expected}`, "
                f"found {len(errors[name])}:\n" + "\n".join(errors[name])
            )
    return len(cases), problems


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--include", type=pathlib.Path, required=True)
    parser.add_argument("--cxx", required=True)
    parser.add_argument("folder", type=pathlib.Path)
    args = parser.parse_args()
    sources = sorted(args.folder.glob("*.cpp"))
    if not sources:
        sys.exit(f"no sources in {args.folder}")
    version = subprocess.run([args.cxx, "--version"], capture_output=True, text=True, check=True)
    is_clang = "clang" in version.stdout
    with concurrent.futures.ThreadPoolExecutor(min(os.cpu_count() or 1, 8)) as pool:
        outcomes = [*pool.map(lambda source: judge(args, is_clang, source), sources)]
    problems = [problem for _, found in outcomes for problem in found]
    leave(problems, f"{sum(number for number, _ in outcomes)} wrong backends, {len(problems)} problems")


if __name__ == "__main__":
    main()
