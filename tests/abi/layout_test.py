# SPDX-License-Identifier: MIT
"""The compilers of each target place the members of structs where tests/abi/checker/layout.py says, as C11 and as C++20.

    layout_test.py INCLUDE [TARGET:COMPILER...]

A source of assertions is made from the headers and compiled, without a C library. TARGET is one of layout.py; COMPILER
is a command, with its options. `clang` adds its targets, where it is found.
"""

import pathlib
import shlex
import subprocess
import sys
import tempfile

from checker import layout, page

# By what clang calls it. macOS and Windows on arm64 have the layout of their systems on x86-64.
CLANG = {
    "x86_64-linux-gnu": "LP64",
    "aarch64-linux-gnu": "LP64",
    "i386-linux-gnu": "i386",
    "arm-linux-gnueabihf": "armv7",
    "x86_64-w64-mingw32": "LLP64",
    "x86_64-pc-windows-msvc": "LLP64",
    "aarch64-pc-windows-msvc": "LLP64",
    "i686-pc-windows-msvc": "armv7",
    "x86_64-apple-macos": "LP64",
    "arm64-apple-macos": "LP64",
    "aarch64-linux-android": "LP64",
    "armv7-linux-androideabi": "armv7",
    "wasm32": "armv7",
}
LANGUAGES = ("c", "-std=c11"), ("c++", "-std=c++20", "-Wno-invalid-offsetof")
LEAST = 900  # Assertions of one target; there are more.


def compilers(words):
    """(target, command)."""
    for word in words:
        target, _, command = word.partition(":")
        if target != "clang":
            yield layout.BY_NAME[target], [*shlex.split(command), "-fsyntax-only"]
            continue
        for triple, name in CLANG.items():
            yield layout.BY_NAME[name], [*shlex.split(command), "-target", triple, "-ffreestanding", "-nostdlibinc",
                                         "-fsyntax-only"]


def main():
    include = pathlib.Path(sys.argv[1])
    failed = count = 0
    with tempfile.TemporaryDirectory() as folder:
        for target, command in compilers(sys.argv[2:]):
            source = pathlib.Path(folder, f"{target.name}.h")
            if not source.exists():
                source.write_text(page.assertions(include, target))
                if source.read_text().count("\nLAYOUT_ASSERT(") < LEAST:
                    sys.exit(f"not ok: expected {LEAST} assertions of {target.name} or more")
            for language, *options in LANGUAGES:
                words = [*command, f"-I{include}", "-x", language, *options, source]
                done = subprocess.run(words, capture_output=True, text=True, check=False)
                count += 1
                if done.returncode != 0:
                    failed += 1
                    print(f"not ok: {target.name}: {shlex.join(map(str, words))}\n{done.stderr[:3000]}")
    print(f"{count} compilations, {failed} failed")
    sys.exit(1 if failed or not count else 0)


if __name__ == "__main__":
    main()
