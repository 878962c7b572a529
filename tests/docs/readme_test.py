#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The code in README.md is the code that is built: the hello backend, and the part of
examples/applications/embed/embed.cpp between its marks."""

import pathlib
import re
import sys
import textwrap

root = pathlib.Path(sys.argv[1])
blocks = re.findall(r"```cpp\n(.*?)```", (root / "README.md").read_text(), re.DOTALL)
hello = (root / "examples/backends/hello/hello.cpp").read_text()
embed = (root / "examples/applications/embed/embed.cpp").read_text().split("  // [readme]\n")[1]

expected = [hello, textwrap.dedent(embed)]
if blocks != expected:
    sys.exit("README.md and the examples differ:\n" + "\n---\n".join(blocks))
if len(hello.splitlines()) > 40:
    sys.exit(f"hello.cpp has {len(hello.splitlines())} lines, the promise is 40")
