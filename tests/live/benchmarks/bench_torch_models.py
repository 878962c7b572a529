# SPDX-License-Identifier: MIT
"""Models behind torch.compile, with Inductor and with GraphBackend: bench_torch_models.py BUILD [--seconds 6] [--only GLOB]...

Each model of models/torch_models.py on one processor. In each round eager, Inductor and `tenon` run once, in turn; the least
processor time of the process, all threads of it, is printed, in the table of docs/measurements/torch-compile.md, and the geometric mean of
tenon's ratios to eager. `--without-inductor` leaves out Inductor, which compiles each model for a minute; `--left` names the
operators that no partition has.
"""

import argparse
import collections
import fnmatch
import math
import os
import pathlib
import statistics
import sys
import time

parser = argparse.ArgumentParser(usage=__doc__)
parser.add_argument("build", type=pathlib.Path)
parser.add_argument("--seconds", type=float, default=6)
parser.add_argument("--only", action="append")
parser.add_argument("--without-inductor", action="store_true")
parser.add_argument("--left", action="store_true")
arguments = parser.parse_args()
os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})  # Before any library counts processors.
BUILD = arguments.build.resolve()
sys.path[:0] = [str(BUILD / "examples/python"), str(pathlib.Path(__file__).resolve().parents[1])]

import torch  # noqa: E402

import tenon.dynamo  # noqa: E402
from models import torch_models  # noqa: E402
from tenon.dynamo import _report  # noqa: E402

PLUGIN = str(BUILD / "examples/backends/graph_backend/graph_backend.so")


def least_times(functions, inputs, seconds):
    least = dict.fromkeys(functions, math.inf)
    end, rounds = time.monotonic() + seconds, 0
    while time.monotonic() < end or rounds < 3:
        rounds += 1
        for name, function in functions.items():
            begun = time.process_time_ns()
            function(*inputs)
            least[name] = min(least[name], (time.process_time_ns() - begun) / 1e6)
    return least


def measure(name):
    """The row of a model: least milliseconds by function, and what became of its graphs."""
    torch._dynamo.reset()
    model, inputs = torch_models.make(name)
    functions = {"eager": model}
    if not arguments.without_inductor:
        functions["inductor"] = torch.compile(model)
    functions["tenon"] = torch.compile(model, backend=tenon.dynamo.tenon,
                                       options={"backend": "GraphBackend", "plugins": [PLUGIN]})
    expected, compiling = model(*inputs), {}
    with _report.collected() as graphs:
        for kind, function in list(functions.items())[1:]:
            begun = time.monotonic()
            found = function(*inputs)
            compiling[kind] = time.monotonic() - begun
    largest = ((found - expected).float().abs().max() / expected.float().abs().max()).item()
    return least_times(functions, inputs, arguments.seconds), compiling, graphs, largest


def main():
    torch.set_num_threads(1)
    ratios = []
    print("| model | eager, ms | Inductor | tenon | nodes taken | partitions | compiled in, s: Inductor, tenon | difference |\n"
          "|---|---:|---:|---:|---|---:|---|---:|")
    only = arguments.only or ["*"]
    for name in [name for name in torch_models.MODELS if any(fnmatch.fnmatch(name, each) for each in only)]:
        least, compiling, graphs, largest = measure(name)
        nodes, left = sum(len(each.nodes) for each in graphs), [node for each in graphs for node in each.left]
        ratio = {kind: each / least["eager"] for kind, each in least.items()}
        ratios.append(ratio["tenon"])
        print(f"| {name} | {least['eager']:.2f} | {ratio.get('inductor', math.nan):.2f} | {ratio['tenon']:.2f} "
              f"| {nodes - len(left)} of {nodes} | {sum(len(each.partitions) for each in graphs)} "
              f"| {compiling.get('inductor', math.nan):.0f}, {compiling['tenon']:.1f} | {largest:.1e} |", flush=True)
        if arguments.left:
            reasons = collections.Counter((node.operator, node.why()) for node in left)
            for (operator, why), count in reasons.items():
                print(f"    {count} x {operator}: {why}", flush=True)
    print(f"\nGeometric mean of tenon over eager: {statistics.geometric_mean(ratios):.2f}; largest: {max(ratios):.2f}")


with torch.no_grad():
    main()
