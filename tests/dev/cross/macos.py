# SPDX-License-Identifier: MIT
"""macOS on arm64, with zig: what it links is read. Nothing of it runs: that takes a Mac."""

import os
import pathlib
import shutil

from dev import packages
from dev.cross import headers, macos_checks
from dev.cross.libzip import libzip
from dev.cross.roots import zig_python
from dev.cross.target import CONFORMANCE, NATIVE

COMPILER = "tests/macos/compiler.py"
PLUGINS = "build/cross/macos-plugins"
INSPECT = "examples/programs/tenon-inspect/tenon-inspect"
PROGRAMS = [f"examples/programs/tenon-{name}/tenon-{name}" for name in ("run", "list", "inspect", "doctor", "compile", "new")]


def macos(target):
    """The host, its programs and the example plugins, read by this machine's tenon-inspect."""
    part = target.part
    packages.need(part, {"llvm-ar": "llvm"})
    target.compile_in(NATIVE, INSPECT)
    python = zig_python(part)
    where = "import pathlib, ziglang; print(pathlib.Path(ziglang.__file__).parent.parent)"
    part.variables.update(PYTHONPATH=part.output([python, "-c", where]),
                          ZIG_GLOBAL_CACHE_DIR=os.path.abspath("build/cross/macos-cache"))
    # Not by Meson, which makes bundles of plugins: zig makes none.
    os.makedirs(PLUGINS, exist_ok=True)
    for plugin in macos_checks.BACKENDS:
        part.run(["python3", COMPILER, "c++", "-std=c++20", "-shared", "-Iinclude",
                  "-Wl,-exported_symbols_list,include/tenon/abi/tenon-plugin.exp", f"examples/backends/{plugin}/{plugin}.cpp",
                  "-o", f"{PLUGINS}/{plugin}.dylib"])
    described = pathlib.Path(f"{target.build}-packages")
    described.mkdir(parents=True, exist_ok=True)
    shutil.copy(libzip(part, "macos", "Linux", [python, os.path.abspath(COMPILER), "cc"]) / "libzip.pc", described)
    headers.cross_build(part, target.build, ["macos"], [CONFORMANCE, *PROGRAMS], tests=False)
    macos_checks.check_all(target, PLUGINS, f"{NATIVE}/{INSPECT}")
