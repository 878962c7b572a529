# SPDX-License-Identifier: MIT
"""Runs slices: their commands, with a time limit, what they print passed on, and their totals."""

import dataclasses
import math
import os
import resource
import subprocess
import sys
import threading
import time

from dev import processes, totals
from dev.rest.record import ROOT

SKIPPED = 77
# `.ci/run` takes no longer than this, unless `./dev test` alone does: what then still runs is ended, and counts as skipped.
CI_SECONDS = 30 * 60
CI_STARTED = "TENON_CI_STARTED"


@dataclasses.dataclass
class Outcome:
    """What a run of a slice found."""

    name: str
    totals: totals.Totals
    seconds: float
    processor_seconds: float
    # The commands for which there was no time.
    left: list


def time_left(environment=None, now=None):
    """The seconds that `.ci/run` has left; infinity elsewhere."""
    started = (os.environ if environment is None else environment).get(CI_STARTED)
    return float(started) + CI_SECONDS - (time.time() if now is None else now) if started else math.inf


def run_command(variables, words, timeout, out, late=totals.FAILED):
    """Runs one command in the repository's root and returns its totals. What it prints goes to `out`. `late` is what one
    more check counts as if the command does not end in time."""
    environment = dict(os.environ, TENON_TIMEOUTS="3") | variables
    # Its commands are not `.ci/run`'s.
    environment.pop(CI_STARTED, None)
    process = processes.start(words, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    expired = threading.Event()

    def end_late():
        expired.set()
        processes.end([process])

    timer = threading.Timer(timeout, end_late)
    timer.start()
    last = None
    try:
        for line in process.stdout:
            text = line.decode("utf-8", errors="replace")
            out.write(text)
            out.flush()
            last = totals.of_line(text) or last
        status = process.wait()
    finally:
        timer.cancel()
        processes.end([process])
        processes.finish(process)
        process.stdout.close()
    shown = " ".join([*(f"{name}={value}" for name, value in variables.items()), *words])
    if expired.is_set():
        print(f"{late}: {shown}: did not end within {timeout:.0f} s", file=out)
        return (last or totals.Totals()) + totals.Totals(**{late: 1})
    if last is None:
        last = totals.Totals(int(status == 0), int(status not in (0, SKIPPED)), int(status == SKIPPED))
    elif status not in (0, SKIPPED) and last.failed == 0:
        last += totals.Totals(failed=1)
    if last.failed:
        print(f"failed: {shown}: {last}, exit status {status}", file=out)
    return last


def _processor_seconds():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def run_slice(each, out=sys.stdout):
    """Runs a slice. In `.ci/run` commands for which there is no time are left out or ended, and count as skipped."""
    started, processor_started = time.monotonic(), _processor_seconds()
    found, left, fits = totals.Totals(), [], time_left() >= each.minutes * 60
    for variables, words in each.words():
        if not fits or time_left() <= 0:
            left.append(" ".join(words))
            found += totals.Totals(skipped=1)
            continue
        print(f"\n== rest: {each.name}: {' '.join(words)}", file=out, flush=True)
        limit, of_ci = max(60.0, each.timeout - (time.monotonic() - started)), time_left()
        if limit < of_ci:
            found += run_command(variables, words, limit, out)
            continue
        found += run_command(variables, words, of_ci, out, totals.SKIPPED)
        if time_left() <= 0:
            left.append(" ".join(words))
    seconds = time.monotonic() - started
    return Outcome(each.name, found, seconds, _processor_seconds() - processor_started, left)
