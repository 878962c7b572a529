# SPDX-License-Identifier: MIT
"""Exports models for XNNPACK, as ExecuTorch's own partitioner and quantizer prepare them.

What the partitioner does not take stays in the program as kernel calls, so a program is a mix of both. The expected
outputs come from eager PyTorch; for a quantised model, of the model with the scales and zero points that its
calibration found. `beside-executorch` compares with the stock runtime bit for bit. Takes about a minute for all and
needs torch 2.15 and executorch 1.5 (the pip packages).

Writes CACHE/NAME/, a case as docs/tools/cases.md describes it. With --small the models are small ones of the
same build, for tests/fixtures, as tests/fixtures/xnnpack_NAME.
"""

import argparse
import contextlib
import hashlib
import json
import logging
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

LIVE = Path(__file__).resolve().parents[1]
SOURCES = ["exporters/export_xnnpack.py", "exporters/case_folder.py", "models/layers.py", "models/vision.py"]
SEED = 20261121

try:
    import torch
    import torch.nn.functional as F
    from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
    from executorch.backends.xnnpack.quantizer.xnnpack_quantizer import (
        XNNPACKQuantizer,
        get_symmetric_quantization_config,
    )
    from executorch.exir import to_edge_transform_and_lower
    from executorch.version import __version__ as executorch_version
    from torch import Tensor, nn
    from torch.export import Dim
    from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e
except ImportError as missing:
    sys.exit(f"export_xnnpack: {missing}; install torch and executorch from PyPI")

sys.path.insert(0, str(LIVE))  # tests/live: imports name its folders.
from exporters.case_folder import limits, save_tensors, write_case
from models import layers, vision

Inputs = tuple[Tensor, ...]


class SmallMobileNetV3(nn.Module):
    """The blocks of MobileNetV3, four of them, for 32x32 images and 10 classes."""

    # input channels, kernel, expanded, output channels, squeeze-excite, hardswish, stride
    LAYOUT = [
        (8, 3, 8, 8, True, False, 2),
        (8, 3, 24, 12, False, False, 1),
        (12, 5, 48, 16, True, True, 2),
        (16, 5, 64, 16, True, True, 1),
    ]

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1, bias=False), nn.BatchNorm2d(8),
                                  nn.Hardswish())
        self.blocks = nn.Sequential(*(vision.InvertedResidual(*row) for row in self.LAYOUT))
        self.head = nn.Sequential(nn.Linear(16, 32), nn.Hardswish(), nn.Linear(32, 10))
        vision.settle_norms(self)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(F.adaptive_avg_pool2d(self.blocks(self.stem(x)), 1).flatten(1))


class Transformer(nn.Module):
    """Blocks of attention and feed-forward, and a norm at the end."""

    def __init__(self, width: int, heads: int, depth: int) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(layers.TransformerBlock(width, heads) for _ in range(depth))
        self.norm = nn.LayerNorm(width)

    def forward(self, x: Tensor) -> Tensor:
        for block in self.blocks:
            x = block(x)
        return self.norm(x)


class Residual(nn.Module):
    """A residual network: a stem, one block a stage, a head of 10 classes."""

    def __init__(self, *widths: int) -> None:
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, widths[0], 3, 1, 1, bias=False),
                                  nn.BatchNorm2d(widths[0]), nn.ReLU())
        self.stages = nn.Sequential(*(
            vision.ResidualBlock(inputs, outputs, 2) for inputs, outputs in zip(widths, widths[1:])))
        self.head = nn.Linear(widths[-1], 10)
        vision.settle_norms(self)

    def forward(self, x: Tensor) -> Tensor:
        x = F.adaptive_avg_pool2d(self.stages(self.stem(x)), 1)
        return self.head(x.flatten(1))


@dataclass(frozen=True)
class Model:
    """One model. The first shape is also that of the example that `torch.export` traces."""

    make: Callable[[], nn.Module]
    shapes: list[tuple[int, ...]]  # of the one input, a shape a run
    dynamic_shapes: Any = None
    quantised: bool = False


def batches(*rest: int) -> list[tuple[int, ...]]:
    """Batches of several sizes, the largest between smaller ones."""
    return [(batch, *rest) for batch in (4, 1, 16, 3)]


