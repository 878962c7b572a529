# SPDX-License-Identifier: MIT
"""Builds for TARGET in build/cross/TARGET, runs what runs here, and ends with totals and a list of what was not run;
build/cross/TARGET.json has the same. What is missing is installed with apt, or into ~/.cache/tenon.

  arm64      64-bit ARM Linux, glibc: Debian's cross compiler, run by qemu
  armhf      32-bit ARM Linux, glibc: the same
  musl       x86-64 Linux, musl: zig's clang and C++ library, run here
  windows    Windows x86-64: mingw-w64, run by Wine
  macos      macOS on arm64: zig; what it links is read, and not run
  trixie     Debian 13 in a root of its own, made by debootstrap: ./dev demo, and the tests by gcc 14 and clang 19
  compilers  plugins and hosts of other compilers and C++ libraries, and plugins for glibc 2.28
  zoo        the conformance kit's zoo on arm64
  refusals   the plugins of all targets that are built, given to the hosts of all
  all        each of these, two at the same time; writes build/cross/all.json and all.txt
  quick      of arm64 and windows what takes a few minutes: three plugins, some unit tests of the host, the
             conformance kit at level 3; of trixie the headers by both compilers, and the tests of core
"""

import sys
import threading
import time

from dev import packages, processes
from dev.cross import arm, macos, native, summary, trixie, windows
from dev.cross.target import Target
from dev.totals import FAILED, PASSED, Check

# The longest first.
TARGETS = {"windows": windows.windows, "arm64": arm.arm64, "trixie": trixie.trixie, "musl": native.musl,
           "armhf": arm.armhf, "compilers": native.compilers, "macos": macos.macos, "zoo": arm.zoo,
           "refusals": native.refusals}
QUICK = {"arm64-quick": arm.arm64_quick, "windows-quick": windows.windows_quick, "trixie-quick": trixie.quick}
WHOLE = {"trixie-whole": trixie.whole}
FOLDERS = {"zoo": "build/cross/arm64"}
QUICK_KIT_LEVEL = 3


def add_arguments(parser):
    """Adds the arguments of the command."""
    parser.add_argument("target", metavar="TARGET", choices=[*TARGETS, "all", "quick"], help="one of the names above")
    parser.add_argument("--whole", action="store_true", help="trixie: README's two commands, ./dev demo and ./dev test")
    parser.add_argument("--kit-level", type=int, default=5, metavar="N",
                        help="the highest level of the conformance kit (default 5; 0: without it)")


def run_one(part, name, function, kit_level):
    """One target: what was found of it, which is also written. What ends it before its end is a failure."""
    summary.clear(name)
    before, started = len(part.checks), time.monotonic()
    target = Target(part, name, kit_level, FOLDERS.get(name))
    try:
        with target.step("the run did not come to its end"):
            function(target)
    except processes.Ended:
        part.add("the run was ended", FAILED)
        raise
    finally:
        found = summary.of_target(name, part.checks[before:], round(time.monotonic() - started))
        text = summary.write(name, [found])
    part.print(f"\n{text}")
    return found


def several(part, name, at_once, functions, kit_level, last=()):
    """Runs targets, some at the same time, and the targets of `last` when all before have ended. Returns a summary of
    all."""
    summary.clear(name)
    slots, found, asides = threading.Semaphore(at_once), {}, []

    def run(own, target):
        try:
            found[target] = run_one(own, target, functions[target], kit_level)
        finally:
            part.print(f"== ended: {target}")
            slots.release()

    def start(target):
        slots.acquire()
        part.say(f"started: {target}")
        asides.append(part.aside(f"cross-{target}", run, target, nice=part.nice))

    for target in functions:
        if target not in last:
            start(target)
    for aside in asides:
        aside.thread.join()
    for target in last:
        start(target)
    for aside in asides:
        part.join(aside)
    found = [found[target] for target in functions if target in found]
    part.print(f"\n{summary.write(name, found)}")
    return found


def quick(part):
    """What takes a few minutes. What was left out is in the summary, and does not count."""
    found = several(part, "quick", 1, QUICK, QUICK_KIT_LEVEL)
    part.checks = [Check(f"cross: {target['target']}: {check['name']}", PASSED if check["passed"] else FAILED)
                   for target in found for check in target["checks"]]


def cross(part, target, whole, kit_level):
    """The command; its summary ends with the totals."""
    packages.setup(part)
    if target == "quick":
        quick(part)
    elif target == "all":
        # Two at once, as each is mostly a test that waits for another process.
        several(part, "all", 2, TARGETS, kit_level, last=("refusals",))
    elif whole:
        if f"{target}-whole" not in WHOLE:
            print(f"dev: cross: --whole is for trixie, found {target}", file=sys.stderr)
            raise SystemExit(2)
        run_one(part, f"{target}-whole", WHOLE[f"{target}-whole"], kit_level)
    else:
        run_one(part, target, TARGETS[target], kit_level)
    return 1 if part.totals().failed else 0
