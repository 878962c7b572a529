# SPDX-License-Identifier: MIT
"""Compiles the Metal plugin for macOS, wherever this runs, and looks at what comes out.

The compiler is `ziglang` and the headers are Apple's metal-cpp out of the macOS wheel of
`mlx-metal`, both from PyPI, kept in a folder of the build directory. Nothing is linked and nothing
runs: this shows that every source is valid for an Apple GPU's Mac, and no more. Exits 77, with a
line that says why, where the packages cannot be had.
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

ZIG = "ziglang==0.17.1"
METAL_CPP = "mlx-metal==0.32.4"
TARGET = "aarch64-macos.14.0"
MH_MAGIC_64, CPU_TYPE_ARM64, MH_OBJECT = 0xFEEDFACF, 0x0100000C, 1


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


def check_object(path: pathlib.Path) -> str:
    """What is wrong with an object file; empty when it is one for an ARM Mac."""
    head = path.read_bytes()[:16]
    if len(head) < 16:
        return "the object is empty"
    magic, cpu, _, kind = struct.unpack("<IIII", head)
    if (magic, cpu, kind) != (MH_MAGIC_64, CPU_TYPE_ARM64, MH_OBJECT):
        return f"expected a Mach-O object for arm64, found {magic:#x}, cpu {cpu:#x}, kind {kind}"
    return ""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cache", type=pathlib.Path, required=True)
    parser.add_argument("--include", action="append", default=[])
    parser.add_argument("sources", nargs="+", type=pathlib.Path)
    options = parser.parse_args()
    fetch(options.cache)
    headers = next(options.cache.glob("wheel/**/metal_cpp"))
    system = pathlib.Path(__file__).resolve().parent / "system"
    environment = {**os.environ, "PYTHONPATH": str(options.cache / "zig")}
    failures = 0
    with tempfile.TemporaryDirectory() as folder:
        for source in options.sources:
            out = pathlib.Path(folder) / f"{source.stem}.o"
            command = [sys.executable, "-m", "ziglang", "c++", "-target", TARGET, "-std=c++20", "-c",
                       "-Wall", "-Wextra", "-Werror", "-fblocks",
                       *(f"-I{each}" for each in options.include),
                       "-isystem", str(headers), "-isystem", str(system), str(source), "-o",
                       str(out)]
            done = subprocess.run(command, env=environment, capture_output=True, text=True,
                                  check=False)
            problem = done.stderr if done.returncode != 0 else check_object(out)
            failures += bool(problem)
            print(f"{'not ok' if problem else 'ok'}: {source.name}{': ' + problem if problem else ''}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
