# SPDX-License-Identifier: MIT
"""How soon Ctrl-C ends a run in Python: from SIGINT to the KeyboardInterrupt, one line of JSON for each program.

Inputs are zeros of the largest sizes. Each run is interrupted at another time of its course; a run that was at its end
before the signal came is repeated. `loop` as a program is the loop without end of the package's tests.

    PYTHONPATH=build/gcc/examples/python python3 tests/live/benchmarks/bench_interrupt.py loop MODEL.pte --plugin FILE.so
"""

import argparse
import json
import os
import pathlib
import signal
import threading
import time
from collections.abc import Callable

import numpy as np
import tenon

LOOP = pathlib.Path(__file__).resolve().parents[3] / "examples/python/tests/fixtures/loop.pte"


def zeros(program: tenon.Program) -> list[np.ndarray]:
    """Inputs of the first method."""
    meta = program.method_meta(program.method_names[0])
    return [np.zeros(one.tensor.sizes, np.dtype(one.tensor.dtype)) for one in meta.inputs if one.tensor]


def interrupt(run: Callable[[], object], delay: float) -> float | None:
    """Seconds from SIGINT, `delay` seconds after the run began, to the exception; None if no run was going on."""
    sent = 0.0

    def send() -> None:
        nonlocal sent
        time.sleep(delay)
        sent = time.perf_counter()
        os.kill(os.getpid(), signal.SIGINT)

    sender = threading.Thread(target=send)
    begun = ended = False
    try:
        sender.start()
        begun = True
        run()
        ended = True
        sender.join()
    except KeyboardInterrupt:
        caught = time.perf_counter()
    sender.join()
    return caught - sent if begun and not ended else None


def measure(path: str, plugins: list[str], rounds: int) -> dict[str, object]:
    """Interrupts `rounds` runs of the program."""
    program = tenon.load(LOOP if path == "loop" else path, plugins=plugins, limits={"instructions": None})
    method = program[program.method_names[0]]
    inputs = [] if path == "loop" else zeros(program)
    whole = 0.2
    if path != "loop":
        times = []
        for _ in range(4):
            begin = time.perf_counter()
            method(*inputs)
            times.append(time.perf_counter() - begin)
        whole = min(times)
    found = []
    for number in range(rounds):
        # A loop without end has begun by then: nothing else would end it.
        first = 0.02 if path == "loop" else 0
        took = interrupt(lambda: method(*inputs), first + whole * 0.9 * number / rounds)
        if took is not None:
            found.append(took * 1e3)
    found.sort()
    return {
        "program": path,
        "run_ms": None if path == "loop" else round(whole * 1e3, 2),
        "interrupted": len(found),
        "median_ms": round(found[len(found) // 2], 2),
        "p99_ms": round(found[len(found) * 99 // 100], 2),
        "max_ms": round(found[-1], 2),
    }


def main() -> None:
    """Prints a line for each program."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", nargs="+", metavar="PROGRAM")
    parser.add_argument("--plugin", action="append", default=[])
    parser.add_argument("--rounds", type=int, default=100)
    arguments = parser.parse_args()
    for path in arguments.programs:
        print(json.dumps(measure(path, arguments.plugin, arguments.rounds)))


main()
