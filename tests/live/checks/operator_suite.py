# SPDX-License-Identifier: MIT
"""ExecuTorch's suite of operators, compiled by AOTInductor and run by the CPU plugin.

The cases come from `executorch.backends.test.suite.operators` in the wheel: a module and its arguments, in float32 or
another --dtype. Each is run by eager PyTorch. Cases that eager runs are compiled as export_models.py compiles (whatever
operators they ask for), several as one program whose outputs are the outputs of each, and those are compared with
eager's by tenon-run. A program that is refused or crashes is halved until one case is left: each case has its own
verdict and reason. CACHE/ keeps the programs, so that a second run only runs; other options of the exporter or versions
of PyTorch or ExecuTorch have them compiled again.

    build/live/venv/bin/python tests/live/checks/operator_suite.py --cache build/live/operators --build build/gcc

Prints each case that is not right and the totals: right; nearer to float32 than eager (for narrow dtypes: not within the
limits, but with smaller errors); as libtorch (not what eager returns, but what libtorch's own loader returns for the
same library, or a crash as there); wrong by libtorch too (where its loader returns other wrong numbers, as of code that
reads what nothing has written); refused (by the exporter or the plugin, with the reason); wrong; crash. --only TEXT
takes cases whose name contains it; --sample N takes N of them, the same each time; --group 1 compiles each alone. Exits
with 1 when no case was found, one is wrong or crashes, and when one of --sample is not right.
"""

import argparse
import copy
import importlib
import inspect
import json
import os
import pkgutil
import random
import shutil
import subprocess
import sys
import time
import types
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.utils._pytree import tree_leaves, tree_map

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # tests/live: imports name its folders.
from exporters import export_models
from exporters.case_folder import save_tensors
from exporters.program_cache import fingerprint, keep_package

# As for the kit's cases in float32 that PyTorch computed; of narrow types, one or two units of the last place.
# Whole numbers have real results too, so there tenon-run's own limits for the dtype of each result hold.
LIMITS = {"float32": (1e-4, 1e-5), "float64": (1e-4, 1e-5), "bfloat16": (1.6e-2, 1e-3), "float16": (2e-3, 1e-4),
          "int64": None, "int32": None, "int8": None, "uint8": None, "bool": None}
SEED = 20261123
SUITE = "executorch.backends.test.suite.operators"


class Recorder:
    """Takes the place of the suite's test runner: collects the cases of one test."""

    _flow = types.SimpleNamespace(name="aoti", backend="aoti", quantize=False)

    def __init__(self) -> None:
        self.cases: list[tuple[torch.nn.Module, tuple[Any, ...]]] = []

    def lower_and_run_model(self, model: torch.nn.Module, args: tuple[Any, ...], **_: Any) -> None:
        self.cases.append((model, args))


def tests() -> Iterator[tuple[str, Any]]:
    """Name and function of each test."""
    package = importlib.import_module(SUITE)
    for module in sorted(one.name for one in pkgutil.iter_modules(package.__path__)):
        if not module.startswith("test_"):
            continue
        loaded = importlib.import_module(f"{SUITE}.{module}")
        for name, function in sorted(vars(loaded).items()):
            if name.startswith("test_") and callable(function):
                yield f"{module[5:]}.{name[5:]}", function


def cases() -> Iterator[tuple[str, Any, Any]]:
    """Name, module and arguments of each case. A test has several; its numbers are the same in each run."""
    for name, function in tests():
        torch.manual_seed(0)
        recorder = Recorder()
        arguments = [torch.float32] if "dtype" in inspect.signature(function).parameters else []
        try:
            function(recorder, *arguments)
        except Exception as problem:
            if type(problem).__name__ != "SkipTest":
                raise
            continue
        for number, (model, args) in enumerate(recorder.cases):
            yield f"{name}.{number}", model, args


