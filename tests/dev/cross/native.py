# SPDX-License-Identifier: MIT
"""x86-64 Linux by other compilers, C++ libraries and C libraries, run here; and plugins of other platforms."""

import os
import pathlib
import re
import shutil

from dev import packages
from dev.cross import headers
from dev.cross.roots import zig_python
from dev.cross.target import CASES, FIXTURES, NATIVE, PLUGINS, PROGRAMS, TENON_RUN, write_script
from dev.part import Failed

COMPILERS = "build/cross/compilers"
WINE = "/usr/lib/wine/wine64"


def _configure(target, folder, cc, cxx):
    """What needs libraries that were built with another C++ library is left out."""
    described = os.path.abspath("build/cross/header-packages")
    headers.describe(target.part, described)
    target.configure(["--wrap-mode=nofallback", "-Dtests=disabled", "-Dconformance=enabled", "-Dpt2=disabled",
                      "-Dcpu_aoti=disabled", "-Dcuda=disabled"], folder=folder, CC=cc, CXX=cxx,
                     PKG_CONFIG_LIBDIR=described)


def _configure_zig(target, folder, machine, *more):
    """By zig, without the sanitizer that it switches on."""
    zig = f"{os.path.abspath('tests/cross/zig')} {zig_python(target.part)}"
    words = " ".join(["-fno-sanitize=all", "-target", machine, *more])
    _configure(target, folder, f"{zig} cc {words}", f"{zig} c++ {words}")


def _unloading(target):
    """What the loader does not do, the host reports; the run itself succeeds."""
    text = target.part.output([f"{target.build}/examples/programs/tenon-doctor/tenon-doctor", f"{FIXTURES}/demo_sin_seg/model.pte",
                               "--plugin", f"{target.build}/examples/backends/demo_backend.so"])
    if not re.search(r"(?m)^unloads: no \(libraries stay in memory", text):
        raise Failed(text)


def _bare_root(target):
    """A container's root: the C library, a program, a plugin. Its loader finds no descriptor by name."""
    root = pathlib.Path(target.build, "root")
    shutil.rmtree(root, ignore_errors=True)
    (root / "lib").mkdir(parents=True)
    shutil.copy("/lib/ld-musl-x86_64.so.1", root / "lib")
    inputs = [f"{CASES}/hello/add/{name}" for name in ("model.pte", "a0.npy", "b0.npy", "expected0.npy")]
    for file in (f"{target.build}/{TENON_RUN}", f"{target.build}/examples/backends/hello.so", *inputs):
        shutil.copy(file, root)
    target.part.run(["unshare", "--map-root-user", "chroot", root, "/tenon-run", "model.pte", "--plugin", "hello.so",
                     "--input", "a0.npy", "--input", "b0.npy", "--expect", "expected0.npy"])


def musl(target):
    """zig's clang and C++ library."""
    packages.need(target.part, {"/lib/ld-musl-x86_64.so.1": "musl"})
    # By default zig links programs for musl statically; those have no loader.
    _configure_zig(target, target.build, "x86_64-linux-musl", "-dynamic")
    target.compile(*PROGRAMS)
    target.check_programs()
    target.check("libraries stay in memory, and tenon-doctor reports it", lambda: _unloading(target))
    target.check("in a root with nothing but musl, and without /proc", lambda: _bare_root(target))
    target.check_kit("hello", "demo_backend", "arithmetic_kernels", "graph_backend")
    target.not_run("unit tests: Debian's Catch2 is built with another C++ library")
    target.not_run("CpuAotiBackend, archives of PyTorch (oneDNN and libzip are built for glibc), the Python package")


def _needs_at_most(target, prefix, version, file):
    """Of the versions of symbols that a file asks for. None is an error."""
    def number(text):
        return tuple(map(int, text.split(".")))

    found = re.findall(rf"\(?{prefix}_([0-9]+(?:\.[0-9]+)*)\)?", target.part.output(["objdump", "-T", file]))
    if not found:
        raise Failed(f"{file} asks for no version of {prefix}")
    newest = max(found, key=number)
    if number(newest) > number(version):
        raise Failed(f"the newest is {newest}")


