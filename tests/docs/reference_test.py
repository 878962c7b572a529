#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes the reference of the public headers by Doxygen, into a folder of the build, without a
warning. Ends with 77, which Meson counts as skipped, where there is no Doxygen.

usage: reference_test.py ROOT OUTPUT VERSION
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

SKIPPED = 77

# Entries that a reader looks up first.
EXPECTED = {
    "index.html": "Reference of the headers",
    "classtenon_1_1Backend.html": "runs_embedded_code",
    "structtenon__backend__api.html": "<li>TN-EXE-1: ",
    "classtenon_1_1host_1_1Method.html": "create_session",
    "classtenon_1_1ResultState.html": "moved out",
}

# A wrong comment, which has to be found.
WRONG = """
/// Adds. @param gone is no parameter.
int add(int a);
"""


def doxygen(root, output, version, settings=""):
    """The text of a failure, or None."""
    shutil.rmtree(output, ignore_errors=True)
    output.mkdir(parents=True)
    done = subprocess.run(
        ["doxygen", "-"],
        input=(root / "docs/site/Doxyfile").read_text() + settings,
        env=dict(os.environ, TENON_SOURCE=str(root), TENON_OUTPUT=str(output), TENON_VERSION=version),
        text=True, capture_output=True, check=False,
    )
    return f"doxygen:\n{done.stdout}{done.stderr}" if done.returncode != 0 else None


def problem(root, output, version):
    if failure := doxygen(root, output, version):
        return failure
    for name, text in EXPECTED.items():
        path = output / "html" / name
        if not path.is_file():
            return f"the reference has no {name}"
        if text not in path.read_text(encoding="utf-8"):
            return f"{path} says nothing of {text!r}"
    if hidden := [path.name for path in (output / "html").glob("*1detail*")]:
        return f"namespaces `detail` are shown: {hidden[:3]}"
    return None


def main():
    root, output, version = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), sys.argv[3]
    if not shutil.which("doxygen"):
        print("skipped: there is no doxygen (Debian: apt-get install doxygen)")
        sys.exit(SKIPPED)
    with tempfile.TemporaryDirectory(prefix="tenon-reference-") as folder:
        header = pathlib.Path(folder) / "wrong.hpp"
        header.write_text(WRONG)
        failure = doxygen(root, pathlib.Path(folder) / "out", version, f"INPUT = {header}\n")
        if not failure or "gone" not in failure:
            sys.exit(f"a wrong comment was not noticed: {failure}")
    if failure := problem(root, output, version):
        sys.exit(failure)
    print(f"{len(list((output / 'html').glob('*.html')))} pages in {output / 'html'}")


if __name__ == "__main__":
    main()
