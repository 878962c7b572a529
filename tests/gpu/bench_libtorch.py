# SPDX-License-Identifier: MIT
"""Times a program for CUDA: CudaBackend, beside torch's own loader of the same model.

Prints one JSON object, in seconds of the fastest run:

- tenon, tenon_graph: `tenon-run` without and with CUDA graphs;
- torch_compiled: the model of eager_models.py, compiled by this machine's torch with AOTInductor and run by its loader;
- torch_same_library: torch's loader on the very library in the program. It takes none with weights in another
  file, and none that needs another torch, so this one runs in a process of its own;
- torch_by_events, torch_captured: torch's loader on the compiled model, with inputs and outputs on the device, by CUDA
  events: a call of it, and a launch of a CUDA graph of one, in which nothing of Python is.

The sides take turns, three times. Inputs and outputs are in the host's memory, but for the last two. What cannot be timed
is in `why_not`, with the reason.
"""

import argparse
import json
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Callable

ROUNDS = 3
LIBRARY_SECONDS = 60


def library_of(program: bytes) -> bytes:
    """The ELF library inside a program: from its magic to the end of its section headers."""
    begin = program.index(b"\x7fELF")
    offset = struct.unpack_from("<Q", program, begin + 0x28)[0]
    size, count = struct.unpack_from("<HH", program, begin + 0x3A)
    return program[begin : begin + offset + size * count]


def ours(args: argparse.Namespace, case: dict[str, Any], as_graph: bool) -> float:
    """Seconds of our fastest run."""
    method = case.get("method", "forward")
    command = [args.tenon_run, str(args.folder / "model.pte"), "--plugin", args.plugin, "--method", method]
    for name in case["runs"][0]["inputs"]:
        command += ["--input", str(args.folder / name)]
    for data in sorted(args.folder.glob("*.ptd")):
        command += ["--data", str(data)]
    if as_graph:
        command += ["--option", f"CudaBackend.enable_cuda_graph_for_method={method}"]
    command += ["--repeat", str(args.repeat), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"bench_libtorch: tenon-run: {(done.stderr or done.stdout).strip()}")
    return json.loads(done.stdout)["timings"]["execute"]["min_ns"] / 1e9


def fastest(run: Callable[[list[Any]], Any], inputs: list[Any], device: str, repeat: int) -> float:
    """Seconds of the fastest of `repeat` runs, with copies from and to the host."""
    best = float("inf")
    for _ in range(repeat):
        begin = time.perf_counter()
        _ = [output.cpu() for output in run([value.to(device) for value in inputs])]
        best = min(best, time.perf_counter() - begin)
    return best


def by_events(body: Callable[[], Any], repeat: int) -> float:
    """Seconds of the fastest of `repeat` calls on the device's clock."""
    import torch

    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    best = float("inf")
    for _ in range(repeat):
        begin.record()
        body()
        end.record()
        end.synchronize()
        best = min(best, begin.elapsed_time(end) / 1e3)
    return best


def captured(run: Callable[[list[Any]], Any], inputs: list[Any], repeat: int) -> float:
    """The least seconds of launches of a graph of one run, which has run before."""
    import torch

    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        run(inputs)
    return by_events(graph.replay, repeat)


def on_device(run: Callable[[list[Any]], Any], inputs: list[Any], repeat: int) -> tuple[dict[str, float], dict[str, str]]:
    """Times of torch's loader without copies, and why there are none."""
    out: dict[str, float] = {}
    why_not: dict[str, str] = {}
    there = [value.cuda() for value in inputs]
    for name, body in (("torch_by_events", lambda: by_events(lambda: run(there), repeat)),
                       ("torch_captured", lambda: captured(run, there, repeat))):
        try:
            out[name] = body()
        except RuntimeError as failure:
            why_not[name] = last_line(str(failure))
    return out, why_not


def case_inputs(folder: Path, case: dict[str, Any]) -> list[Any]:
    """Tensors of the first run."""
    import numpy as np
    import torch

    tensors = [torch.from_numpy(np.load(folder / name)) for name in case["runs"][0]["inputs"]]
    # NumPy has no bfloat16: such a file has its bits as int16, and no model here has inputs of that type.
    return [value.view(torch.bfloat16) if value.dtype == torch.int16 else value for value in tensors]


def compiled(name: str, inputs: list[Any], device: str, folder: str) -> tuple[Callable[[list[Any]], Any], dict[str, Any]]:
    """The model, compiled here, and facts about that."""
    import copy

    import torch
    from eager_models import MODELS, dynamic_shapes

    torch.manual_seed(0)
    model = MODELS[name]().eval()
    begin = time.perf_counter()
    with torch.no_grad():
        expected = copy.deepcopy(model)(*inputs)
        on_device = copy.deepcopy(model).to(device)
        program = torch.export.export(on_device, tuple(value.to(device) for value in inputs),
                                      dynamic_shapes=dynamic_shapes(name))
        path = torch._inductor.aoti_compile_and_package(program, package_path=f"{folder}/{name}.pt2")
        loader = torch._inductor.aoti_load_package(path).loader
        found = loader.run([value.to(device) for value in inputs])[0].cpu()
    seconds = time.perf_counter() - begin
    difference = (found - expected).abs().max().item()
    return loader.run, {"compile_seconds": seconds, "torch_difference": difference}


