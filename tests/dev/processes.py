# SPDX-License-Identifier: MIT
"""Programs that this process starts. Each is the first of a session of its own, so that a signal, or the end of this
process, ends it with all that it started."""

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time

# Between asking a program to end and ending it: a test runner ends its tests, which are in other sessions.
GRACE_SECONDS = 15


class Ended(Exception):
    """This process ends, and starts nothing any more."""


_lock = threading.Lock()
_running = {}
_ending = False


def start(words, **options):
    """Starts a program with options of subprocess.Popen. `finish` it."""
    with _lock:
        if _ending:
            raise Ended()
        options = {"stdin": subprocess.DEVNULL, "start_new_session": True, **options}
        process = subprocess.Popen(list(map(str, words)), **options)
        _running[process.pid] = process
        return process


def finish(process):
    """Waits for a program's end and returns its exit status."""
    status = process.wait()
    with _lock:
        _running.pop(process.pid, None)
    return status


def run(words, timeout=None, **options):
    """What subprocess.run does, with the end of the program and of what it started at the time limit."""
    process = start(words, **options)
    try:
        out, err = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        end([process])
        raise
    finally:
        finish(process)
    return subprocess.CompletedProcess(words, process.returncode, out, err)


def end(processes):
    """Ends programs and what they started."""
    for sign in (signal.SIGTERM, signal.SIGKILL):
        left = list(processes)
        for process in left:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, sign)
        deadline = time.monotonic() + GRACE_SECONDS
        while left and time.monotonic() < deadline:
            left = [process for process in left if _has_members(process)]
            if left:
                time.sleep(0.05)


def _has_members(process):
    """Whether a program, or what it started in its group, is still there."""
    process.poll()
    try:
        os.killpg(process.pid, 0)
    except ProcessLookupError:
        return False
    return True


def _end_all():
    global _ending  # pylint: disable=global-statement
    with _lock:
        _ending = True
        left = list(_running.values())
    end(left)


def guard(function):
    """Calls `function` in another thread and returns what it returns. This thread waits for a signal alone (INT, TERM,
    HUP), which ends the process with 128 and its number. In both cases all programs that still run are ended."""
    outcome = {}

    def body():
        try:
            outcome["value"] = function()
        except BaseException as error:  # pylint: disable=broad-exception-caught
            outcome["error"] = error

    arrived = []

    def obey(number, _):
        # The first one alone: the programs are being ended already.
        arrived.append(number)
        if len(arrived) == 1:
            raise SystemExit(128 + number)

    for sign in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(sign, obey)
    thread = threading.Thread(target=body, daemon=True)
    try:
        thread.start()
        thread.join()
    finally:
        arrived.append(0)
        _end_all()
        sys.stdout.flush()
    if "error" in outcome:
        raise outcome["error"]
    return outcome["value"]
