# SPDX-License-Identifier: MIT
"""Runs steps one after the other, each with a limit, and writes the report after each."""

import contextlib
import dataclasses
import datetime
import json
import os
import resource
import signal
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any, Callable

LOG_BYTES = 200_000  # Of a step, from its end.
LAST_LINES = 8
# A step that would begin with less time is left out.
FEWEST_SECONDS = 5
# Of 0.05 s each: a process that hangs in the kernel does not end.
KILL_ROUNDS = 100

PASS, FAIL, SKIP, NOT_AVAILABLE = "pass", "fail", "skip", "not available"


@dataclasses.dataclass
class Finished:
    """How a command ended. `code` is its process's exit code: negative for a signal."""

    code: int
    timed_out: bool
    seconds: float
    text: str

    def last_line(self) -> str:
        """The last line that is not empty."""
        lines = [line for line in self.text.splitlines() if line.strip()]
        return lines[-1].strip() if lines else "it printed nothing"

    def failure(self) -> str:
        """Why it counts as failed."""
        if self.timed_out:
            return f"no end within {self.seconds:.0f} s"
        if self.code < 0:
            return f"ended by {signal.Signals(-self.code).name}: {self.last_line()}"
        return f"exit code {self.code}: {self.last_line()}"


@dataclasses.dataclass
class Result:
    """The outcome of a step: PASS, FAIL, SKIP or NOT_AVAILABLE, with the reason where it is not PASS."""

    outcome: str
    reason: str = ""
    checks: list[dict[str, str]] = dataclasses.field(default_factory=list)
    figures: dict[str, Any] = dataclasses.field(default_factory=dict)


def kill_session(session: int) -> None:
    """Kills all processes of a session: the kit puts its tests into groups of their own. macOS says no process's session;
    there it is the group of the first."""
    if not Path("/proc/self/stat").exists():
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(session, signal.SIGKILL)
        return
    for _ in range(KILL_ROUNDS):
        found = False
        for stat in Path("/proc").glob("[0-9]*/stat"):
            try:
                # After the name in parentheses: state, parent, group, session.
                state, _, _, of_session = stat.read_text(errors="replace").rpartition(") ")[2].split()[:4]
                if int(of_session) == session and state not in "ZX":
                    os.kill(int(stat.parent.name), signal.SIGKILL)
                    found = True
            except (OSError, ValueError):
                continue  # It ended meanwhile.
        if not found:
            return
        time.sleep(0.05)


def run_command(command: list[str], seconds: float, **options: Any) -> Finished:
    """Runs a command with its standard output and errors together. All of its processes are killed
    when it takes longer, and those that it leaves when it ends."""
    start = time.monotonic()
    with tempfile.TemporaryFile() as output:
        try:
            process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT,
                                       stdin=subprocess.DEVNULL, start_new_session=True, **options)
        except OSError as failure:
            return Finished(127, False, 0.0, f"cannot start {command[0]}: {failure.strerror}")
        timed_out = False
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            timed_out = True
        kill_session(process.pid)
        try:
            code = process.wait(KILL_ROUNDS * 0.05)
        except subprocess.TimeoutExpired:
            code = -signal.SIGKILL  # It hangs in the kernel, as a driver may, and is left behind.
        output.seek(0)
        text = output.read().decode(errors="replace")
    return Finished(code, timed_out, time.monotonic() - start, text)


class Step:
    """One step, and what it may use while it runs."""

    def __init__(self, name: str, seconds: float, body: Callable[["Step"], Result]) -> None:
        self.name, self.limit, self._body = name, seconds, body
        self._end = 0.0
        self.text = ""
        self.timed_out = False

    def run(self, limit: float) -> Result:
        """Runs it; all of its commands together take `limit` seconds at most."""
        self._end = time.monotonic() + limit
        try:
            return self._body(self)
        except Exception as failure:  # Whatever a program wrote instead of what was expected.
            return Result(FAIL, f"its output is not what was expected: {type(failure).__name__}: {failure}")

    def command(self, command: list[str], **options: Any) -> Finished:
        """Runs a command within what is left of the step's time."""
        done = run_command(command, max(0.1, self._end - time.monotonic()), **options)
        self.timed_out = self.timed_out or done.timed_out
        self.text += f"$ {' '.join(command)}\n{done.text}\n"
        return done


class Suite:
    """The report: OUT/NAME.json, and OUT/NAME.log with what the steps printed."""

    def __init__(self, out: Path, facts: dict[str, Any], name: str = "gpu-suite") -> None:
        self.path, self._log = out / f"{name}.json", out / f"{name}.log"
        now = datetime.datetime.now(datetime.timezone.utc)
        self.report: dict[str, Any] = {
            "date": now.strftime("%Y-%m-%dT%H:%M:%SZ"), **facts, "steps": [], "remaining": []}
        out.mkdir(parents=True, exist_ok=True)
        self._log.write_text("")

    def write(self) -> None:
        """Replaces the report at once: a run that is killed leaves the previous one."""
        with tempfile.NamedTemporaryFile("w", dir=self.path.parent, prefix=f".{self.path.stem}-",
                                         delete=False) as file:
            file.write(json.dumps(self.report, indent=2) + "\n")
        os.chmod(file.name, 0o644)
        os.replace(file.name, self.path)

    def run(self, steps: list[Step], limit: float | None, budget: float | None) -> int:
        """Runs all, with `limit` in place of their own, in `budget` seconds at most. Returns the exit
        code of the suite."""
        end = time.monotonic() + budget if budget else None
        self.report["remaining"] = [step.name for step in steps]
        self.write()
        for number, step in enumerate(steps, 1):
            left = end - time.monotonic() if end else None
            print(f"[{number}/{len(steps)}] {step.name} ...", flush=True)
            start = time.monotonic()
            if left is not None and left < FEWEST_SECONDS:
                result = Result(SKIP, "no time was left")
            else:
                allowed = limit or step.limit
                result = step.run(allowed if left is None else min(allowed, left))
                if step.timed_out and left is not None and left < allowed:
                    result = Result(SKIP, f"no time was left: stopped after {left:.0f} s", result.checks)
            self._add(step, result, time.monotonic() - start)
        return self._finish()

    def _add(self, step: Step, result: Result, seconds: float) -> None:
        entry = {"name": step.name, **dataclasses.asdict(result), "seconds": round(seconds, 3),
                 "last_lines": step.text.splitlines()[-LAST_LINES:]}
        self.report["steps"].append(entry)
        self.report["remaining"].remove(step.name)
        with self._log.open("a") as log:
            log.write(f"== {step.name}: {result.outcome}\n{step.text[-LOG_BYTES:]}\n")
        self.write()
        why = f": {result.reason}" if result.reason else ""
        print(f"    {result.outcome} ({seconds:.1f} s){why}", flush=True)

    def _finish(self) -> int:
        outcomes = [step["outcome"] for step in self.report["steps"]]
        self.report["totals"] = {word: outcomes.count(word)
                                 for word in (PASS, FAIL, SKIP, NOT_AVAILABLE)}
        peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
        self.report["largest_process_bytes"] = peak
        self.write()
        print(f"\n{self.path}: "
              + ", ".join(f"{count} {word}" for word, count in self.report["totals"].items()))
        if FAIL in outcomes:
            return 1
        return 2 if SKIP in outcomes or PASS not in outcomes else 0