def last_line(text: str) -> str:
    """The end of a text, which often has the reason."""
    return (text.strip().splitlines() or [""])[-1]


def same_library(args: argparse.Namespace, case: dict[str, Any]) -> float:
    """Seconds of torch's loader on the program's own library. May end the process."""
    import torch

    with tempfile.NamedTemporaryFile(suffix=".so") as file:
        file.write(library_of((args.folder / "model.pte").read_bytes()))
        file.flush()
        runner = torch._C._aoti.AOTIModelContainerRunnerCuda(file.name, 1, "cuda", "")
        return fastest(runner.run, case_inputs(args.folder, case), "cuda", args.repeat)


def same_library_apart(args: argparse.Namespace) -> float:
    """`same_library` in another process. RuntimeError with its last line when it fails."""
    command = [sys.executable, __file__, "--only-library", "--tenon-run", args.tenon_run, "--plugin", args.plugin,
               "--repeat", str(args.repeat), str(args.folder)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=LIBRARY_SECONDS)
    except subprocess.TimeoutExpired:
        raise RuntimeError(f"no end within {LIBRARY_SECONDS} s") from None
    if done.returncode != 0:
        raise RuntimeError(last_line(done.stderr) or f"the process ended with {done.returncode}")
    return float(done.stdout.splitlines()[-1])


def torch_or_reason(device: str) -> str:
    """Why torch cannot run on the device here; empty when it can."""
    try:
        import torch
    except ImportError as failure:
        return f"torch is not installed: {failure}"
    if device == "cuda" and not torch.cuda.is_available():
        return "torch finds no CUDA device"
    return ""


def times(args: argparse.Namespace, case: dict[str, Any], scratch: str) -> dict[str, Any]:
    """The object to print."""
    out: dict[str, Any] = {}
    why_not: dict[str, str] = {}
    sides: dict[str, Callable[[], float]] = {
        "tenon": lambda: ours(args, case, False), "tenon_graph": lambda: ours(args, case, True)}
    if reason := torch_or_reason(args.device):
        why_not |= {"torch_compiled": reason, "torch_same_library": reason}
    else:
        import torch
        from eager_models import MODELS

        out["torch"] = torch.__version__
        inputs = case_inputs(args.folder, case)
        try:
            if args.folder.name not in MODELS:
                raise NotImplementedError("eager_models.py has no such model")
            run, facts = compiled(args.folder.name, inputs, args.device, scratch)
            out |= facts
            sides["torch_compiled"] = lambda: fastest(run, inputs, args.device, args.repeat)
            if args.device == "cuda":
                found, reasons = on_device(run, inputs, args.repeat)
                out |= found
                why_not |= reasons
        except Exception as failure:  # Of any part of the compiler, or of the C++ compiler that it calls.
            why_not["torch_compiled"] = f"{type(failure).__name__}: {last_line(str(failure))}"
        # cuda_addmul has no weights, and a file for them all the same.
        if args.folder.name != "cuda_addmul":
            why_not["torch_same_library"] = "its weights are in another file"
        else:
            try:
                same_library_apart(args)
                sides["torch_same_library"] = lambda: same_library_apart(args)
            except RuntimeError as failure:
                why_not["torch_same_library"] = str(failure)
    results: dict[str, list[float]] = {name: [] for name in sides}
    for _ in range(ROUNDS):
        for name, side in sides.items():
            results[name].append(side())
    out |= {name: min(values) for name, values in results.items()}
    for rival in ("torch_compiled", "torch_same_library"):
        if rival in out:
            out[f"ratio_to_{rival}"] = out["tenon"] / out[rival]
            out[f"graph_ratio_to_{rival}"] = out["tenon_graph"] / out[rival]
    return out | {"why_not": why_not}


def main() -> int:
    """Prints the object, after a line feed, or for --only-library the seconds."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tenon-run", required=True)
    parser.add_argument("--plugin", required=True)
    parser.add_argument("--repeat", type=int, default=2000)
    parser.add_argument("--device", default="cuda", help="of torch; `cpu` to try this program")
    parser.add_argument("--only-library", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("folder", type=Path)
    args = parser.parse_args()
    case = json.loads((args.folder / "case.json").read_text())
    if args.only_library:
        print(same_library(args, case))
        return 0
    with tempfile.TemporaryDirectory() as scratch:
        print("\n" + json.dumps(times(args, case, scratch), indent=2))
    return 0


if __name__ == "__main__":
    sys.exit(main())