def lengths(limit: int, width: int) -> list[tuple[int, ...]]:
    """Sequences of several lengths."""
    return [(1, length, width) for length in (limit // 4, 2, limit, limit // 8 + 1)]


BATCH = ({0: Dim("batch", min=1, max=16)},)


def length(limit: int) -> tuple[dict[int, Dim]]:
    """A dynamic size: sequences may have any length up to a limit."""
    return ({1: Dim("length", min=2, max=limit)},)


LARGE: dict[str, Model] = {
    "mobilenet": Model(vision.MobileNetV3Small, [(1, 3, 224, 224)] * 2),
    "transformer": Model(lambda: Transformer(256, 8, 2), [(1, 96, 256)] * 2),
    "quantised": Model(lambda: Residual(32, 64, 128, 256), [(1, 3, 96, 96)] * 3, quantised=True),
    "dynamic_mlp": Model(lambda: layers.Mlp(256, 512, 512, 64), batches(256), BATCH),
    "dynamic_transformer": Model(
        lambda: Transformer(128, 4, 1), lengths(128, 128), length(128)),
}

SMALL: dict[str, Model] = {
    "mobilenet": Model(SmallMobileNetV3, [(1, 3, 32, 32)] * 2),
    "transformer": Model(lambda: Transformer(32, 2, 1), [(1, 12, 32)] * 2),
    "quantised": Model(lambda: Residual(8, 16, 24), [(1, 3, 16, 16)] * 3, quantised=True),
    "dynamic_mlp": Model(lambda: layers.Mlp(16, 32, 8), batches(16), BATCH),
    "dynamic_transformer": Model(
        lambda: Transformer(16, 2, 1), lengths(16, 16), length(16)),
}


def fingerprint() -> str:
    """What a cached case depends on: the sources and the versions of both packages."""
    digest = hashlib.sha256(f"{torch.__version__} {executorch_version}".encode())
    for source in SOURCES:
        digest.update((LIVE / source).read_bytes())
    return digest.hexdigest()


def is_current(folder: Path, wanted: str) -> bool:
    """Whether the folder holds a whole case made from these sources."""
    try:
        case = json.loads((folder / "case.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return bool(case.get("made_by", {}).get("fingerprint") == wanted)


def quantise(program: torch.export.ExportedProgram, sets: list[Inputs]) -> nn.Module:
    """The model in int8, each channel of a weight with its own scale, calibrated on the sets."""
    quantizer = XNNPACKQuantizer()
    quantizer.set_global(get_symmetric_quantization_config(is_per_channel=True))
    prepared = prepare_pt2e(program.module(), quantizer)
    for inputs in sets:
        prepared(*inputs)
    return convert_pt2e(prepared)


@contextlib.contextmanager
def quietly() -> Iterator[None]:
    """Without the messages of the partitioner on each operator that it does not take."""
    logging.disable(logging.WARNING)
    try:
        yield
    finally:
        logging.disable(logging.NOTSET)


def what_is_inside(program: Any) -> dict[str, Any]:
    """How many delegates a program has, and how often it calls which kernel."""
    plan = program.execution_plan[0]
    names = [f"{operator.name}.{operator.overload}" for operator in plan.operators]
    kernels: dict[str, int] = {}
    delegate_calls = 0
    for instruction in plan.chains[0].instructions:
        call = instruction.instr_args
        if hasattr(call, "op_index"):
            name = names[call.op_index]
            kernels[name] = kernels.get(name, 0) + 1
        elif hasattr(call, "delegate_index"):
            delegate_calls += 1
    if not delegate_calls:
        raise RuntimeError(f"the partitioner took nothing; all is left to {sorted(kernels)}")
    return {"delegates": len(plan.delegates), "delegate_calls": delegate_calls,
            "kernel_calls": dict(sorted(kernels.items()))}


def export_case(model: Model, folder: Path, small: bool, wanted: str) -> None:
    """Makes the whole folder of one case."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    torch.manual_seed(SEED)
    module = model.make().eval()
    sets: list[Inputs] = [(torch.randn(shape),) for shape in model.shapes]
    with torch.no_grad(), quietly():
        exported = torch.export.export(module, sets[0], dynamic_shapes=model.dynamic_shapes)
        reference = module
        if model.quantised:
            reference = quantise(exported, sets)
            exported = torch.export.export(reference, sets[0])
        manager = to_edge_transform_and_lower(
            exported, partitioner=[XnnpackPartitioner()]).to_executorch()
        manager.save(str(folder / "model.pte"))
        runs = [{"inputs": save_tensors(inputs, f"in{number}", folder),
                 "expected": save_tensors([reference(*inputs)], f"out{number}", folder)}
                for number, inputs in enumerate(sets)]
        result = reference(*sets[0])
    # XNNPACK's gelu and the order of its sums are not eager PyTorch's.
    members: dict[str, Any] = {"tolerances": limits([result], 1e-3, 1e-3)}
    if model.quantised:
        # A sum on the border between two integers may be rounded to either, in any layer.
        members["tolerances"] = {"float32": {"nmse": 1e-2}}
    made_by = {"script": "tests/live/exporters/export_xnnpack.py", "torch": torch.__version__,
               "executorch": executorch_version, **what_is_inside(manager.executorch_program)}
    if not small:
        made_by["fingerprint"] = wanted
    write_case(folder, runs, description=(module.__doc__ or "").partition("\n")[0], **members,
               made_by=made_by)


def arguments() -> argparse.Namespace:
    """Reads the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", metavar="NAME",
                        help="export this model; may be given several times")
    parser.add_argument("--small", action="store_true",
                        help="the small models, into CACHE/xnnpack_NAME")
    parser.add_argument("--list", action="store_true", help="name the models and leave")
    parser.add_argument("--cache", type=Path, metavar="DIR", help="where the cases go")
    parser.add_argument("--force", action="store_true", help="export also what is up to date")
    options = parser.parse_args()
    if not options.list and options.cache is None:
        parser.error("--cache DIR is needed")
    options.models = SMALL if options.small else LARGE
    unknown = set(options.only or ()) - set(options.models)
    if unknown:
        parser.error(f"no such model: {', '.join(sorted(unknown))}; see --list")
    return options


def main() -> int:
    """Exports what was asked for."""
    options = arguments()
    if options.list:
        print("\n".join(options.models))
        return 0
    wanted = fingerprint()
    for name, model in options.models.items():
        if options.only and name not in options.only:
            continue
        folder = options.cache / (f"xnnpack_{name}" if options.small else name)
        if not options.force and is_current(folder, wanted):
            print(f"{name}: up to date", flush=True)
            continue
        started = time.monotonic()
        export_case(model, folder, options.small, wanted)
        size = (folder / "model.pte").stat().st_size
        print(f"{name}: {size:,} bytes in {time.monotonic() - started:.1f} s", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
