# SPDX-License-Identifier: MIT
"""Eight threads, one method each, in Python and in C++: threads.py BUILD PLUGIN.so MODEL.pte [ROUNDS]

Prints runs per second of 1 and of 8 threads, the median of interleaved rounds, and their ratio: on a
quiet machine, how threads scale. Then 1 thread and 2, each on a core of its own: runs in the windows of
WINDOW_US in which all threads ran, the median and the ninth decile, which hold on a busy machine too. A
thread that waited for the GIL for the whole window is not in them, so their number counts as well.

The C++ side is the program python-threads of the same build (ninja -C BUILD
examples/python/python-threads). Set OMP_NUM_THREADS=1, so that a run is one thread.
"""

import collections
import os
import pathlib
import statistics
import subprocess
import sys
import threading
import time

BUILD, PLUGIN, MODEL = sys.argv[1:4]
ROUNDS = int(sys.argv[4]) if len(sys.argv) > 4 else 5
SECONDS = 2.0
WINDOW_US = 200
sys.path.insert(0, str(pathlib.Path(BUILD) / "examples/python"))

import tenon  # noqa: E402

program = tenon.load(MODEL, plugins=[PLUGIN])
tensor = program.method_meta().inputs[0].tensor
elements = 1
for size in tensor.sizes:
    elements *= size
x = memoryview(bytearray(4 * elements)).cast("f", tensor.sizes)


def start(work, count):
    threads = [threading.Thread(target=work, args=(each,)) for each in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def python(count):
    methods = [program.load_method() for _ in range(count)]
    runs = [0] * count
    begun = time.monotonic()
    end = begun + SECONDS

    def work(index):
        method, mine = methods[index], 0
        while time.monotonic() < end:
            method(x)
            mine += 1
        runs[index] = mine

    start(work, count)
    return sum(runs) / (time.monotonic() - begun)


def python_windows(count):
    methods = [program.load_method() for _ in range(count)]
    ends = [[] for _ in range(count)]
    clock = time.monotonic_ns
    end = clock() + int(SECONDS * 1e9)

    def work(index):
        os.sched_setaffinity(0, {index})
        method, put = methods[index], ends[index].append
        now = clock()
        while now < end:
            method(x)
            now = clock()
            put(now)

    start(work, count)
    windows = [collections.Counter(each // (1000 * WINDOW_US) for each in one) for one in ends]
    return [sum(one[each] for one in windows) for each in windows[0] if all(one[each] for one in windows)]


def run_cpp(count, *window):
    command = [f"{BUILD}/examples/python/python-threads", PLUGIN, MODEL, 4 * elements, count,
               SECONDS, *window]
    return subprocess.run(list(map(str, command)), stdout=subprocess.PIPE, check=True).stdout.split()


def cpp(count):
    [rate] = run_cpp(count)
    return float(rate)


def cpp_windows(count):
    return list(map(int, run_cpp(count, WINDOW_US)))


rates = {(side, count): [] for side in (python, cpp) for count in (1, 8)}
windows = {(side, count): [] for side in (python_windows, cpp_windows) for count in (1, 2)}
for _ in range(ROUNDS):
    for (side, count), found in rates.items():
        found.append(side(count))
    for (side, count), found in windows.items():
        found += side(count)
for side in (python, cpp):
    one, eight = (statistics.median(rates[side, count]) for count in (1, 8))
    print(f"{side.__name__:14} 1 thread {one:9.0f}/s   8 threads {eight:9.0f}/s   x {eight / one:.2f}")
for side in (python_windows, cpp_windows):
    of = {}
    for count in (1, 2):
        found = sorted(windows[side, count])
        of[count] = [found[len(found) * tenths // 10] for tenths in (5, 9)]
        print(f"{side.__name__:14} {count} on {count} cores: {len(found):6} windows, runs in one: "
              f"median {of[count][0]}, ninth decile {of[count][1]}")
    print(f"{side.__name__:14} x {of[2][0] / of[1][0]:.2f} of the medians, "
          f"x {of[2][1] / of[1][1]:.2f} of the ninth deciles")