def compilers(target):
    """Plugins of four compilers and C++ libraries in hosts of two; only C types cross the boundary."""
    packages.need(target.part, {
        "clang++-19": "clang-19", "/usr/lib/llvm-19/include/c++/v1/vector": "libc++-19-dev",
        "/usr/lib/llvm-19/lib/libc++abi.so": "libc++abi-19-dev"})
    libcxx, libstdcxx, older = (f"{COMPILERS}/{name}" for name in ("libcxx", "libstdcxx", "glibc-2.28"))
    _configure(target, libcxx, "clang-19", "clang++-19 -stdlib=libc++")
    _configure(target, libstdcxx, "clang-19", "clang++-19")
    _configure_zig(target, older, "x86_64-linux-gnu.2.28")
    for folder in (NATIVE, libcxx):
        target.compile_in(folder, *PLUGINS, TENON_RUN)
    for folder in (libstdcxx, older):
        target.compile_in(folder, *PLUGINS)
    for plugin in PLUGINS:
        target.check(f"{os.path.basename(plugin)} needs no newer glibc than 2.28",
                     lambda file=f"{older}/{plugin}": _needs_at_most(target, "GLIBC", "2.28", file))
    for host in (NATIVE, libcxx):
        for plugins in (NATIVE, libcxx, libstdcxx, older):
            target.check_programs(host, plugins)


def _program_of(build, name):
    """The program of an example, which has another name on Windows; nothing if it is not built."""
    program = f"{build}/examples/programs/{name}/{name}"
    return next((path for path in (program, f"{program}.exe") if os.path.isfile(path)), None)


def _refuses(target, host, there, plugin):
    """A host, and the plugin of a folder: its own runs, another one is refused in a line."""
    add = f"{CASES}/hello/add"
    emulate = [f"{host}/emulate"] if os.access(f"{host}/emulate", os.X_OK) else []
    done = target.part.captured([*emulate, _program_of(host, "tenon-run"), f"{add}/model.pte", "--plugin", plugin,
                                 "--input", f"{add}/a0.npy", "--input", f"{add}/b0.npy",
                                 "--expect", f"{add}/expected0.npy"])
    pair = f"the host of {os.path.basename(host)}, the plugin of {os.path.basename(there)}"
    text = done.stdout.rstrip("\n")
    if host == there and done.returncode == 0:
        target.result(f"{pair}: runs", True)
    elif host != there and done.returncode == 3 and "\n" not in text:
        target.result(f"{pair}: {text.rpartition(os.path.basename(plugin) + ': ')[2]}", True)
    else:
        target.result(f"{pair}: exit {done.returncode}: {text}", False)


def check_refusals(target):
    """The plugin of each platform that is built, given to the hosts of all that run here."""
    hosts, plugins = [], []
    for name in ("native", "arm64", "armhf", "musl", "windows"):
        if _program_of(f"build/cross/{name}", "tenon-run"):
            hosts.append(f"build/cross/{name}")
        else:
            target.not_run(f"the host of {name} (not built)")
    for name, file in (*((name, "examples/backends/hello.so") for name in ("native", "arm64", "armhf", "musl")),
                       ("windows", "examples/backends/hello.dll"), ("macos-plugins", "hello.dylib")):
        folder = f"build/cross/{name}"
        if os.path.isfile(f"{folder}/{file}"):
            plugins.append((folder, f"{folder}/{file}"))
        else:
            target.not_run(f"the plugin of {name} (not built)")
    for host in hosts:
        for folder, plugin in plugins:
            _refuses(target, host, folder, plugin)


def refusals(target):
    """Of this machine's, built now, and of what other targets built."""
    target.compile_in(NATIVE, "examples/backends/hello.so", TENON_RUN)
    windows = os.path.abspath("build/cross/windows")
    prefix = {"WINEPREFIX": f"{windows}/wine", "WINEDEBUG": "-all"}
    if os.path.isdir(f"{windows}/examples"):
        # Wine with a folder of its own.
        write_script(f"{windows}/emulate", f'WINEPREFIX={windows}/wine WINEDEBUG=-all exec {WINE} "$@"')
        target.part.captured([WINE, "wineboot", "-i"], env=prefix)
    check_refusals(target)
    if os.path.isdir(f"{windows}/wine"):
        target.part.call([os.path.join(os.path.dirname(WINE), "wineserver"), "-k"], env=prefix)
