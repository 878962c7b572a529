# SPDX-License-Identifier: MIT
"""The models of export_cuda.py, which runs this where its stubs are in the place of CUDA."""

import copy
import os
import sys
from pathlib import Path
from typing import Any, Callable

if "TENON_EXPORT_CUDA_STUBS" not in os.environ:
    sys.exit("export_cuda_models: run export_cuda.py")

import numpy as np
import torch
import torch._inductor.codecache
import torch._inductor.config
from executorch.backends.cuda.cuda_backend import CudaBackend
from executorch.backends.cuda.cuda_partitioner import CudaPartitioner
from executorch.exir import (
    EdgeCompileConfig,
    ExecutorchBackendConfig,
    to_edge_transform_and_lower,
)
from executorch.exir.backend.compile_spec_schema import CompileSpec
from torch import nn

Runs = list[tuple[torch.Tensor, ...]]
Methods = dict[str, tuple[nn.Module, Runs]]


class Stateful(nn.Module):
    """A cache that each run writes a row of, and a table that it does not write to."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("cache", torch.arange(32, dtype=torch.float32).reshape(4, 8))
        self.scale = nn.Parameter(torch.randn(4, 8))

    def forward(self, row: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        self.cache.index_copy_(0, row, x)
        return self.cache * self.scale


class Embedding(nn.Module):
    """Integers as inputs, a table, a product of matrices and a softmax."""

    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(50, 16)
        self.linear = nn.Linear(16, 16)

    def forward(self, i: torch.Tensor) -> torch.Tensor:
        return torch.softmax(self.linear(self.table(i)), -1)


class Encoder(nn.Module):
    """Half of two methods that have a weight in common."""

    def __init__(self, shared: nn.Parameter, own: float) -> None:
        super().__init__()
        self.shared = shared
        self.own = nn.Parameter(torch.full((16,), own))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.sigmoid(x * self.shared) + self.own


class Decoder(Encoder):
    """The other half."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.tanh(x * self.shared)


class Rows(nn.Module):
    """Any number of rows up to 64: a product with a weight and a softmax of each."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(16))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.softmax(x * self.weight, -1)


def two_methods() -> Methods:
    """Each compiled for itself, over one store of weights."""
    shared = nn.Parameter(torch.randn(16))
    x = torch.randn(4, 16)
    return {"encode": (Encoder(shared, 2.0), [(x,)]), "decode": (Decoder(shared, 2.0), [(x,)])}


# Name: the model to export, and the options of CudaBackend. There is nothing to tune where no product of
# matrices is.
MODELS: dict[str, tuple[Callable[[], Methods], dict[str, str]]] = {
    "stateful": (
        lambda: {"forward": (Stateful(), [(torch.tensor([i]), torch.randn(1, 8))
                                          for i in (2, 0, 2)])},
        {"max_autotune": "OFF"}),
    "embedding": (
        lambda: {"forward": (Embedding(), [(torch.randint(0, 50, (2, 4)),)])}, {}),
    "two_methods": (two_methods, {"max_autotune": "OFF"}),
    "dynamic": (
        lambda: {"forward": (Rows(), [(torch.randn(rows, 16),) for rows in (4, 9, 64, 1, 4)])},
        {"max_autotune": "OFF"}),
}
# Shapes that are not those of the first run alone.
DYNAMIC_SHAPES: dict[str, Any] = {"dynamic": ({0: torch.export.Dim("rows", min=1, max=64)},)}


def save_runs(method: str, module: nn.Module, runs: Runs, folder: Path) -> None:
    """Inputs and outputs of each run."""
    module = copy.deepcopy(module)
    for number, inputs in enumerate(runs):
        tensors = {f"in{number}_{i}": tensor for i, tensor in enumerate(inputs)}
        tensors[f"out{number}_0"] = module(*inputs)
        for name, tensor in tensors.items():
            np.save(folder / f"{method}_{name}.npy", tensor.detach().contiguous().numpy())


def export_model(name: str, folder: Path) -> None:
    """Writes the folder of one model."""
    folder.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(0)
    make, settings = MODELS[name]
    programs: dict[str, Any] = {}
    partitioners: dict[str, Any] = {}
    for method, (module, runs) in make().items():
        save_runs(method, module.eval(), runs, folder)
        programs[method] = torch.export.export(
            module, runs[0], dynamic_shapes=DYNAMIC_SHAPES.get(name))
        specs = [CudaBackend.generate_method_name_compile_spec(method)]
        specs += [CompileSpec(key, value.encode()) for key, value in settings.items()]
        partitioners[method] = [CudaPartitioner(specs)]
    edge = to_edge_transform_and_lower(
        programs, partitioner=partitioners,
        compile_config=EdgeCompileConfig(_check_ir_validity=False))
    manager = edge.to_executorch(ExecutorchBackendConfig(extract_delegate_segments=True))
    manager.write_tensor_data_to_file(str(folder))
    manager.save(str(folder / "model.pte"))
    print(f"{name}: {(folder / 'model.pte').stat().st_size:,} bytes", flush=True)


def main() -> int:
    """Arguments: the folder, and the names of models, or none for all."""
    out, only = Path(sys.argv[1]), sys.argv[2:]
    config = torch._inductor.config
    config.cpp.cxx = (os.environ["CXX"],)
    config.aot_inductor.precompile_headers = False
    config.autotune_in_subproc = False
    config.test_configs.max_mm_configs = 1  # There is nothing to measure.
    config.joint_graph_constant_folding = False  # It would compute on the device.
    torch._inductor.codecache.determine_aoti_mmap_flags = lambda nbytes: (True, False)
    with torch.no_grad():
        for name in only or MODELS:
            export_model(name, out / f"cuda_{name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
