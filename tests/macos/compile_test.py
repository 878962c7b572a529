# SPDX-License-Identifier: MIT
"""Builds the Metal plugin for macOS with Meson, wherever this runs, and looks at what comes out.

The compiler is `ziglang` and the headers are Apple's metal-cpp out of the macOS wheel of
`mlx-metal`, both from PyPI, kept in the build directory. zig brings the headers and the
symbols of macOS' C library; what is declared and linked of the rest is written by hand here
(system, frameworks). Nothing of it runs: this shows that Meson's files configure a plugin for a Mac,
that every source compiles and links for one, and what the library exports. Then, on x86-64, the
plugin's use of metal-cpp runs here, on classes of our own (objective_c.cpp) in place of Metal's.
Exits 77, with a line that says why, where the packages cannot be had.
"""

import argparse
import os
import pathlib
import shutil
import struct
import subprocess
import sys
import tempfile
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
ZIG = "ziglang==0.17.1"
METAL_CPP = "mlx-metal==0.32.4"
PLUGIN = "reference_backends/metal_aoti/metal_aoti.dylib"
MH_MAGIC_64, CPU_TYPE_ARM64, MH_DYLIB = 0xFEEDFACF, 0x0100000C, 6
LC_SYMTAB, LC_LOAD_DYLIB = 0x2, 0xC
N_STAB, N_PEXT, N_TYPE, N_EXT, N_WEAK_REF = 0xE0, 0x10, 0x0E, 0x01, 0x40
# What Metal is sent, by version of macOS: 14 has the architecture, 15 the modes of arithmetic. They
# are PyTorch's for the same source.
FAST_MATH_OFF = "setFastMathEnabled 0"
MESSAGES = {
    13: ["architecture ''", FAST_MATH_OFF],
    14: ["architecture 'applegpu_g14s'", FAST_MATH_OFF],
    15: ["architecture 'applegpu_g14s'", "setMathMode 0", "setMathFloatingPointFunctions 1"],
}
# Calls of every version: a queue with an event.
QUEUES = ["encodeWaitForEvent MTLSharedEvent 7", "encodeSignalEvent MTLSharedEvent 8", "commit",
          "waitUntilCompleted", "waitUntilSignaledValue 8", "waitUntilSignaledValue 8",
          "setSignaledValue 9"]
# Options that keep away what the plugin does not need.
OPTIONS = ["-Dtests=disabled", "-Dprograms=disabled", "-Dexamples=disabled", "-Dcpu_aoti=disabled", "-Dcuda=disabled",
           "-Dbenchmarks=disabled", "-Dmetal_aoti=enabled", "-Dwerror=true", "-Ddebug=false",
           "-Doptimization=1", "-Dunity=on", "-Dunity_size=100"]


def skip(why: str) -> None:
    print(f"skipped: {why}")
    sys.exit(77)


def pip(*arguments: str) -> None:
    """Runs pip; where it fails the packages cannot be had."""
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "-q", *arguments]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    except subprocess.TimeoutExpired:
        skip("PyPI does not answer")
    if done.returncode != 0:
        lines = done.stderr.strip().splitlines() or ["no reason given"]
        skip(f"pip {arguments[0]}: {lines[-1]}")


def fetch(cache: pathlib.Path) -> None:
    """Fills the cache, whole or not at all."""
    if cache.exists():
        return
    cache.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cache.parent) as name:
        folder = pathlib.Path(name) / "cache"
        pip("install", "--no-deps", "--target", str(folder / "zig"), ZIG)
        wheels = folder / "wheels"
        pip("download", "--no-deps", "--only-binary=:all:", "--platform", "macosx_15_0_arm64",
            "--dest", str(wheels), METAL_CPP)
        with zipfile.ZipFile(next(wheels.glob("*.whl"))) as wheel:
            names = [name for name in wheel.namelist() if "/metal_cpp/" in name]
            wheel.extractall(folder / "wheel", names)
        shutil.rmtree(wheels)
        folder.rename(cache)


