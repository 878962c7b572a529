# SPDX-License-Identifier: MIT
"""Exports models for OpenVINO with ExecuTorch's own partitioner: export_openvino.py --cache DIR

The payloads come from `executorch.backends.openvino`, unchanged. The expected outputs come from eager PyTorch. Needs
torch 2.15, executorch 1.5, openvino and nncf (pip packages; the exporter imports nncf when it is imported). CPU
payloads run with the OpenVINO version and on the instruction set that made them, so they are made where they run and
are not committed.

Writes CACHE/NAME/, a case as docs/tools/cases.md describes it, with the delegate id OpenvinoBackend,
and CACHE/tenon_NAME/ with the same payload under the id TenonOpenvino: the stock wheel has a delegate
of the first id, and a process can register an id once.
"""

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

try:
    import openvino
    import torch
    from executorch.backends.openvino.partitioner import OpenvinoPartitioner
    from executorch.backends.openvino.preprocess import OpenvinoBackend
    from executorch.exir import to_edge_transform_and_lower
    from executorch.exir.backend.backend_details import BackendDetails, CompileSpec
    from executorch.exir.backend.partitioner import DelegationSpec
    from executorch.version import __version__ as executorch_version
    from torch import Tensor, nn
    from torch.export import Dim
except ImportError as missing:
    sys.exit(f"export_openvino: {missing}; install torch, executorch, openvino and nncf from PyPI")

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # tests/live: imports name its folders.
from exporters.case_folder import save_tensors, write_case
from exporters.export_xnnpack import Residual, SmallMobileNetV3, Transformer, quietly
from models import layers, vision

SEED = 20261122
Make = Callable[[], nn.Module]

# The shapes of the inputs, one a run, and the dimensions of the input that are dynamic.
MODELS: dict[str, tuple[Make, list[tuple[int, ...]], Any]] = {
    "mlp": (lambda: layers.Mlp(64, 128, 10), [(1, 64)] * 2, None),
    "dynamic_mlp": (lambda: layers.Mlp(64, 128, 10), [(4, 64), (1, 64), (16, 64), (3, 64)],
                    ({0: Dim("batch", min=1, max=16)},)),
    "cnn": (lambda: Residual(8, 16, 24), [(1, 3, 32, 32)] * 2, None),
    "small_mobilenet": (SmallMobileNetV3, [(1, 3, 32, 32)] * 2, None),
    "mobilenet": (vision.MobileNetV3Small, [(1, 3, 224, 224)] * 2, None),
    "transformer": (lambda: Transformer(256, 8, 1), [(1, 96, 256)] * 2, None),
}


class TenonOpenvino(BackendDetails):
    """The exporter's payload under another id, which is the name of this class."""

    @classmethod
    def preprocess(cls, edge_program: Any, compile_specs: list[CompileSpec]) -> Any:
        return OpenvinoBackend.preprocess(edge_program, compile_specs)


class TenonPartitioner(OpenvinoPartitioner):
    """The exporter's partitioner, which hands its partitions to the class above."""

    def __init__(self, specs: list[CompileSpec]) -> None:
        super().__init__(specs)
        self.delegation_spec = DelegationSpec(TenonOpenvino.__name__, specs)


def export_case(name: str, folder: Path, partitioner: Any) -> None:
    """Makes the whole folder of one case."""
    make, shapes, dynamic_shapes = MODELS[name]
    folder.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(SEED)
    module = make().eval()
    sets: list[tuple[Tensor, ...]] = [(torch.randn(shape),) for shape in shapes]
    with torch.no_grad(), quietly():
        exported = torch.export.export(module, sets[0], dynamic_shapes=dynamic_shapes)
        manager = to_edge_transform_and_lower(
            exported, partitioner=[partitioner([CompileSpec("device", b"CPU")])]).to_executorch()
        manager.save(str(folder / "model.pte"))
        runs = [{"inputs": save_tensors(inputs, f"in{number}", folder),
                 "expected": save_tensors([module(*inputs)], f"out{number}", folder)}
                for number, inputs in enumerate(sets)]
    # Without tolerances of its own: the default limits of the kit hold.
    write_case(folder, runs, description=(module.__doc__ or "").partition("\n")[0],
               made_by={"script": "tests/live/exporters/export_openvino.py", "torch": torch.__version__,
                        "executorch": executorch_version, "openvino": openvino.__version__})


def main() -> int:
    """Exports all models, or those that are named."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cache", type=Path, required=True, metavar="DIR")
    parser.add_argument("--only", action="append", choices=sorted(MODELS), metavar="NAME")
    options = parser.parse_args()
    for name in options.only or MODELS:
        export_case(name, options.cache / name, OpenvinoPartitioner)
        export_case(name, options.cache / f"tenon_{name}", TenonPartitioner)
        print(f"{name}: {(options.cache / name / 'model.pte').stat().st_size:,} bytes", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
