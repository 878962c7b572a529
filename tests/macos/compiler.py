# SPDX-License-Identifier: MIT
"""Stands in for Apple's compiler: runs zig's, and answers Meson's questions as Apple's linker would.

Meson recognises linkers by their output and does not know zig's for macOS. zig makes no bundles: a
plugin of models has to be a dynamic library, in which dyld looks names up for them.
"""

import os
import sys

TARGET = "aarch64-macos.13.0"


def main() -> int:
    """Runs `zig cc` or `zig c++`, whichever is the first argument."""
    kind, *arguments = sys.argv[1:]
    if "-Wl,--version" in arguments:
        print("ld: unknown option: --version", file=sys.stderr)
        return 1
    if "-Wl,-v" in arguments:
        print("@(#)PROGRAM:ld  PROJECT:ld64-0 (zig)", file=sys.stderr)
        return 1
    if "-bundle" in arguments:
        print("expected a dynamic library, found a bundle: no model finds a name in one",
              file=sys.stderr)
        return 1
    command = [sys.executable, "-m", "ziglang", kind, "-target", TARGET, *arguments]
    os.execv(sys.executable, command)


if __name__ == "__main__":
    sys.exit(main())
