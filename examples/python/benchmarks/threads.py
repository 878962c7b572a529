# SPDX-License-Identifier: MIT
"""Eight threads, one method each, in Python and in C++: threads.py BUILD PLUGIN.so MODEL.pte [ROUNDS]

Prints runs per second of 1 and of 8 threads, the median of interleaved rounds, and their ratio. The
C++ side is the program python-threads of the same build (ninja -C BUILD
examples/python/benchmarks/python-threads). Set OMP_NUM_THREADS=1, so that a run is one thread.
"""

import pathlib
import statistics
import subprocess
import sys
import threading
import time

BUILD, PLUGIN, MODEL = sys.argv[1:4]
ROUNDS = int(sys.argv[4]) if len(sys.argv) > 4 else 5
SECONDS = 2.0
sys.path.insert(0, str(pathlib.Path(BUILD) / "examples/python"))

import tenon  # noqa: E402

program = tenon.load(MODEL, plugins=[PLUGIN])
tensor = program.method_meta().inputs[0].tensor
elements = 1
for size in tensor.sizes:
    elements *= size
x = memoryview(bytearray(4 * elements)).cast("f", tensor.sizes)


def python(count):
    methods = [program.load_method() for _ in range(count)]
    runs = [0] * count
    start = time.monotonic()
    end = start + SECONDS

    def work(index):
        method, mine = methods[index], 0
        while time.monotonic() < end:
            method(x)
            mine += 1
        runs[index] = mine

    threads = [threading.Thread(target=work, args=(each,)) for each in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sum(runs) / (time.monotonic() - start)


def cpp(count):
    command = [f"{BUILD}/examples/python/benchmarks/python-threads", PLUGIN, MODEL, 4 * elements, count,
               SECONDS]
    return float(subprocess.run(list(map(str, command)), stdout=subprocess.PIPE, check=True).stdout)


found = {(side, count): [] for side in (python, cpp) for count in (1, 8)}
for _ in range(ROUNDS):
    for (side, count), rates in found.items():
        rates.append(side(count))
for side in (python, cpp):
    one, eight = (statistics.median(found[side, count]) for count in (1, 8))
    print(f"{side.__name__:7} 1 thread {one:9.0f}/s   8 threads {eight:9.0f}/s   x {eight / one:.2f}")