def converted(model: torch.nn.Module, args: tuple[Any, ...], dtype: torch.dtype) -> tuple[Any, tuple[Any, ...]]:
    """Module and arguments with `dtype` in place of float32. Whole numbers are eight times as large: most arguments
    are below 1. Booleans say which of those are odd."""
    if dtype == torch.float32:
        return model, args

    def convert(leaf: Any) -> Any:
        if not isinstance(leaf, torch.Tensor) or leaf.dtype != torch.float32:
            return leaf
        if dtype.is_floating_point:
            return leaf.to(dtype)
        whole = (leaf * 8).to(torch.int64)  # From this a negative number has one meaning in uint8.
        return whole % 2 == 1 if dtype == torch.bool else whole.to(dtype)

    model = copy.deepcopy(model)
    return model.to(dtype) if dtype.is_floating_point else model, tree_map(convert, args)


@dataclass
class Case:
    """A module with its arguments and what eager PyTorch makes of them."""

    name: str
    model: torch.nn.Module
    args: tuple[Any, ...]
    expected: list[torch.Tensor]


def tensors_of(tree: Any) -> list[torch.Tensor]:
    return [leaf for leaf in tree_leaves(tree) if isinstance(leaf, torch.Tensor)]


class Group(torch.nn.Module):
    """Several modules as one: takes the arguments of each and returns the tensors of each."""

    def __init__(self, models: list[torch.nn.Module]) -> None:
        super().__init__()
        self.models = torch.nn.ModuleList(models)

    def forward(self, *args: Any) -> tuple[torch.Tensor, ...]:
        results = [model(*one) for model, one in zip(self.models, args, strict=True)]
        return tuple(tensors_of(results))


def compile_group(group: list[Case], folder: Path) -> dict[str, Any]:
    """Writes the folder of one program; returns its facts: what the exporter refused, or the files."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    backend = export_models.CpuAotiBackend
    backend.kernels = export_models.KernelTable(set(), True)
    args = tuple(case.args for case in group)
    keep_package(folder / "model.pt2")
    try:
        manager = export_models.lower(torch.export.export(Group([case.model for case in group]), args))
    except Exception as problem:
        return {"exporter": f"{type(problem).__name__}: {problem}".splitlines()[0][:400]}
    manager.save(str(folder / "model.pte"))
    outputs = [tensor for case in group for tensor in case.expected]
    return {"inputs": save_tensors(tensors_of(args), "in", folder), "outputs": save_tensors(outputs, "out", folder),
            "asked": sorted(backend.kernels.asked)}


# What makes a program of a case, read before anything else can change this file.
SOURCES_OF_PROGRAMS = [inspect.getsource(part) for part in (cases, converted, Group, compile_group)]


def facts_of(group: list[Case], options: argparse.Namespace) -> tuple[dict[str, Any] | None, Path]:
    """The facts of the program of these cases, from the cache or compiled, and its folder."""
    key = fingerprint(*SOURCES_OF_PROGRAMS, *(case.name for case in group))
    folder = options.cache / options.dtype / f"{group[0].name}-{len(group)}-{key}"
    if (folder / "facts.json").exists():
        return json.loads((folder / "facts.json").read_text(encoding="utf-8")), folder
    if options.cached:
        return None, folder
    facts = compile_group(group, folder)
    (folder / "facts.json").write_text(json.dumps(facts), encoding="utf-8")
    return facts, folder


def run_program(facts: dict[str, Any], folder: Path, options: argparse.Namespace) -> tuple[str, str, list[Any]]:
    """The verdict on a program, the reason, and what tenon-run found of each output."""
    command: list[Any] = [options.build / "examples/programs/tenon-run/tenon-run", folder / "model.pte", "--plugin",
                          options.build / "reference_backends/cpu_aoti/cpu_aoti.so", "--json", "--output", folder / "found"]
    if limits := LIMITS[options.dtype]:
        command += ["--rtol", str(limits[0]), "--atol", str(limits[1])]
    for option, names in (("--input", facts["inputs"]), ("--expect", facts["outputs"])):
        for name in names:
            command += [option, folder / name]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    except subprocess.TimeoutExpired:
        return "crash", "it ran for ten minutes", []
    if done.returncode < 0 or done.returncode > 5:
        return "crash", f"exit status {done.returncode}: {(done.stdout + done.stderr)[-300:]}", []
    report = json.loads(done.stdout)
    if done.returncode in (0, 1):
        return ("wrong" if done.returncode else "right"), "", report["outputs"]
    return "refused", str(report["error"]["text"])[-600:], []


def run_by_libtorch(group: list[Case], folder: Path) -> tuple[int, list[torch.Tensor]]:
    """The exit status of a process that runs the program's library by libtorch's loader, and its outputs."""
    inputs, outputs = folder / "inputs.pt", folder / "outputs.pt"
    torch.save(tensors_of(tuple(case.args for case in group)), inputs)
    outputs.unlink(missing_ok=True)
    command = [sys.executable, Path(__file__).parent / "run_package.py", folder / "model.pt2", inputs, outputs]
    status = subprocess.run(command, timeout=600, check=False).returncode
    return status, torch.load(outputs) if status == 0 else []


def rounds_less(case: Case, files: list[Path], dtype: str) -> bool:
    """Whether no error is larger than the largest of eager PyTorch, which sums some narrow numbers in the narrow type,
    and of eager's shape and dtype. Errors are differences from what eager computes in float32, which must be finite.
    Whole numbers are eager's."""
    if dtype not in ("bfloat16", "float16"):
        return False
    model, args = copy.deepcopy((case.model, case.args))
    narrow = getattr(torch, dtype)
    wide = tree_map(lambda leaf: leaf.float() if isinstance(leaf, torch.Tensor) and leaf.dtype == narrow else leaf, args)
    for file, eager, exact in zip(files, case.expected, tensors_of(model.float()(*wide)), strict=True):
        found = tensor_in(file, eager.dtype)
        if found.shape != eager.shape or found.dtype != eager.dtype:
            return False
        if torch.equal(found, eager) or not eager.numel():
            continue
        if not eager.is_floating_point():
            return False
        error, limit = ((one.double() - exact.double()).abs().max() for one in (found, eager))
        if not (limit.isfinite() and error <= limit):
            return False
    return True


