# SPDX-License-Identifier: MIT
"""`./dev test`: what CI checks with every change. Most of it has work for one processor alone, so as much as possible is
done at the same time."""

import os

from dev import builds, packages, sources, suites, targets
from dev.part import Failed

# What slices of `./dev rest` run: tests of suite `rest` and of these others. Here is what shows within minutes that a
# change broke something: tests of the library under the address and undefined-behaviour sanitizers, tests of the host
# with threads under the thread sanitizer as well, and in a build that is not optimised the programs, the compiler, the
# conformance kit over plugins of the CPU, models of AOTInductor, headers and pages. The slices have the rest in gcc's
# build, and all of it under the sanitizers and with each source compiled by itself: other devices, both bridges to
# ExecuTorch, Python, the zoo, workers, kernels one by one, packages, counts of instructions; and what needs a download
# of gigabytes, or an emulator.
_LEFT = [word for suite in ("rest", "slow", "bridges", "gpu", "package", "python", "zoo")
         for word in ("--no-suite", suite)]
_UNSANITIZED_SUITES = ("programs", "backends", "kernels", "conformance", "compiler")
PLAIN = [word for suite in (*_UNSANITIZED_SUITES, "docs", "lint", "headers", "abi", "install")
         for word in ("--suite", suite)] + _LEFT
SANITIZED = suites.NEVER_SANITIZED + _LEFT + [word for suite in (*_UNSANITIZED_SUITES, "fuzz")
                                              for word in ("--no-suite", suite)]
THREADS = ["--suite", "host_threads"]
# Of what is compiled while something else has work for the processors.
LOW = 10


def _built(part, build):
    if not part.join(build):
        raise Failed(f"{build.name}: {build.error}")


def _of_words(part, words):
    packages.from_pypi(part)
    builds.configure(part, builds.TEST)
    builds.compile_selected(part, builds.TEST, words)
    suites.run_tests(part, builds.TEST, words)


def test(part, words=()):
    """See above. With words for `meson test`, the tests that they name, in the build without sanitizers."""
    packages.setup(part)
    if words:
        _of_words(part, words)
        return
    suites.set_sanitizers()
    # More threads than processors: one that waits for another gives its processor away.
    os.environ["OMP_WAIT_POLICY"] = "passive"
    formatted = part.aside("format", sources.check)
    part.say("clang, warnings are errors")
    builds.configure(part, builds.TEST)
    asan_built = part.aside("asan-build", builds.compile_ahead, builds.ASAN, SANITIZED, nice=LOW)
    tsan_built = part.aside("tsan-build", builds.compile_ahead, builds.TSAN, THREADS, asan_built, nice=LOW)
    try:
        builds.compile_in(part, builds.TEST.folder, targets.of_tests([builds.TEST.folder, *PLAIN]))
    finally:
        part.join(formatted)
    suites.run_tests(part, builds.TEST, PLAIN)
    part.say("address and undefined-behaviour sanitizers")
    _built(part, asan_built)
    sanitized = part.aside("asan", suites.run_tests, builds.ASAN, SANITIZED, suites.SANITIZED_TIMEOUTS)
    part.say("thread sanitizer")
    _built(part, tsan_built)
    suites.run_tests(part, builds.TSAN, THREADS, suites.SANITIZED_TIMEOUTS)
    part.join(sanitized)
    part.say("end")
