# SPDX-License-Identifier: MIT
"""Windows on x86-64: the host, its programs, the kit and the example plugins by mingw-w64, run under Wine."""

import os
import pathlib
import shutil

from conformance.zoo import zoo_list
from dev import packages
from dev.cross import headers, msvc, windows_checks
from dev.cross.libzip import libzip
from dev.cross.roots import zig_python
from dev.cross.target import CONFORMANCE, NATIVE

WINE = os.environ.get("WINE", "/usr/lib/wine/wine64")
GCC, GXX = "x86_64-w64-mingw32-gcc-posix", "x86_64-w64-mingw32-g++-posix"
PACKAGES = {GXX: "g++-mingw-w64-x86-64-posix", WINE: "wine64", "ld.lld": "lld", "llvm-ar": "llvm"}
LINK = ["-fno-use-linker-plugin", "-wrapper", "tests/cross/link_with_lld"]
STRICT = ["-std=c++20", "-Wall", "-Wextra", "-Werror", "-Iinclude"]
STATIC_LIBRARY = ["-include", "tenon/backend/static_libstdcxx.hpp"]
PLUGINS = ["examples/backends/hello.dll", "examples/backends/demo_backend.dll", "examples/backends/graph_backend/graph_backend.dll"]
KERNELS = ["examples/backends/arithmetic_kernels.dll", "examples/backends/mlp_kernels.dll"]
PROGRAMS = [f"examples/programs/tenon-{name}/tenon-{name}.exe" for name in ("run", "list", "inspect", "doctor", "compile", "new")]


def windows_quick(target):
    packages.need(target.part, PACKAGES)
    headers.cross_build(target.part, target.build, ["windows", "windows-clang"],
                        [*PLUGINS, PROGRAMS[0], f"{CONFORMANCE}.exe", *windows_checks.QUICK_UNITS], tests=True)
    windows_checks.check_all(target, WINE, quick=True)


def _programs(target):
    """What only these checks need, in the build folder."""
    part, build = target.part, target.build
    for name in ("unelevated", "load_and_unload"):
        part.run([GXX, *STRICT, f"tests/cross/programs/{name}.cpp", "-static", *LINK, "-o", f"{build}/{name}.exe",
                  f"{build}/include/tenon/host/libtenon-host.a", "-lpsapi"])
    part.run([GXX, *STRICT, "-shared", "-static", *STATIC_LIBRARY, "tests/unit/programs/compile/two_compilers.cpp", *LINK,
              "-o", f"{build}/two_compilers.dll"])
    # A plugin of another compiler, with the same C++ library in it.
    library = os.path.dirname(part.output([GXX, "-print-libgcc-file-name"])) + "/include/c++"
    part.run(["clang++", "--target=x86_64-w64-windows-gnu", "-std=c++20", "-nostdinc++", "-isystem", library,
              "-isystem", f"{library}/x86_64-w64-mingw32", "-Iinclude", "-c", "examples/backends/hello/hello.cpp", *STATIC_LIBRARY,
              "-o", f"{build}/hello_clang.o"])
    part.run([GXX, "-shared", "-static", *LINK, f"{build}/hello_clang.o", "-o", f"{build}/hello_clang.dll"])


def _zoo(target):
    """Plugins of the zoo that ask no POSIX; `pause` is the only exception."""
    zoo, built = pathlib.Path("tests/conformance/zoo"), pathlib.Path(target.build, "zoo")
    built.mkdir(exist_ok=True)
    sources = zoo_list.zoo(zoo, "windows")
    shared = [path for folder in (zoo.glob("*.h"), pathlib.Path("include").rglob("*")) for path in folder if path.is_file()]
    newest = max(path.stat().st_mtime for path in shared)
    for name in windows_checks.ZOO:
        source, library = zoo / sources[name][1], built / f"{name}.dll"
        if not library.exists() or library.stat().st_mtime < max(newest, source.stat().st_mtime):
            target.part.run([GCC, "-std=c11", "-O1", "-shared", "-static", "-Dpause()=_sleep(1000)", f"-DZOO_{name}",
                             "-Iinclude", source, "-o", library])


def windows(target):
    """All that runs there; headers by Microsoft's rules."""
    part = target.part
    packages.need(part, PACKAGES)
    python = zig_python(part)
    counted = target.check("headers for authors, and plugins, by the rules of Microsoft's compiler",
                           lambda: msvc.check(part, python))
    target.detail(counted)
    target.check_layout("LLP64", GCC, GXX)
    # What is compared with what it makes on Linux, and programs for the zoo.
    target.compile_in(NATIVE, "examples/backends/hello.so", "examples/programs/tenon-inspect/tenon-inspect", "examples/programs/tenon-new/tenon-new",
                      "tests/conformance/zoo/zoo.json")
    described = pathlib.Path(f"{target.build}-packages")
    described.mkdir(parents=True, exist_ok=True)
    shutil.copy(libzip(part, "windows", "Windows", [GCC]) / "libzip.pc", described)
    headers.cross_build(part, target.build, ["windows"],
                        [*windows_checks.UNITS, *windows_checks.C_INTERFACE, *PLUGINS, *KERNELS, *PROGRAMS,
                         f"{CONFORMANCE}.exe"], tests=True)
    _programs(target)
    _zoo(target)
    windows_checks.check_all(target, WINE)