def tensor_in(file: Path, dtype: torch.dtype) -> torch.Tensor:
    """The tensor in a file of NumPy, which has the bits of one of bfloat16."""
    values = np.load(file)
    return torch.from_numpy(values.view(np.int16)).view(dtype) if dtype == torch.bfloat16 else torch.from_numpy(values)


def are_close(found: list[torch.Tensor], expected: list[torch.Tensor], dtype: str) -> bool:
    """Whether tensors have the same shapes and dtypes, and values within the limits; whole numbers and booleans equal."""
    for one, other in zip(found, expected, strict=True):
        rtol, atol = (LIMITS[dtype] or (None, None)) if other.is_floating_point() else (0, 0)
        try:
            torch.testing.assert_close(one, other, rtol=rtol, atol=atol, equal_nan=True)
        except AssertionError:
            return False
    return True


def has_other_numbers(file: Path, expected: torch.Tensor) -> bool:
    """Whether an output of whole numbers or booleans is not what is expected: the limits of tenon-run are for others."""
    return not expected.is_floating_point() and not torch.equal(tensor_in(file, expected.dtype), expected)


def verdicts(group: list[Case], options: argparse.Namespace) -> Iterator[tuple[str, str, str]]:
    """Name, verdict and reason of each case. A case whose outputs differ in a group is wrong, even if it should be
    right alone."""
    facts, folder = facts_of(group, options)
    if facts is None:
        yield from ((case.name, "not in the cache", "") for case in group)
        return
    outputs: list[Any] = []
    of_libtorch: tuple[int, list[torch.Tensor]] | None = None
    if "exporter" in facts:
        verdict, reason = "refused", f"exporter: {facts['exporter']}"
    else:
        verdict, reason, outputs = run_program(facts, folder, options)
    if outputs:
        position = 0
        for case in group:
            numbers = range(position, position + len(case.expected))
            position += len(case.expected)
            files = [folder / f"found/output{i}.npy" for i in numbers]
            differing = [outputs[i]["compare"] for i, file, expected in zip(numbers, files, case.expected, strict=True)
                         if not outputs[i]["compare"]["equal"] or has_other_numbers(file, expected)]
            if not differing:
                yield case.name, "right", ""
            elif rounds_less(case, files, options.dtype):
                yield case.name, "nearer to float32 than eager", json.dumps(differing)[:600]
            else:
                of_libtorch = of_libtorch or run_by_libtorch(group, folder)
                status, theirs = of_libtorch
                if status != 0 and len(group) > 1:  # Any of the cases may be the cause.
                    yield from verdicts([case], options)
                    continue
                found = [tensor_in(file, expected.dtype) for file, expected in zip(files, case.expected, strict=True)]
                if status < 0 or theirs and are_close(found, [theirs[i] for i in numbers], options.dtype):
                    verdict = "as libtorch"
                elif theirs and not are_close([theirs[i] for i in numbers], case.expected, options.dtype):
                    verdict = "wrong by libtorch too"
                else:
                    verdict = "wrong"
                yield case.name, verdict, f"libtorch's process ended with {status}; {json.dumps(differing)[:600]}"
    elif len(group) == 1:
        if verdict == "crash" and (status := run_by_libtorch(group, folder)[0]) < 0:
            verdict, reason = "as libtorch", f"libtorch's process ended with {status}; {reason}"
        yield group[0].name, verdict, reason
    else:
        half = len(group) // 2
        yield from verdicts(group[:half], options)
        yield from verdicts(group[half:], options)


