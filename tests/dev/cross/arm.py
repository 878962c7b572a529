# SPDX-License-Identifier: MIT
"""64-bit and 32-bit ARM Linux with glibc: Debian's cross compilers, run by qemu."""

import os
import pathlib
import shutil

from dev import packages
from dev.cross.roots import sysroot
from dev.cross.target import CONFORMANCE, OPTIONS, PLUGINS, PROGRAMS, TENON_RUN, UNIT_TESTS, write_script
from dev.part import Failed

QUICK_OPTIONS = (*OPTIONS, "-Doptimization=0", "-Dpt2=disabled", "-Dcpu_aoti=disabled", "-Dcuda=disabled")
QUICK_TESTS = ("peek", "files that are written")
KIT_CASES = pathlib.Path("tests/conformance/cases/cpu_aoti")
ZOO_TEST = "the conformance kit catches each plugin of the zoo by its rule"


def _configure(target, machine, triplet, qemu, root=None, files=(), options=OPTIONS):
    """What differs between the two."""
    part, build = target.part, os.path.abspath(target.build)
    packages.need(part, {f"{triplet}-g++": f"g++-{triplet}", qemu: "qemu-user-static"})
    root = sysroot(part, root or machine)
    # Programs that start programs need the second: see tests/cross/programs/spawn.c.
    write_script(f"{build}/emulate", f"exec {qemu} -E LD_LIBRARY_PATH={root}/lib/{triplet}:{root}/usr/lib/{triplet} "
                                     f'-E LD_PRELOAD={build}/spawn.so "$@"')
    part.run([f"{triplet}-gcc", f"--sysroot={root}", "-std=c11", "-O1", "-shared", "-fPIC",
              f'-DEMULATOR="{build}/emulate"', "tests/cross/programs/spawn.c", "-o", f"{build}/spawn.so"])
    here = pathlib.Path(build, "here.ini")
    here.write_text(f"[constants]\nsysroot = '{root}'\nemulator = '{build}/emulate'\n", encoding="utf-8")
    target.configure([word for file in (here, *(f"tests/cross/{name}.ini" for name in (machine, *files)))
                      for word in ("--cross-file", file)], options)
    target.emulate = [f"{target.build}/emulate"]


def _arm64(target, **more):
    _configure(target, "arm64", "aarch64-linux-gnu", "qemu-aarch64-static", **more)


def arm64_quick(target):
    """For one run of each program, compiling is most of the time."""
    _arm64(target, root="arm64-quick", files=("arm64-clang",), options=QUICK_OPTIONS)
    target.compile("examples/backends/hello.so", "examples/backends/demo_backend.so", "examples/backends/graph_backend/graph_backend.so", TENON_RUN,
                   CONFORMANCE, *target.needs_of(QUICK_TESTS))
    target.check_units(QUICK_TESTS)
    target.check_programs(quick=True)
    target.check_kit("hello", "demo_backend", "graph_backend")


def _compiled_models(target):
    """Models that AOTInductor compiled for this platform, with PyTorch's numbers, which the kit's cases have."""
    target.part.say("models that AOTInductor compiled")
    for folder in sorted(model.parent for model in pathlib.Path("tests/fixtures/arm64").glob("*/model.pte")):
        case, of_kit = pathlib.Path(target.build, "cases", folder.name), KIT_CASES / folder.name
        shutil.rmtree(case, ignore_errors=True)
        for source in (of_kit, folder) if of_kit.is_dir() else (folder,):
            shutil.copytree(source, case, dirs_exist_ok=True)
        target.check(f"CpuAotiBackend runs {folder.name}",
                     [*target.emulate, f"{target.build}/tests/live/checks/aoti-cases",
                      "--plugin", f"{target.build}/reference_backends/cpu_aoti/cpu_aoti.so", case])


def _kept(target):
    """Binaries of the day of a freeze, where there are any."""
    if "/aarch64/" not in pathlib.Path("tests/abi/kept/manifest.json").read_text(encoding="utf-8"):
        target.not_run("kept binaries: there are none yet")
        return
    packages.need(target.part, {"patchelf": "patchelf"})
    backends = f"{target.build}/examples/backends"
    target.check("kept and new binaries run each other", [
        "python3", "tests/abi/kept/kept_test.py", "aarch64", f"{target.build}/{TENON_RUN}", f"{target.build}/{CONFORMANCE}",
        f"{backends}/hello.so", f"{backends}/demo_backend.so", os.path.abspath(target.emulate[0]),
        f"{sysroot(target.part, 'arm64')}/lib/ld-linux-aarch64.so.1"])


def arm64(target):
    """All that runs there."""
    _arm64(target)
    target.compile(*PROGRAMS, *target.needs_of(UNIT_TESTS), "reference_backends/cpu_aoti/cpu_aoti.so",
                   "tests/live/checks/aoti-cases")
    target.check_layout("LP64", "aarch64-linux-gnu-gcc", "aarch64-linux-gnu-g++")
    target.check_units()
    target.check_programs()
    _compiled_models(target)
    target.check_kit("hello", "demo_backend", "arithmetic_kernels", "graph_backend")
    _kept(target)
    target.not_run("the bridges to ExecuTorch, archives of PyTorch, the Python package")
    target.not_run("unit tests of programs: they change each byte of many files, which takes the emulator a quarter of an "
                   "hour")
    version = target.part.output(["qemu-aarch64-static", "--version"]).split()
    target.not_run(f"hardware: qemu {version[version.index('version') + 1]} runs the code")


def _large_file(target):
    """A file that the address space of 32 bits cannot hold; it occupies no disk."""
    file = pathlib.Path(target.build, "large.pte")
    with file.open("wb") as made:
        made.truncate(5 << 30)
    done = target.part.captured([*target.emulate, f"{target.build}/{TENON_RUN}", file])
    file.unlink()
    if done.returncode != 3 or "has 5368709120 bytes, this process of 32 bits maps at most" not in done.stdout:
        raise Failed(f"exit {done.returncode}: {done.stdout}")


def armhf(target):
    """What 32 bits take."""
    _configure(target, "armhf", "arm-linux-gnueabihf", "qemu-arm-static")
    target.check_layout("armv7", "arm-linux-gnueabihf-gcc", "arm-linux-gnueabihf-g++")
    target.compile(*PLUGINS, TENON_RUN)
    target.check_programs()
    target.check("a program of 5 GiB is refused by its size", lambda: _large_file(target))
    target.check_kit("hello", "demo_backend")
    target.not_run("GraphBackend, tenon-list, tenon-doctor, unit tests, the zoo of the conformance kit")
    target.not_run("hardware: qemu runs the code")


def zoo(target):
    """The conformance kit's zoo, in the folder of arm64."""
    _arm64(target)
    target.compile(*target.needs_of([ZOO_TEST]))
    target.check_units([ZOO_TEST])
