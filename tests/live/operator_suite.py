# SPDX-License-Identifier: MIT
"""ExecuTorch's suite of operators, compiled by AOTInductor and run by the CPU plugin.

The cases are those of `executorch.backends.test.suite.operators` in the wheel: a module and its arguments, in
float32 or another --dtype. Each is run by eager PyTorch, compiled as export_models.py compiles (whatever operators it asks for), and its
outputs are compared with those of tenon-run. CACHE/CASE/ keeps the program, so that a second run only runs.

    build/live/venv/bin/python tests/live/operator_suite.py --cache build/live/operators --build build/gcc

Prints each case that is not right and the totals: right; refused (by the exporter or the plugin, with the reason);
wrong; crash. --only TEXT takes cases whose name contains it; --sample N takes N of them, the same each time. Exits with 1
when a case is wrong or crashes, and when --sample has one that is refused.
"""

import argparse
import copy
import importlib
import inspect
import json
import pkgutil
import random
import re
import shutil
import subprocess
import sys
import types
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import export_models
import torch
from case_folder import save_tensors
from torch.utils._pytree import tree_leaves, tree_map

# As for the kit's cases in float32 that PyTorch computed; of narrow types, one or two units of the last place.
LIMITS = {"float32": (1e-4, 1e-5), "float64": (1e-4, 1e-5), "bfloat16": (1.6e-2, 1e-3), "float16": (2e-3, 1e-4),
          "int64": (0, 0), "int32": (0, 0), "bool": (0, 0)}
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
    are below 1."""
    if dtype == torch.float32:
        return model, args

    def convert(leaf: Any) -> Any:
        if not isinstance(leaf, torch.Tensor) or leaf.dtype != torch.float32:
            return leaf
        return leaf.to(dtype) if dtype.is_floating_point else (leaf * 8).to(dtype)

    model = copy.deepcopy(model)
    return model.to(dtype) if dtype.is_floating_point else model, tree_map(convert, args)


def compile_case(model: torch.nn.Module, args: tuple[Any, ...], folder: Path) -> dict[str, Any]:
    """Writes the folder of one case; returns its facts: what eager or the exporter refused, or the files."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    try:
        expected = model(*copy.deepcopy(args))
    except Exception as problem:
        return {"eager": f"{type(problem).__name__}: {problem}"}
    backend = export_models.CpuAotiBackend
    backend.kernels = export_models.KernelTable(set(), True)
    try:
        manager = export_models.lower(torch.export.export(model, args))
    except Exception as problem:
        return {"exporter": f"{type(problem).__name__}: {problem}".splitlines()[0][:400]}
    manager.save(str(folder / "model.pte"))
    inputs = [leaf for leaf in tree_leaves(args) if isinstance(leaf, torch.Tensor)]
    outputs = [leaf for leaf in tree_leaves(expected) if isinstance(leaf, torch.Tensor)]
    return {"inputs": save_tensors(inputs, "in", folder), "outputs": save_tensors(outputs, "out", folder),
            "asked": sorted(backend.kernels.asked)}


def run_case(facts: dict[str, Any], folder: Path, build: Path, dtype: str) -> tuple[str, str]:
    """The verdict on one case and its reason."""
    if "exporter" in facts:
        return "refused", f"exporter: {facts['exporter']}"
    rtol, atol = LIMITS[dtype]
    command: list[Any] = [build / "examples/tenon-run/tenon-run", folder / "model.pte", "--plugin",
                          build / "reference_backends/cpu_aoti/cpu_aoti.so", "--rtol", str(rtol), "--atol", str(atol)]
    for option, names in (("--input", facts["inputs"]), ("--expect", facts["outputs"])):
        for name in names:
            command += [option, folder / name]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    text = re.sub(r"\s+", " ", done.stdout + done.stderr).strip()
    if done.returncode == 0:
        return "right", ""
    if done.returncode < 0 or done.returncode > 5:
        return "crash", f"exit status {done.returncode}: {text[-300:]}"
    return ("wrong" if done.returncode == 1 else "refused"), text[-600:]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cache", type=Path, required=True, metavar="DIR", help="folder for the cases")
    parser.add_argument("--build", type=Path, required=True, metavar="DIR", help="a build folder of Tenon")
    parser.add_argument("--only", action="append", metavar="TEXT", help="cases whose name contains it; repeatable")
    parser.add_argument("--sample", type=int, metavar="N", help="N of the cases, the same each time")
    parser.add_argument("--dtype", choices=list(LIMITS), default="float32", help="in place of float32")
    parser.add_argument("--cached", action="store_true", help="only cases that are in the cache")
    parser.add_argument("--compile", action="store_true", help="fill the cache and run nothing")
    options = parser.parse_args()
    totals: Counter[str] = Counter()
    chosen = [case for case in cases() if not options.only or any(text in case[0] for text in options.only)]
    if options.sample is not None:
        chosen = random.Random(SEED).sample(chosen, min(options.sample, len(chosen)))
    for name, model, args in chosen:
        folder = options.cache / (name if options.dtype == "float32" else f"{name}.{options.dtype}")
        if (folder / "facts.json").exists():
            facts = json.loads((folder / "facts.json").read_text(encoding="utf-8"))
        elif options.cached:
            continue
        else:
            with torch.no_grad():
                facts = compile_case(*converted(model.eval(), args, getattr(torch, options.dtype)), folder)
            (folder / "facts.json").write_text(json.dumps(facts), encoding="utf-8")
        if "eager" in facts:
            totals["not run by eager PyTorch"] += 1
            continue
        if options.compile:
            totals["compiled"] += 1
            continue
        verdict, reason = run_case(facts, folder, options.build, options.dtype)
        totals[verdict] += 1
        if verdict != "right":
            print(f"{verdict}: {name}: {reason}", flush=True)
    count = sum(totals[one] for one in ("right", "refused", "wrong", "crash"))
    print(", ".join(f"{what} {number}" for what, number in sorted(totals.items())), f"of {count} that eager runs")
    refused = options.sample is not None and totals["refused"]
    return 1 if totals["wrong"] or totals["crash"] or refused else 0


if __name__ == "__main__":
    sys.exit(main())
