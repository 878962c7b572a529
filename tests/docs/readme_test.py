#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The code in README.md is the hello backend that is built, of at most 40 lines, and README.md has at most 800 words."""

import pathlib
import re
import sys

MAX_LINES, MAX_WORDS = 40, 800

root = pathlib.Path(sys.argv[1])
page = (root / "README.md").read_text()
blocks = re.findall(r"```cpp\n(.*?)```", page, re.DOTALL)
hello = (root / "examples/backends/hello/hello.cpp").read_text()

if blocks != [hello]:
    sys.exit("README.md and hello.cpp differ:\n" + "\n---\n".join(blocks))
if len(hello.splitlines()) > MAX_LINES:
    sys.exit(f"hello.cpp has {len(hello.splitlines())} lines, expected at most {MAX_LINES}")
if len(page.split()) > MAX_WORDS:
    sys.exit(f"README.md has {len(page.split())} words, expected at most {MAX_WORDS}")
