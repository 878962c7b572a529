# SPDX-License-Identifier: MIT
"""The models of export_cuda.py, which runs this where its stubs are in the place of CUDA."""

import copy
import hashlib
import json
import os
import shutil
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Callable

if "TENON_EXPORT_CUDA_STUBS" not in os.environ:
    sys.exit("export_cuda_models: run export_cuda.py")

import torch
import torch._inductor.config
import torch._inductor.runtime.triton_heuristics as heuristics
from executorch.backends.cuda.cuda_backend import CudaBackend
from executorch.backends.cuda.cuda_partitioner import CudaPartitioner
from executorch.exir import (
    EdgeCompileConfig,
    ExecutorchBackendConfig,
    to_edge_transform_and_lower,
)
from executorch.exir.backend.compile_spec_schema import CompileSpec
from executorch.exir.passes.propagate_device_config import PropagateDeviceConfig
from torch import nn
from torch._inductor import codecache

sys.path[:0] = [str(Path(__file__).resolve().parents[1]),  # tests/live: imports name its folders.
                str(Path(__file__).resolve().parents[2] / "gpu")]
from eager_models import (
    Attention,
    BFloat16,
    Convolution,
    Decoder,
    Embedding,
    Encoder,
    Largest,
    Random,
    Rows,
    ScaledSum,
    Sorted,
    Stateful,
    dynamic_shapes,
)
from exporters.case_folder import save_tensors, write_case
from exporters.library_options import for_processors
from models.decoder_layer import REAL, SMALL, DecoderLayer, Sizes, describe

Runs = list[tuple[torch.Tensor, ...]]
Methods = dict[str, tuple[nn.Module, Runs]]


def two_methods() -> Methods:
    """Each compiled for itself, over one store of weights."""
    shared = nn.Parameter(torch.randn(16))
    runs = [(torch.randn(4, 16),) for _ in range(2)]
    return {"encode": (Encoder(shared, 2.0), runs), "decode": (Decoder(shared, 2.0), runs)}


class Dynamic(nn.Module):
    """A product of matrices and a mean, of any number of rows up to 64."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(24, 40)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return nn.functional.gelu(self.linear(x)) - x.mean()


@dataclass(frozen=True)
class Model:
    """Methods, the compile specs of CudaBackend, the dynamic shapes of inputs, tolerances if not the kit's, and the
    backend's options when it runs."""

    make: Callable[[], Methods]
    options: dict[str, str] = field(default_factory=dict)
    dynamic_shapes: Any = None
    tolerances: dict[str, float] = field(default_factory=dict)
    is_default: bool = True
    runtime_specs: dict[str, Any] = field(default_factory=dict)
    on_device: bool = False  # Its inputs and outputs: without copies from and to the host.


def decoder_layer(sizes: Sizes, runs: list[list[int]]) -> Methods:
    """A layer, with the places of the tokens of each run, which increase: so runs can be repeated."""
    tokens = [torch.randint(0, sizes.vocabulary, (len(places),)) for places in runs]
    return {"forward": (DecoderLayer(sizes), [(each, torch.tensor(places)) for each, places in zip(tokens, runs)])}