def run_eagerly(options: argparse.Namespace) -> tuple[list[Case], int]:
    """The chosen cases that eager PyTorch runs, and the number of the others."""
    chosen = [case for case in cases() if not options.only or any(text in case[0] for text in options.only)]
    if options.sample is not None:
        chosen = random.Random(SEED).sample(chosen, min(options.sample, len(chosen)))
    found = []
    for name, model, args in chosen:
        try:
            model, args = converted(model.eval(), args, getattr(torch, options.dtype))
            found.append(Case(name, model, args, tensors_of(model(*copy.deepcopy(args)))))
        except Exception as problem:
            print(f"not run by eager PyTorch: {name}: {problem}".splitlines()[0][:200], file=sys.stderr)
    return found, len(chosen) - len(found)


@torch.no_grad()
def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cache", type=Path, required=True, metavar="DIR", help="folder for the programs")
    parser.add_argument("--build", type=Path, required=True, metavar="DIR", help="a build folder of Tenon")
    parser.add_argument("--only", action="append", metavar="TEXT", help="cases whose name contains it; repeatable")
    parser.add_argument("--sample", type=int, metavar="N", help="N of the cases, the same each time")
    parser.add_argument("--dtype", choices=list(LIMITS), default="float32", help="in place of float32")
    parser.add_argument("--group", type=int, default=48, metavar="N", help="cases of one program (default: 48)")
    parser.add_argument("--cached", action="store_true", help="only programs that are in the cache")
    options = parser.parse_args()
    export_models.compile_wrappers_quickly()
    found, refused_by_eager = run_eagerly(options)
    totals: Counter[str] = Counter()
    for first in range(0, len(found), options.group):
        started, processor = time.monotonic(), sum(os.times()[:4])
        for name, verdict, reason in verdicts(found[first:first + options.group], options):
            totals[verdict] += 1
            if verdict != "right":
                print(f"{verdict}: {name}: {reason}", flush=True)
        print(f"cases {first} to {min(first + options.group, len(found)) - 1} of {len(found)}: {dict(totals)}; "
              f"{time.monotonic() - started:.0f} s, {sum(os.times()[:4]) - processor:.0f} s of the processor",
              file=sys.stderr, flush=True)
    print(f"{options.dtype}:", ", ".join(f"{what} {number}" for what, number in sorted(totals.items())),
          f"of {len(found)} that eager runs; eager PyTorch refuses {refused_by_eager}")
    if options.sample is not None:
        return 0 if found and totals["right"] == len(found) else 1
    return 1 if totals["wrong"] or totals["crash"] or not found else 0


if __name__ == "__main__":
    sys.exit(main())
