# SPDX-License-Identifier: MIT
"""How the exporters here have Inductor compile a model's library: for which processors, and small.

Inductor compiles for the processor that it runs on (`-march=native`), and adds options for the widest vectors that it
finds there. Such a library ends the process (SIGILL) on a processor that lacks any of them. The options below prevent
both; they are Inductor's own, for `torch._inductor.config.patch`, `aoti_compile_and_package` and exporters.
"""

import argparse
from pathlib import Path
from typing import Any

# Levels of the x86-64 psABI, and the width of their vectors in bits, as Inductor calls it (`simdlen`). 1 is the width of
# none that it knows: it then writes scalar code, and adds no options.
LEVELS = {"x86-64": 1, "x86-64-v3": 256, "x86-64-v4": 512}


def for_processors(level: str) -> dict[str, Any]:
    """Options for libraries that run on all processors of a level, and on those above it."""
    return {"cpp.march": level, "cpp.simdlen": LEVELS[level]}


def for_packages(level: str) -> dict[str, Any]:
    """Options for packages without libtorch, whose weights are files of their own and whose code has one thread."""
    return {
        "aot_inductor.link_libtorch": False,
        "aot_inductor.package_constants_in_so": False,
        "aot_inductor.package_constants_on_disk_format": "binary_blob",
        "cpp.threads": 1,
        "cpp.vec_isa_ok": True,
    } | for_processors(level)


def add_level(parser: argparse.ArgumentParser, initial: str) -> None:
    """The option --level."""
    parser.add_argument("--level", choices=LEVELS, default=initial,
                        help=f"processors that can run the library ({initial}); committed ones are x86-64-v3 or lower")


def write_small_compiler(folder: Path, gcc: str = "/usr/bin/g++", strip: bool = True) -> Path:
    """A compiler that makes small libraries: without unused functions, and the names of the rest. Not for precompiled
    headers."""
    exports, wrapper = folder / "exports", folder / "g++"
    exports.write_text("{ global: AOTInductor*; local: *; };\n", encoding="utf-8")
    wrapper.write_text(f'#!/bin/sh\nexec {gcc} "$@" -Os -g0 -ffunction-sections -fdata-sections -Wl,--gc-sections '
                       f"{'-Wl,-s ' if strip else ''}-Wl,--version-script={exports}\n", encoding="utf-8")
    wrapper.chmod(0o755)
    return wrapper