# On the CPU a layer in bfloat16 differs from one in float32 by an nmse of 2.4e-5, and by 0.045 at most.
OF_LAYERS = {"nmse": 1e-4, "max": 0.1}
# There is nothing to tune where no product of matrices is. ExecuTorch's kernel for attention is of bfloat16 alone.
NO_TUNING = {"max_autotune": "OFF"}
UP_TO_64_ROWS = dynamic_shapes("cuda_dynamic")
MODELS: dict[str, Model] = {
    "stateful": Model(
        lambda: {"forward": (Stateful(), [(torch.tensor([i]), torch.randn(1, 8))
                                          for i in (2, 0, 2, 3, 1, 2)])}, NO_TUNING),
    "embedding": Model(
        lambda: {"forward": (Embedding(), [(torch.randint(0, 50, (2, 4)),)
                                           for _ in range(2)])}),
    "two_methods": Model(two_methods, NO_TUNING),
    "convolution": Model(lambda: {"forward": (Convolution(), [(torch.randn(2, 3, 9, 11),)
                                             for _ in range(2)])}),
    "attention": Model(lambda: {"forward": (Attention(), [(torch.randn(2, 7, 32),)
                                           for _ in range(2)])},
                       {"triton_kernel_mode": "OFF"}),
    "dynamic": Model(
        lambda: {"forward": (Dynamic(), [(torch.randn(rows, 24),) for rows in (5, 1, 64, 17)])},
        dynamic_shapes=UP_TO_64_ROWS),
    "rows": Model(
        lambda: {"forward": (Rows(), [(torch.randn(rows, 16),) for rows in (4, 9, 64, 1, 4)])},
        NO_TUNING, UP_TO_64_ROWS),
    "variants": Model(lambda: {"forward": (ScaledSum(), [(torch.randn(4, 16),)])}, NO_TUNING, is_default=False),
    "sorted": Model(lambda: {"forward": (Sorted(), [(torch.randn(3, 20, 5),)
                                        for _ in range(2)])}, NO_TUNING),
    "largest": Model(lambda: {"forward": (Largest(), [(torch.randn(3, 100),) for _ in range(2)])}, NO_TUNING),
    "random": Model(lambda: {"forward": (Random(), [(torch.tensor([[0.0, 1.0], [2.0, -1.0]]),)] * 2)}, NO_TUNING,
                    tolerances={"max": 0.01}, runtime_specs={"seed": 7}),
    "bfloat16": Model(lambda: {"forward": (BFloat16(), [(torch.randn(7, 64).to(torch.bfloat16),) for _ in range(2)])},
                      tolerances={"rtol": 0.02, "atol": 0.02}),
    "small_decode": Model(lambda: decoder_layer(SMALL, [[3], [200], [201]]), tolerances=OF_LAYERS),
    "small_prefill": Model(lambda: decoder_layer(SMALL, [list(range(64))]), tolerances=OF_LAYERS),
    # Too large for Triton's interpreter: for the suite on a GPU.
    "layer_decode": Model(lambda: decoder_layer(REAL, [[1000], [1001], [1002], [1003]]), tolerances=OF_LAYERS,
                          is_default=False, on_device=True),
    "layer_prefill": Model(lambda: decoder_layer(REAL, [list(range(512))]), tolerances=OF_LAYERS, is_default=False,
                           on_device=True),
}


class KernelSources:
    """Keeps each Triton kernel that is compiled, for replay_cuda.py: NAME.py as Inductor wrote it, the
    compiled NAME.cubin, and NAME.json with what that was made of."""

    def __init__(self) -> None:
        self.folder = Path()
        save = heuristics.CachingAutotuner.save_gpu_kernel

        def save_and_keep(tuner: Any, stream: Any, launcher: Any) -> None:
            save(tuner, stream, launcher)
            self.keep(tuner, launcher)

        heuristics.CachingAutotuner.save_gpu_kernel = save_and_keep

    def keep(self, tuner: Any, launcher: Any) -> None:
        """Writes the files of one kernel. Methods of a program must not give one name to two."""
        made = codecache.CudaKernelParamCache.cache[tuner.inductor_meta["kernel_name"]]
        meta = tuner.triton_meta
        names = list(meta["signature"])

        def by_name(values: dict[Any, Any]) -> dict[str, Any]:
            """Arguments are named by their path, or by their name."""
            return {names[key[0]] if isinstance(key, tuple) else key: value
                    for key, value in values.items()}

        kept = {
            "function": tuner.fn.__name__,
            "signature": meta["signature"],
            "constants": by_name(meta["constants"]) | launcher.config.kwargs,
            "divisible_by_16": [name for name, facts in by_name(meta["configs"][0]).items()
                                if ["tt.divisibility", 16] in facts],
            "num_warps": made["num_warps"],
            "shared_bytes": made["shared_mem"],
        }
        files = {".py": Path(tuner.fn.fn.__code__.co_filename).read_bytes(),
                 ".json": (json.dumps(kept, indent=1) + "\n").encode(),
                 ".cubin": launcher.bin.asm["cubin"]}
        self.folder.mkdir(parents=True, exist_ok=True)
        for suffix, content in files.items():
            path = self.folder / (made["mangled_name"] + suffix)
            if path.exists() and path.read_bytes() != content:
                sys.exit(f"export_cuda: two kernels are named {path.stem}")
            path.write_bytes(content)


def fingerprint() -> str:
    """What an exported model depends on: the sources and the version of torch."""
    digest = hashlib.sha256(torch.__version__.encode())
    for name in (Path(__file__).name, "export_cuda.py", "cuda_stubs.cpp", "library_options.py",
                 "../models/decoder_layer.py", "../../gpu/eager_models.py", "../../gpu/suite/weights.py"):
        digest.update((Path(__file__).parent / name).read_bytes())
    return digest.hexdigest()


def is_current(folder: Path) -> bool:
    """Whether the folder has a model of these sources; its case is written last."""
    try:
        case = json.loads((folder / "case.json").read_text())
    except (OSError, ValueError):
        return False
    return case.get("made_by") == {"fingerprint": fingerprint()}


