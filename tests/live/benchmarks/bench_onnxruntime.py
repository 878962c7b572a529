# SPDX-License-Identifier: MIT
"""What an EPContext node costs in ONNX Runtime, through the bridge and otherwise: bench_onnxruntime.py BUILD

A chain of nodes less one node, divided by their number: Python and the session's own cost cancel out. All kinds take
turns in one process, and the fastest of many runs counts. Prints nanoseconds of one node:

    host      a delegate call of the same plugin (NoopBackend) in Tenon's host
    cpu       Neg of ONNX Runtime's CPU provider
    empty     a provider library that does nothing (empty_provider.cpp)
    bridge    NoopBackend through libtenon_onnxruntime.so
"""

import os
import pathlib
import subprocess
import sys
import time

import numpy
import onnxruntime
from onnx import TensorProto, helper

BUILD = pathlib.Path(sys.argv[1]).resolve()
HERE = BUILD / "tests/live/benchmarks"
PLUGIN = BUILD / "tests/noop.so"
CHAIN, RUNS, TURNS = 100, 50, 200


def model(kind, count):
    names = [f"t{i}" for i in range(count + 1)]
    nodes = []
    for i in range(count):
        given = {"inputs": [names[i]], "outputs": [names[i + 1]], "name": f"n{i}"}
        if kind == "cpu":
            nodes.append(helper.make_node("Neg", **given))
            continue
        nodes.append(helper.make_node("EPContext", **given, domain="com.microsoft", embed_mode=1, ep_cache_context=b"b",
                                      source={"empty": "Empty", "bridge": "NoopBackend"}[kind]))
    tensors = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1]) for name in names]
    graph = helper.make_graph(nodes, "chain", tensors[:1], tensors[-1:], value_info=tensors[1:-1])
    return helper.make_model(graph, ir_version=10, opset_imports=[helper.make_opsetid("", 18),
                                                                  helper.make_opsetid("com.microsoft", 1)])


def session(kind, count):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    name = {"empty": "Empty", "bridge": "NoopBackend"}.get(kind)
    if name:
        options.add_provider_for_devices([each for each in onnxruntime.get_ep_devices() if each.ep_name == name], {})
    made = onnxruntime.InferenceSession(model(kind, count).SerializeToString(), options)
    binding = made.io_binding()
    binding.bind_cpu_input("t0", numpy.ones(1, "float32"))
    binding.bind_output(f"t{count}")
    return lambda: made.run_with_iobinding(binding)


def main():
    os.environ["TENON_PLUGIN_FILES"] = str(PLUGIN)
    onnxruntime.register_execution_provider_library(
        "tenon", str(BUILD / "examples/applications/onnxruntime/libtenon_onnxruntime.so"))
    onnxruntime.register_execution_provider_library("empty", str(HERE / "libempty_provider.so"))
    runs = {(kind, count): session(kind, count) for kind in ("cpu", "empty", "bridge") for count in (1, 1 + CHAIN)}
    best = dict.fromkeys(runs, float("inf"))
    for _ in range(TURNS):
        for key, run in runs.items():
            begin = time.perf_counter_ns()
            for _ in range(RUNS):
                run()
            best[key] = min(best[key], (time.perf_counter_ns() - begin) / RUNS)
    found = {kind: (best[kind, 1 + CHAIN] - best[kind, 1]) / CHAIN for kind in ("cpu", "empty", "bridge")}
    host = float(subprocess.run([HERE / "bench-onnxruntime", PLUGIN], check=True, capture_output=True, text=True).stdout)
    print(f"ONNX Runtime {onnxruntime.__version__}: ns for one node")
    for kind, value in {"host": host, **found}.items():
        print(f"  {kind:8}{value:8.0f}")
    print(f"  bridge less empty: {found['bridge'] - found['empty']:.0f} ns; "
          f"bridge / host: {found['bridge'] / host:.1f}")


if __name__ == "__main__":
    main()
