# SPDX-License-Identifier: MIT
"""`./dev test`: what CI checks with every change. Most of it has work for one processor alone, so as much as possible is
done at the same time."""

import os

from dev import builds, packages, sources, suites, targets
from dev.cross import command as cross
from dev.part import Failed

# Each test runs in one build, which halves what there is to compile: tests of the library under the address and
# undefined-behaviour sanitizers, those with threads under the thread sanitizer as well, and in the optimised build
# these suites, whose programs and kernels take several times as long there, or which compile a library again: the
# kit, and the ahead-of-time half. `./dev quick` and `./dev sanitized` run all tests in one build each. The inputs of
# the fuzz targets, which only clang compiles, and what needs a download of gigabytes (models of PyTorch) or an
# emulator run in slices of `./dev rest`.
_HEAVY = ("programs", "backends", "kernels", "conformance", "bridges", "compiler")
_OPTIMISED = (*_HEAVY, "docs", "lint", "headers", "abi", "install", "package", "gpu", "python")
OPTIMISED = [word for suite in _OPTIMISED for word in ("--suite", suite)] + ["--no-suite", "slow"]
UNSANITIZED = suites.NEVER_SANITIZED + [word for suite in (*_HEAVY, "fuzz", "slow") for word in ("--no-suite", suite)]
THREADS = ["--suite", "threads", "--no-suite", "kernels", "--no-suite", "bridges"]
# Of what is compiled while something else has work for the processors.
LOW = 10


def _built(part, build):
    if not part.join(build):
        raise Failed(f"{build.name}: {build.error}")


def test(part):
    """See above."""
    packages.setup(part, packages.EMULATORS)
    suites.set_sanitizers()
    # More threads than processors: one that waits for another gives its processor away.
    os.environ["OMP_WAIT_POLICY"] = "passive"
    formatted = part.aside("format", sources.check)
    packages.from_pypi(part)
    part.say("gcc, release, warnings are errors")
    builds.configure(part, builds.GCC)
    asan_built = part.aside("asan-build", builds.compile_ahead, builds.ASAN, UNSANITIZED, nice=LOW)
    tsan_built = part.aside("tsan-build", builds.compile_ahead, builds.TSAN, THREADS, asan_built, nice=LOW)
    try:
        builds.compile_in(part, builds.GCC.folder,
                          targets.of_tests([builds.GCC.folder, *OPTIMISED, "--others"]))
    finally:
        part.join(formatted)
    crossed = part.aside("cross", cross.quick, ["trixie-quick"], nice=5)
    suites.run_tests(part, builds.GCC, OPTIMISED)
    part.say("clang, warnings are errors, address and undefined-behaviour sanitizers")
    _built(part, asan_built)
    sanitized = part.aside("asan", suites.run_tests, builds.ASAN, UNSANITIZED, suites.SANITIZED_TIMEOUTS)
    part.say("clang, thread sanitizer")
    _built(part, tsan_built)
    suites.run_tests(part, builds.TSAN, THREADS, suites.SANITIZED_TIMEOUTS)
    for aside in (sanitized, crossed):
        part.join(aside)
    part.say("end")