def save_runs(method: str, module: nn.Module, runs: Runs, folder: Path) -> list[dict[str, Any]]:
    """Inputs and outputs of each run; returns the names of their files."""
    module = copy.deepcopy(module)

    def outputs(inputs: tuple[torch.Tensor, ...]) -> Any:
        found = module(*inputs)
        return found if isinstance(found, tuple) else [found]

    return [{"inputs": save_tensors(inputs, f"{method}_in{number}", folder),
             "expected": save_tensors(outputs(inputs), f"{method}_out{number}", folder)}
            for number, inputs in enumerate(runs)]


def write_cases(name: str, method: str, runs: list[dict[str, Any]], folder: Path) -> None:
    """The runs of a method in two cases: plain, in the model's own folder if it is the first method, and as a CUDA
    graph. The graph begins with the fourth run, and again with the second one of another shape."""
    is_first = not (folder / "case.json").exists()
    other = {"program": f"../{folder.name}/model.pte", "data": [f"../{folder.name}/aoti_cuda_blob.ptd"]}
    moved = [{key: [f"../{folder.name}/{file}" for file in files] for key, files in run.items()}
             for run in runs]
    plain = folder if is_first else folder.with_name(f"cuda_{name}_{method}")
    graph = folder.with_name(f"cuda_{name}_{method}_graph")
    for each in (plain, graph):
        each.mkdir(exist_ok=True)
    accepted = {"float32": MODELS[name].tolerances} if MODELS[name].tolerances else {}
    specs = MODELS[name].runtime_specs
    write_case(plain, runs if is_first else moved, method=method, tolerances=accepted, **({} if is_first else other),
               runtime_specs={"CudaBackend": specs} if specs else {}, made_by={"fingerprint": fingerprint()})
    if MODELS[name].dynamic_shapes:
        moved = [run for run in moved for _ in range(3)]
    elif len(moved) < 6:
        moved *= 3
    write_case(graph, moved, method=method, tolerances=accepted, **other, runtime_specs={
        "CudaBackend": specs | {"enable_cuda_graph_for_method": method}})


def export_model(name: str, folder: Path) -> None:
    """Writes the folders of one model."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    torch.manual_seed(0)
    model = MODELS[name]
    files: dict[str, list[dict[str, Any]]] = {}
    programs: dict[str, Any] = {}
    partitioners: dict[str, Any] = {}
    methods = model.make()
    for method, (module, runs) in methods.items():
        files[method] = save_runs(method, module.eval(), runs, folder)
        programs[method] = torch.export.export(module, runs[0], dynamic_shapes=model.dynamic_shapes)
        specs = [CudaBackend.generate_method_name_compile_spec(method)]
        specs += [CompileSpec(key, value.encode()) for key, value in model.options.items()]
        if "TENON_EXPORT_CUDA_PTX" in os.environ:  # See export_cuda_variants.py.
            specs.append(CompileSpec("cuda_include_ptx", os.environ["TENON_EXPORT_CUDA_PTX"].encode()))
        partitioners[method] = [CudaPartitioner(specs)]
    edge = to_edge_transform_and_lower(
        programs, partitioner=partitioners,
        compile_config=EdgeCompileConfig(_check_ir_validity=False))
    manager = edge.to_executorch(ExecutorchBackendConfig(
        extract_delegate_segments=True,
        propagate_device_config=PropagateDeviceConfig(model.on_device, model.on_device)))
    manager.write_tensor_data_to_file(str(folder))
    manager.save(str(folder / "model.pte"))
    for module, _ in methods.values():
        if isinstance(module, DecoderLayer):
            description, literal = describe((folder / "aoti_cuda_blob.ptd").read_bytes(), module.names)
            (folder / "aoti_cuda_blob.json").write_text(json.dumps(description, indent=1) + "\n")
            (folder / "aoti_cuda_blob.literal").write_bytes(literal)
    for method, of_method in files.items():
        write_cases(name, method, of_method, folder)
    print(f"{name}: {(folder / 'model.pte').stat().st_size:,} bytes", flush=True)


def main() -> int:
    """Arguments: the folder, the level of processors, and the names of models, or none for all."""
    out, level, only = Path(sys.argv[1]), sys.argv[2], sys.argv[3:]
    config = torch._inductor.config
    config.cpp.cxx = (os.environ["CXX"],)
    config.aot_inductor.precompile_headers = False
    config.autotune_in_subproc = False
    config.test_configs.max_mm_configs = 1  # There is nothing to measure.
    config.joint_graph_constant_folding = False  # It would compute on the device.
    config.shape_padding = False  # As would measuring products of padded matrices.
    codecache.determine_aoti_mmap_flags = lambda nbytes: (True, False)
    sources = KernelSources()
    with torch.no_grad(), config.patch(for_processors(level)):
        for name in only or (each for each, model in MODELS.items() if model.is_default):
            folder = out / f"cuda_{name}"
            if is_current(folder):
                print(f"{name}: up to date", flush=True)
                continue
            sources.folder = folder / "kernels"
            export_model(name, folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