def cross_file(folder: pathlib.Path) -> str:
    """The cross file for a Mac. Libraries of the host program are found by name only: a plugin needs
    none of them."""
    packages = folder / "packages"
    packages.mkdir(exist_ok=True)
    for name in ("fmt", "flatbuffers", "nlohmann_json"):
        text = f"Name: {name}\nDescription: not used by plugins\nVersion: 99\n"
        (packages / f"{name}.pc").write_text(text, encoding="utf-8")
    compiler = [sys.executable, str(HERE / "compiler.py")]
    link = [f"-F{HERE / 'frameworks'}"]
    return f"""# With {OPTIONS}
[binaries]
c = {compiler + ['cc']}
cpp = {compiler + ['c++']}
ar = {[sys.executable, '-m', 'ziglang', 'ar']}
strip = 'true'
pkgconfig = 'pkg-config'
[properties]
pkg_config_libdir = '{packages}'
[built-in options]
cpp_args = {['-isystem', str(HERE / 'system'), '-fblocks']}
c_link_args = {link}
cpp_link_args = {link}
[host_machine]
system = 'darwin'
cpu_family = 'aarch64'
cpu = 'aarch64'
endian = 'little'
"""


def run(command: list[str], environment: dict[str, str]) -> None:
    """Runs a command and ends the test with what it said when it fails."""
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        print(done.stdout[-8000:], done.stderr[-8000:], sep="\n")
        sys.exit(f"not ok: {' '.join(command[:3])} ended with {done.returncode}")


class Library:
    """The symbols of a Mach-O library, and the libraries that it needs."""

    def __init__(self, data: bytes) -> None:
        self.exported: list[str] = []
        self.unbound: list[str] = []  # Not promised by any library it was linked with.
        self.libraries: list[str] = []
        head = struct.unpack_from("<5I", data)
        if (head[0], head[1], head[3]) != (MH_MAGIC_64, CPU_TYPE_ARM64, MH_DYLIB):
            sys.exit(f"not ok: expected a Mach-O library for arm64, found {head}")
        place = 32
        for _ in range(head[4]):
            command, size = struct.unpack_from("<2I", data, place)
            if command & 0x7FFFFFFF in (LC_LOAD_DYLIB, 0x18):
                start = place + struct.unpack_from("<I", data, place + 8)[0]
                self.libraries.append(data[start:place + size].split(b"\0")[0].decode())
            if command == LC_SYMTAB:
                self.read_symbols(data, *struct.unpack_from("<3I", data, place + 8))
            place += size

    def read_symbols(self, data: bytes, offset: int, count: int, names: int) -> None:
        """Fills `exported` and `unbound`."""
        for i in range(count):
            text, kind, _, description, _ = struct.unpack_from("<IBBHQ", data, offset + 16 * i)
            start = names + text
            name = data[start:data.index(b"\0", start)].decode()
            if kind & N_STAB or not kind & N_EXT:
                continue
            if kind & N_TYPE:
                if not kind & N_PEXT:
                    self.exported.append(name)
            elif description >> 8 in (0, 0xFE, 0xFF) and not description & N_WEAK_REF:
                self.unbound.append(name)


def is_of_zig(name: str) -> bool:
    """What zig's linker shows of itself, and C++'s operators new and delete, which are part of
    zig's library and of the system's on a Mac."""
    return name.startswith(("__Zn", "__Zd")) or name in ("__mh_dylib_header", "___dso_handle")


def check(library: Library, names: set[str]) -> list[str]:
    """What is wrong with a plugin."""
    out = []
    missing = sorted(names - set(library.exported))
    if missing:
        out.append(f"not exported: {', '.join(missing)}")
    more = sorted(each for each in library.exported if each not in names and not is_of_zig(each))
    if more:
        out.append(f"{len(more)} symbols too many are exported, as {', '.join(more[:5])}")
    if library.unbound:
        out.append(f"no library provides {', '.join(sorted(library.unbound)[:5])}")
    for needed in ("Foundation", "Metal"):
        if not any(each.endswith(f"/{needed}") for each in library.libraries):
            out.append(f"not linked with {needed}")
    return out


