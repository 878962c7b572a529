# SPDX-License-Identifier: MIT
"""Tests of Meson, in one build: quick, slow, sanitized."""

import json
import os
import pathlib

from dev import builds, packages
from dev.totals import FAILED, PASSED, SKIPPED

# What a sanitizer has nothing to say about.
NEVER_SANITIZED = ["--no-suite", "lint", "--no-suite", "headers", "--no-suite", "macos", "--no-suite", "docs",
                   "--no-suite", "python"]
# Time limits in a sanitizer's build are ten times longer.
SANITIZED_TIMEOUTS = 10
OUTCOMES = {"OK": PASSED, "EXPECTEDFAIL": PASSED, "SKIP": SKIPPED}


def timeouts():
    """By what the time limits of tests are multiplied: `rest` leaves room for a slow machine."""
    return float(os.environ.get("TENON_TIMEOUTS", 1))


def run_tests(part, build, words, multiplier=None):
    """Runs tests of a build, with words for `meson test`; each is a check."""
    log = pathlib.Path(build.folder, "meson-logs/testlog.json")
    log.unlink(missing_ok=True)
    status = part.call(["meson", "test", "-C", build.folder, "--no-rebuild", "--print-errorlogs", "--timeout-multiplier",
                        f"{timeouts() if multiplier is None else multiplier:g}", *words])
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines() if log.exists() else []
    outcomes = []
    for test in map(json.loads, lines):
        outcome = OUTCOMES.get(test["result"], FAILED)
        name = f"{build.name}: {test['name']}"
        part.add(f"{name}: {test['result']}" if outcome == FAILED else name, outcome)
        outcomes.append(outcome)
    if status != 0 and FAILED not in outcomes:
        part.add(f"{build.name}: meson test: exit status {status}", FAILED)


def set_sanitizers():
    """How sanitizers report, for all programs that are started after it."""
    # Without the last one the leak check of clang 14 may take 16 bytes before a library's thread-local memory for a
    # header, and then reads wherever those bytes point (sanitizer_tls_get_addr.cpp).
    os.environ["ASAN_OPTIONS"] = ("allocator_may_return_null=1:detect_stack_use_after_return=1:halt_on_error=1"
                                  ":intercept_tls_get_addr=0")
    os.environ["UBSAN_OPTIONS"] = "halt_on_error=1:print_stacktrace=1"
    folder = pathlib.Path(__file__).parent
    os.environ["LSAN_OPTIONS"] = f"print_suppressions=0:suppressions={folder / 'leak_sanitizer.txt'}"
    os.environ["TSAN_OPTIONS"] = f"halt_on_error=1:suppressions={folder / 'thread_sanitizer.txt'}"


def quick(part, words):
    """All tests in one build, each source compiled by itself."""
    packages.setup(part, packages.ABIGAIL)
    builds.configure(part, builds.QUICK)
    builds.compile_selected(part, builds.QUICK, words)
    # Also what `test` leaves out: see tests/headers/*.py and tests/conformance/zoo_test.cpp.
    os.environ["TENON_ALL_HEADERS"] = "1"
    os.environ.setdefault("TENON_ZOO_LEVEL", "1")
    run_tests(part, builds.QUICK, words)


def slow(part, words):
    """The tests of suite slow in gcc's optimised build, or the tests that the words name."""
    packages.setup(part, packages.EMULATORS)
    packages.from_pypi(part)
    builds.configure(part, builds.GCC)
    words = words or ["--suite", "slow"]
    builds.compile_selected(part, builds.GCC, words)
    run_tests(part, builds.GCC, words)


def _threads(part, words):
    words = words or ["--suite", "threads"]
    part.say("clang, thread sanitizer")
    builds.configure(part, builds.TSAN)
    builds.compile_selected(part, builds.TSAN, words)
    run_tests(part, builds.TSAN, words, SANITIZED_TIMEOUTS * timeouts())


def sanitized(part, words):
    """The address and undefined-behaviour sanitizers, and then the thread sanitizer; with --threads the latter alone."""
    packages.setup(part)
    packages.from_pypi(part)
    set_sanitizers()
    if words[:1] == ["--threads"]:
        _threads(part, words[1:])
        return
    builds.configure(part, builds.ASAN)
    builds.compile_selected(part, builds.ASAN, [*NEVER_SANITIZED, *words])
    run_tests(part, builds.ASAN, [*NEVER_SANITIZED, *words], SANITIZED_TIMEOUTS * timeouts())
    if not words:
        _threads(part, [])
