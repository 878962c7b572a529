#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Exports models with PyTorch, compiles them with tenon-compile, and holds what comes out to eager
PyTorch's numbers.

* With GraphBackend: every node is delegated, tenon-run gives the numbers, and ExecuTorch's wheel
  opens the program with every check on and reads it back.
* Without a backend: a program of portable kernels, which runs in the wheel and gives the numbers.

Everything is compiled twice, and the files are equal byte for byte.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy
import torch
from executorch.exir._serialize._program import deserialize_pte_binary
from executorch.runtime import Runtime, Verification

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))  # tests/live: imports name its folders.
from exporters.export_pt2 import FIXTURES, write

DELEGATED = ["mlp", "mlp_decomposed", "vision", "vision_decomposed"]
PORTABLE = ["mlp_decomposed", "vision_decomposed", "stateful", "shared", "symbolic", "dtypes",
            "arguments", "layouts", "mutated_input"]
SEED = 8  # Not the fixtures' seed: other weights and inputs.


def run(program, *arguments):
    environment = {n: v for n, v in os.environ.items() if not n.startswith("TENON_")}
    done = subprocess.run([program, *map(str, arguments)], capture_output=True, text=True,
                          env=environment, check=False)
    if done.returncode != 0:
        raise AssertionError(f"{program} exited with {done.returncode}: {done.stdout}{done.stderr}")
    return done.stdout


def compile_twice(compiler, folder, name, *arguments):
    """The program and the report on it."""
    paths = [folder / f"{name}_{number}.pte" for number in (1, 2)]
    for path in paths:
        report = json.loads(run(compiler, folder / "model.pt2", "--json", "-o", path, *arguments))
    if paths[0].read_bytes() != paths[1].read_bytes():
        raise AssertionError(f"{folder.name}: two equal calls wrote different programs")
    return paths[0], report["methods"][0]


def runs_of(folder):
    if (folder / "case.json").exists():
        return json.loads((folder / "case.json").read_text())["runs"]
    names = {kind: sorted(path.name for path in folder.glob(f"{kind}_*.npy")) for kind in
             ("input", "expected")}
    names["expected"].sort(key=lambda name: int(name.split("_")[1].removesuffix(".npy")))
    return [{"inputs": names["input"], "expected": names["expected"]}]


def check_delegated(args, folder):
    program, method = compile_twice(args.compiler, folder, "delegated", "--backend",
                                    "GraphBackend", "--plugin", args.plugin)
    if method["left_over_nodes"] or len(method["delegates"]) != 1:
        raise AssertionError(f"{folder.name}: not all of it is one delegate: {method}")
    for each in runs_of(folder):
        words = []
        for option, names in (("--input", each["inputs"]), ("--expect", each["expected"])):
            for name in names:
                words += [option, folder / name]
        run(args.runner, program, "--plugin", args.plugin, *words)
    # The wheel has no such backend, so it loads no method; it checks and reads all the rest.
    opened = Runtime.get().load_program(program, verification=Verification.InternalConsistency)
    assert opened.method_names == {"forward"}, opened.method_names
    plan, = deserialize_pte_binary(program.read_bytes()).program.execution_plan
    assert [delegate.id for delegate in plan.delegates] == ["GraphBackend"]
    print(f"{folder.name}: {method['delegated_nodes']} nodes in GraphBackend give the numbers; "
          "the wheel reads the program")


def check_portable(args, folder):
    program, method = compile_twice(args.compiler, folder, "portable")
    opened = Runtime.get().load_program(program, verification=Verification.InternalConsistency)
    forward = opened.load_method("forward")
    runs = runs_of(folder)
    for each in runs:
        inputs = [torch.from_numpy(numpy.load(folder / name)) for name in each["inputs"]]
        if folder.name == "layouts":  # It was exported with this input's channels last.
            inputs[0] = inputs[0].to(memory_format=torch.channels_last)
        found = forward.execute(inputs)
        expected = [torch.from_numpy(numpy.load(folder / name)) for name in each["expected"]]
        assert len(found) == len(expected), (len(found), len(expected))
        for one, other in zip(found, expected):
            torch.testing.assert_close(one, other)
    print(f"{folder.name}: {method['left_over_nodes']} nodes in the wheel's kernels give the "
          f"numbers in {len(runs)} runs")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("compiler", type=pathlib.Path, help="the program tenon-compile")
    parser.add_argument("runner", type=pathlib.Path, help="the program tenon-run")
    parser.add_argument("plugin", type=pathlib.Path, help="the plugin with GraphBackend")
    parser.add_argument("--only", nargs="*", help="names of models")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        for case in dict.fromkeys(DELEGATED + PORTABLE):
            torch.manual_seed(SEED)
            folder = pathlib.Path(name) / case
            if args.only and case not in args.only:
                continue
            write(folder, FIXTURES[case]())
            if case in DELEGATED:
                check_delegated(args, folder)
            if case in PORTABLE:
                check_portable(args, folder)


if __name__ == "__main__":
    main()