def check_messages(clang: str, source: pathlib.Path, headers: pathlib.Path,
                   folder: pathlib.Path) -> list[str]:
    """What is wrong with what the plugin sends to Metal."""
    plugin = source / "reference_backends/metal_aoti"
    program = folder / "device_test"
    files = [plugin / "device/metal_cpp.cpp", plugin / "device/metal_cpp_device.cpp",
             HERE / "objective_c.cpp", HERE / "device_test.cpp"]
    # metal-cpp gets math.h and stddef.h from headers of macOS. Sections, because it has functions
    # that call what is not here.
    run([clang, "-std=c++20", "-O2", "-fblocks", "-w", "-include", "math.h", "-include", "stddef.h",
         "-fno-delete-null-pointer-checks", "-DMETALCPP_SYMBOL_VISIBILITY_HIDDEN",
         "-ffunction-sections", "-Wl,--gc-sections", f"-I{plugin}", f"-I{source / 'include'}",
         f"-I{HERE}", "-isystem", str(HERE / "linux"), "-isystem", str(HERE / "system"), "-isystem",
         str(headers), *map(str, files), "-ldl", "-o", str(program)], dict(os.environ))
    out = []
    for version, first in MESSAGES.items():
        expected = first + QUEUES
        done = subprocess.run([program, str(version)], capture_output=True, text=True, check=False)
        if done.returncode != 0 or done.stdout.splitlines() != expected:
            out.append(f"macOS {version}: expected {expected}, found {done.stdout.splitlines()}, "
                       f"status {done.returncode} {done.stderr.strip()}")
    return out


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cache", type=pathlib.Path, required=True)
    parser.add_argument("--source", type=pathlib.Path, required=True)
    parser.add_argument("--meson", required=True)
    parser.add_argument("--facts", required=True, help="plugin_facts.cpp")
    parser.add_argument("--clang", help="to run the plugin's use of metal-cpp here")
    options = parser.parse_args()
    fetch(options.cache)
    headers = next(options.cache.glob("wheel/**/metal_cpp"))
    environment = {**os.environ, "PYTHONPATH": str(options.cache / "zig"),
                   "ZIG_GLOBAL_CACHE_DIR": str(options.cache / "compiled")}
    for name in ("CC", "CXX", "CFLAGS", "CXXFLAGS", "LDFLAGS"):
        environment.pop(name, None)
    build = options.cache / "build"
    cross, text = options.cache / "macos.ini", cross_file(options.cache)
    if not (cross.exists() and cross.read_text(encoding="utf-8") == text
            and (build / "build.ninja").exists()):
        shutil.rmtree(build, ignore_errors=True)
        cross.write_text(text, encoding="utf-8")
        run([options.meson, "setup", "--cross-file", str(cross), str(build), str(options.source),
             f"-Dmetal_cpp={headers}", *OPTIONS], environment)
        print("ok: Meson configures the plugin for macOS")
    run([options.meson, "compile", "-C", str(build), "metal_aoti"], environment)
    print("ok: it compiles and links")
    library = build / PLUGIN
    facts = subprocess.run([options.facts, str(library)], capture_output=True, text=True, check=False)
    lines = [line.split() for line in facts.stdout.splitlines()]
    # Of the functions of C that models are given on Linux, none is needed on a Mac.
    names = {f"_{name}" for kind, name in lines
             if kind == "function" and name.startswith("aoti_torch_")} | {"_tenon_plugin_v1"}
    problems = check(Library(library.read_bytes()), names)
    if ["backend", "MetalBackend"] not in lines:
        problems.append(f"no MetalBackend can be read from it: {facts.stderr or facts.stdout}")
    if options.clang:
        problems += check_messages(options.clang, options.source, headers, options.cache)
    for each in problems:
        print(f"not ok: {each}")
    if not problems:
        print(f"ok: it exports tenon_plugin_v1 and the {len(names) - 1} functions of models")
        if options.clang:
            print("ok: it sends Metal only what each version of macOS knows")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
