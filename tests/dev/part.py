# SPDX-License-Identifier: MIT
"""A part of a command: where it prints, what it starts and what it counted. Several run at the same time as asides."""

import contextlib
import fcntl
import os
import pathlib
import subprocess
import sys
import threading
import traceback

from dev import processes, totals
from dev.progress import Progress
from dev.totals import FAILED, PASSED, SKIPPED, Check


class Failed(Exception):
    """What ends a command before its end, in a line."""


@contextlib.contextmanager
def alone(name):
    """Of two with the same name, also of two processes, one has to wait."""
    file = pathlib.Path("build/dev", f"{name}.lock")
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


class Part:
    """See above. `out` is a text file with a descriptor."""

    def __init__(self, out=None, progress=None, nice=0):
        self.out = out or sys.stdout
        self.progress = progress or Progress()
        self.nice = nice
        # Environment of what it starts, in addition to this process's.
        self.variables = {}
        self.checks = []

    def print(self, text=""):
        """A line, or several."""
        print(text, file=self.out, flush=True)

    def say(self, title):
        """The title of a step, with times."""
        self.print(f"\n== {self.progress.at(title)}")

    def call(self, words, **options):
        """Runs a program, which prints to where this part does, and returns its exit status."""
        try:
            return processes.finish(processes.start(self.niced(words), **self._options(options)))
        except OSError as error:
            self.print(f"dev: {words[0]}: {error.strerror}")
            return 127

    def run(self, words, **options):
        """Runs a command that has to succeed."""
        status = self.call(words, **options)
        if status != 0:
            raise Failed(f"{words[0]}: exit status {status}")

    def output(self, words, **options):
        """What a program that has to succeed prints, without the line feed at its end."""
        done = self.captured(words, **{"stderr": self._errors(), **options})
        if done.returncode != 0:
            raise Failed(f"{words[0]}: exit status {done.returncode}")
        return done.stdout.rstrip("\n")

    def captured(self, words, timeout=None, **options):
        """A program that has ended, with its output; with its errors in it, unless `stderr` says otherwise."""
        options = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, **options}
        try:
            return processes.run(self.niced(words), timeout=timeout, encoding="utf-8", errors="replace",
                                 **self._options(options))
        except OSError as error:
            return subprocess.CompletedProcess(words, 127, f"{words[0]}: {error.strerror}\n", "")

    def niced(self, words):
        """A program's words, with this part's priority."""
        return ["nice", "-n", self.nice, *words] if self.nice else words

    def _options(self, options):
        self.out.flush()
        environment = {**os.environ, **self.variables, **options.pop("env", {})}
        return {"stdout": self.out, "stderr": self._errors(), **options, "env": environment}

    def _errors(self):
        return None if self.out is sys.stdout else self.out

    def add(self, name, outcome, details=()):
        """Counts a check."""
        self.checks.append(Check(name, outcome, list(details)))

    def check(self, name, what, **options):
        """One check that is not a Meson test: a program, by its words, or a function, which fails by Failed or False."""
        self.say(name)
        good = False
        try:
            good = what() is not False if callable(what) else self.call(what, **options) == 0
        except Failed as failure:
            self.print(f"dev: {failure}")
        self.add(name, PASSED if good else FAILED)

    def skip(self, text):
        """Something is left out, for this reason."""
        self.print(text)
        self.add(text, SKIPPED)

    def totals(self):
        """The totals of what was counted."""
        return totals.of_checks(self.checks)

    def print_totals(self):
        """The names of what failed, and the totals as the last line."""
        self.print()
        for check in self.checks:
            if check.outcome == FAILED:
                self.print(f"failed: {check.name}")
        self.print(self.totals())

    def aside(self, name, function, *arguments, nice=0):
        """Starts function(part, *arguments) at the same time as what comes next; `join` it."""
        return Aside(name, self.progress, nice, function, arguments)

    def join(self, aside):
        """Waits for an aside, prints what it printed and counts what it counted. True if it came to its end."""
        aside.thread.join()
        self.out.write(aside.log.read_text(encoding="utf-8", errors="replace"))
        self.out.flush()
        self.checks += aside.part.checks
        if aside.error:
            self.add(f"{aside.name}: {aside.error}", FAILED)
        return not aside.error


class Aside:
    """A part that runs in a thread of its own, with its output in a file. What ends it before its end is a failure."""

    def __init__(self, name, progress, nice, function, arguments):
        self.name, self.error = name, None
        self.log = pathlib.Path("build/dev", f"{name}.log")
        self.log.parent.mkdir(parents=True, exist_ok=True)
        self.part = Part(self.log.open("w", encoding="utf-8"), progress, nice)
        self.thread = threading.Thread(target=self._body, args=(function, arguments), daemon=True)
        self.thread.start()

    def _body(self, function, arguments):
        try:
            function(self.part, *arguments)
        except (Failed, processes.Ended) as failure:
            self.error = str(failure) or "ended"
        except BaseException as error:  # pylint: disable=broad-exception-caught
            self.error = f"{type(error).__name__}: {error}"
            traceback.print_exc(file=self.part.out)
        finally:
            self.part.out.close()
