# SPDX-License-Identifier: MIT
"""Runs small architectures of torchvision, timm, transformers and diffusers by the CPU plugin.

The models come from architecture_models.py, with random weights: nothing but packages is downloaded. Each is run by
eager PyTorch on two sets of inputs or more and compiled as export_models.py compiles, whatever operators it asks for.
CACHE/NAME/ is its case (docs/tools/cases.md) with model.pt2, a package of the same library for libtorch's loader; a
second run with the same packages and options only runs. aoti-cases runs the case by the plugin, without libtorch in the
process, and compares all outputs with eager's, with each number of --threads. --speed times both loaders on that
library, in turns, as bench_aoti.py does.

    PYTHONPATH=build/live/architecture_packages build/live/venv/bin/python tests/live/checks/architectures.py \\
        --cache build/live/architectures --build build/gcc

Needs the packages of architecture_packages.txt beside torch and executorch. Prints a line for each model: right;
refused (by the plugin, with its whole reason); wrong (with what differs); crash; not exported (by PyTorch or
ExecuTorch, with its reason). Exits with 1 when a model is refused, wrong or crashes.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # tests/live: imports name its folders.
from benchmarks import bench_aoti
from exporters import export_models
from exporters.case_folder import write_case
from exporters.export_models import CpuAotiBackend, KernelTable
from exporters.program_cache import fingerprint, keep_package
from models.architecture_models import MODELS

SOURCES = [f"models/{name}.py" for name in ("architecture_models", "cases", "vision")]
PACKAGES = ("diffusers", "timm", "torchao", "torchvision", "transformers")


def compile_model(name: str, folder: Path) -> dict[str, Any]:
    """Writes the case of one model; returns facts of it, with `problem` when it cannot be exported."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    CpuAotiBackend.kernels = KernelTable(set(), True)
    keep_package(folder / "model.pt2")
    processor = sum(os.times()[:4])
    try:
        members = export_models.run_eagerly(MODELS[name], folder)
        export_models.write_program(MODELS[name], folder)
    except Exception as problem:  # One model must not stop the others.
        return {"problem": f"{type(problem).__name__}: {problem}".strip()[:600]}
    write_case(folder, **members)
    return {"kernels": sorted(CpuAotiBackend.kernels.asked), "bytes": (folder / "model.pte").stat().st_size,
            "seconds": round(sum(os.times()[:4]) - processor, 1)}


def facts_of(name: str, options: argparse.Namespace) -> dict[str, Any]:
    """The facts of a model's case, from the cache or compiled."""
    file = options.cache / name / "facts.json"
    wanted = fingerprint(sources=SOURCES, packages=PACKAGES)
    if file.exists() and not options.force:
        facts = json.loads(file.read_text(encoding="utf-8"))
        if facts.get("fingerprint") == wanted:
            return facts
    facts = compile_model(name, file.parent)
    if "problem" not in facts:
        facts["fingerprint"] = wanted
        file.write_text(json.dumps(facts), encoding="utf-8")
    return facts


def run_model(name: str, options: argparse.Namespace) -> tuple[str, str]:
    """The verdict on a model that was exported with each number of threads, and the reason or the largest difference: of
    the first number with which it is not right, else of the last."""
    for threads in options.threads:
        verdict, reason = run_with(threads, name, options)
        if verdict != "right":
            break
    return verdict, reason


def run_with(threads: int, name: str, options: argparse.Namespace) -> tuple[str, str]:
    """The verdict with a number of threads."""
    command = [options.build / "tests/live/checks/aoti-cases", "--plugin", plugin_of(options), "--forbid", "libtorch",
               "--forbid", "libc10", "--threads", str(threads), options.cache / name]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    except subprocess.TimeoutExpired:
        return "crash", "it ran for ten minutes"
    if done.returncode not in (0, 1):
        return "crash", f"exit status {done.returncode}: {(done.stdout + done.stderr)[-600:]}"
    line = " ".join(done.stdout.splitlines()[0].split()[2:])
    if done.returncode == 0:
        return "right", line
    # What aoti-cases says of an output that differs begins with the number of the run.
    return ("wrong" if ": run " in line else "refused"), " ".join(done.stdout.split())


def plugin_of(options: argparse.Namespace) -> Path:
    return options.build / "reference_backends/cpu_aoti/cpu_aoti.so"


def time_models(names: list[str], options: argparse.Namespace) -> None:
    """Prints a table of the least times of a run of each, by libtorch's loader and by the plugin."""
    print(f"load of the machine: {os.getloadavg()}, {os.cpu_count()} processors")
    bench_aoti.speed(argparse.Namespace(
        cache=options.cache, plugin=str(plugin_of(options)), rounds=options.rounds, seconds=options.seconds,
        bench_tenon=str(options.build / "tests/live/benchmarks/bench-tenon"), threads=options.threads, processor_time=False),
        [options.cache / name for name in names])


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cache", type=Path, required=True, metavar="DIR", help="folder for the cases")
    parser.add_argument("--build", type=Path, required=True, metavar="DIR", help="a build folder of Tenon")
    parser.add_argument("--only", action="append", metavar="NAME", choices=list(MODELS), help="a model; repeatable")
    parser.add_argument("--force", action="store_true", help="compile also what is in the cache")
    parser.add_argument("--speed", action="store_true", help="then time those that are right, and libtorch's loader")
    parser.add_argument("--rounds", type=int, default=3, help="turns of each side (default: 3)")
    parser.add_argument("--seconds", type=float, default=0.5, help="length of a turn (default: 0.5)")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2], help="numbers of threads (default: 1 2)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write verdicts, reasons and facts there")
    return parser.parse_args()


@torch.no_grad()
def main() -> int:
    options = arguments()
    export_models.compile_wrappers_quickly()
    found: dict[str, dict[str, Any]] = {}
    for name in options.only or MODELS:
        facts = facts_of(name, options)
        verdict, reason = ("not exported", facts["problem"]) if "problem" in facts else run_model(name, options)
        found[name] = {"verdict": verdict, "reason": reason} | facts
        print(f"{verdict}: {name}: {reason}", flush=True)
    totals = Counter(one["verdict"] for one in found.values())
    print(f"{len(found)} models:", ", ".join(f"{what} {number}" for what, number in sorted(totals.items())))
    if options.json:
        options.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    right = [name for name, one in found.items() if one["verdict"] == "right"]
    if options.speed and right:
        time_models(right, options)
    return 1 if totals["wrong"] or totals["crash"] or totals["refused"] else 0


if __name__ == "__main__":
    sys.exit(main())
