# SPDX-License-Identifier: MIT
"""The build folders build/NAME: how each is configured, and what is compiled in it."""

import dataclasses
import os
import pathlib
import subprocess

from dev import targets
from dev.part import Failed, alone

# One translation unit a target, as everything here is headers: sources of one target share almost all that a compiler
# has to do, and the whole takes a third of the time. `quick` compiles each source by itself, so that it shows what
# relies on what another includes.
TOGETHER = ("-Dunity=on", "-Dunity_size=100")

# Two of gcc's compilers have room to collect their garbage less often, which saves a twentieth to a tenth of their time.
LESS_COLLECTION = "-Dcpp_args=--param=ggc-min-expand=1000 --param=ggc-min-heapsize=1000000"

# Reports of sanitizers name functions and lines; the rest of the debug information costs an eighth of the compiler's
# time.
LINES_ONLY = "-gline-tables-only"

# glibc's allocator then asks for pages of 2 MiB, and for 32 MiB at a time: a fifteenth of clang's time.
LARGE_PAGES = {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1:glibc.malloc.top_pad=33554432"}


@dataclasses.dataclass(frozen=True)
class Build:
    """A build folder. With `lld`, LLVM's linker, which takes a sixth of the time for programs with a sanitizer in them."""

    name: str
    options: tuple
    cc: str = "gcc"
    cxx: str = "g++"
    lld: bool = False

    @property
    def folder(self):
        """Relative to the repository's root."""
        return f"build/{self.name}"


def _sanitized(name, sanitizers, *options):
    # Not optimised, as compiling would take twice as long as the tests would save; without nvcc, as sanitizers do not see
    # the code for devices.
    return Build(name, ("-Dbuildtype=debug", f"-Db_sanitize={sanitizers}", "-Db_lundef=false", *options, *TOGETHER,
                        "-Dprecompiled_tests=true", "-Dnvcc_kernels=disabled", f"-Dc_args={LINES_ONLY}",
                        f"-Dcpp_args={LINES_ONLY}"), "clang", "clang++", lld=True)


# The build of `test`: not optimised, which clang compiles in three fifths of the time that gcc takes.
TEST = Build("test", ("-Dbuildtype=release", "-Doptimization=0", "-Dbenchmarks=disabled", *TOGETHER,
                      "-Dprecompiled_tests=true", "-Dnvcc_kernels=disabled"), "clang", "clang++", lld=True)
# The build that `slow` and `live` share. Optimised, as gcc finds some of what it warns of only then, by -Og, which takes
# three quarters of the time of -O1. `bench`, `gpu-pack` and the program that counts instructions use higher ones.
GCC = Build("gcc", ("-Dbuildtype=release", "-Doptimization=g", "-Dbenchmarks=disabled", *TOGETHER,
                    "-Dprecompiled_tests=true", LESS_COLLECTION), lld=True)
QUICK = Build("quick", ("-Dbuildtype=debug",))
ASAN = _sanitized("asan", "address,undefined", "-Dfuzz=true")
TSAN = _sanitized("tsan", "thread")
# What runs for a moment, with the kernels that the model of the demo calls.
DEMO = Build("demo", ("-Dbuildtype=release", "-Doptimization=0", "-Dtests=disabled",
                      "-Dcpu_kernels=convolution,products", *TOGETHER), "clang", "clang++", lld=True)
# The build of what is timed: with -Og, as the build of the checks has it, loops of the plugin take up to three times as
# long.
O2 = Build("o2", ("-Dbuildtype=release", "-Doptimization=2", "-Dbenchmarks=disabled", *TOGETHER), lld=True)
FUZZ = Build("fuzz", ("-Dbuildtype=debug", "-Doptimization=1", "-Db_sanitize=address,undefined", "-Db_lundef=false",
                      "-Dfuzz=true", *TOGETHER, f"-Dc_args={LINES_ONLY}",
                      # A library that was compiled without the fuzzer would not guide it.
                      f"-Dcpp_args={LINES_ONLY} -fsanitize=fuzzer-no-link"), "clang", "clang++")


def is_configured(folder):
    """Whether a build folder is."""
    return pathlib.Path(folder, "build.ninja").exists()


def set_up(part, folder, words, **variables):
    """Makes a build folder, with words and variables for `meson setup`."""
    log = pathlib.Path(folder, "setup.log")
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("w", encoding="utf-8") as out:
        status = part.call(["meson", "setup", folder, *words], env=variables, stdout=out, stderr=out)
    if status != 0:
        part.print(log.read_text(encoding="utf-8", errors="replace"))
        raise Failed(f"{folder} is not configured: exit status {status}")


def regenerate(part, folder):
    """Reads the build definitions of today into a build folder that is there. Ninja would do this with the first target,
    when the names of targets have been read already."""
    part.run(["ninja", "-C", folder, "--quiet", "build.ninja"], stdout=subprocess.DEVNULL)


def configure(part, build):
    """Makes a build folder, or gives an existing folder the current options. Warnings are errors."""
    if is_configured(build.folder):
        regenerate(part, build.folder)  # Options that are new since then must be known first.
        part.run(["meson", "configure", build.folder, *build.options, "-Dwerror=true"], stdout=subprocess.DEVNULL)
        regenerate(part, build.folder)
        return
    linkers = {"CC_LD": "lld", "CXX_LD": "lld"} if build.lld else {}
    set_up(part, build.folder, ["--werror", *build.options], CC=build.cc, CXX=build.cxx, **linkers)


def compile_in(part, folder, names=(), jobs=None):
    """Compiles targets in a build folder, or all."""
    part.run(["ninja", "-C", folder, "--quiet", *(["-j", jobs] if jobs else []), *names], env=LARGE_PAGES)


def compile_selected(part, build, words):
    """Compiles what the tests need which words of `meson test` select, where suites alone select them; else all."""
    if not words or any(word not in ("--suite", "--no-suite") for word in words[::2]):
        compile_in(part, build.folder)
        return
    names = targets.of_tests([build.folder, *words])
    if names:
        compile_in(part, build.folder, names)


def compile_ahead(part, build, words, after=None):
    """Configures a build and compiles what selected tests need, as an aside of lower priority: much of the rest has work
    for one processor alone. One such build after the other: `after` is the one before it."""
    if after:
        after.thread.join()
    with alone("ahead"):
        configure(part, build)
        compile_in(part, build.folder, targets.of_tests([build.folder, *words]), jobs=os.cpu_count())
