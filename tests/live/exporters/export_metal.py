# SPDX-License-Identifier: MIT
"""Exports small models to ExecuTorch programs for MetalBackend, on Linux, with expected outputs.

ExecuTorch's own MetalBackend compiles them; PyTorch is made to see an MPS device. The library
inside is therefore one for this machine, and the Metal source inside it is what a Mac would get.
Such a program runs on the stand-in for a Metal device (tests/stand_ins/metal), not on a Mac. On a Mac,
where this has not run, the exporter is ExecuTorch's as it is (tests/macos/run_on_mac).

The obstacles on Linux, each step named below: the weights cannot be moved to the device,
so they are fake there and their values are kept aside; the compiler reads those values when it
writes constants; and a convolution's backend, which decides the layout of its output, is chosen by
code that only a Mac's PyTorch has.

Writes OUT/NAME/, a case as docs/tools/cases.md describes it: model.pte, inK_J.npy and outK_J.npy (run K,
tensor J; the runs of one instance in their order), and case.json. Needs torch 2.15, executorch 1.5 and a C++ compiler; takes half a minute a model.
"""

import argparse
import contextlib
import copy
import ctypes
import os
import subprocess
import sys
import tempfile
import types
from pathlib import Path
from typing import Any, Callable, Iterator

HERE = Path(__file__).resolve().parent
os.environ.setdefault("TORCHINDUCTOR_CACHE_DIR", "/tmp/tenon-inductor-metal")

try:
    import torch
    import torch._inductor.codecache
    import torch._inductor.codegen.cpp_wrapper_cpu as cpp_wrapper
    import torch._inductor.codegen.cpp_wrapper_gpu as cpp_wrapper_gpu
    import torch._inductor.config
    import torch._inductor.fx_passes.joint_graph as joint_graph
    import torch._inductor.fx_passes.post_grad as post_grad
    import torch._inductor.graph as inductor_graph
    import torch._inductor.utils as inductor_utils
    from torch import nn
    from torch._subclasses.fake_tensor import FakeTensor
except ImportError as missing:
    sys.exit(f"export_metal: {missing}; install torch and executorch from PyPI")

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # tests/live: imports name its folders.
from exporters.case_folder import save_tensors, write_case
from exporters.library_options import add_level, for_processors, write_small_compiler

Runs = list[tuple[torch.Tensor, ...]]


class AddMul(nn.Module):
    """One kernel of two inputs."""

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return (x + y) * 2


class Mlp(nn.Module):
    """Two products with weights, an activation and a softmax."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 8), nn.Softmax(-1))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layers(x)


class Conv(nn.Module):
    """A convolution, which the compiler lays out with the channels last."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3, stride=2, padding=1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(self.conv(x))


class ConvPool(nn.Module):
    """A convolution, its normalization, a pool and a product: the start of a vision model."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3, padding=1)
        self.norm = nn.BatchNorm2d(8)
        self.linear = nn.Linear(8 * 8 * 8, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        pooled = nn.functional.max_pool2d(torch.relu(self.norm(self.conv(x))), 2)
        return self.linear(pooled.flatten(1))


class Embedding(nn.Module):
    """Integers as inputs, a table, a reduction over many elements."""

    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(50, 96)
        self.norm = nn.LayerNorm(96)
        self.linear = nn.Linear(96, 4)

    def forward(self, i: torch.Tensor) -> torch.Tensor:
        return self.linear(self.norm(self.table(i)).mean(1))


class Stateful(nn.Module):
    """A buffer that the model writes to."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("total", torch.full((4,), 0.5))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.total.add_(x)
        return self.total * 2


class HalfLinear(nn.Module):
    """Everything in 16 bits."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(24, 12).half()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return nn.functional.gelu(self.linear(x))


class Quantized(nn.Module):
    """Weights of 4 bits, as torchao's quantizer for Metal leaves them."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("weight", torch.randint(0, 256, (12, 32), dtype=torch.uint8))
        self.register_buffer("scales", torch.rand(12, 2) / 8)
        self.register_buffer("zeros", -torch.rand(12, 2))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.ops.torchao._linear_fp_act_4bit_weight(
            x, self.weight, 32, self.scales, self.zeros)


class Experts(nn.Module):
    """A matrix of 4-bit weights for each row, chosen by the model."""

    def __init__(self) -> None:
        super().__init__()
        from executorch.backends.apple.metal.ops.gather_qmv import _quantize_int4_affine
        weight, scales, biases = _quantize_int4_affine(torch.randn(4, 10, 64), 32)
        self.register_buffer("weight", weight)
        self.register_buffer("scales", scales)
        self.register_buffer("biases", biases)
        self.choose = nn.Linear(64, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        expert = self.choose(x).topk(1).indices.reshape(-1).to(torch.int32)
        return torch.ops.metal.gather_qmv(x, self.weight, self.scales, self.biases, expert, 32)


class ConvState(nn.Module):
    """A buffer that the model writes to before a convolution, by a PyTorch that has none for the device."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3, padding=1)
        self.register_buffer("total", torch.zeros(1, 3, 16, 16))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.total.add_(x)
        return torch.relu(self.conv(self.total * 2))


class Delta(nn.Module):
    """Linear attention that keeps its state from run to run."""

    def __init__(self) -> None:
        super().__init__()
        import executorch.backends.apple.metal.ops.gated_delta_rule  # noqa: F401
        self.register_buffer("state", torch.zeros(1, 4, 8, 32))

    def forward(self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, g: torch.Tensor,
                beta: torch.Tensor) -> torch.Tensor:
        return torch.ops.metal.gated_delta_rule(q, k, v, g, beta, self.state)


def delta_runs() -> Runs:
    """Three runs of two steps, with keys of length 1."""
    def unit() -> torch.Tensor:
        return nn.functional.normalize(torch.randn(1, 2, 4, 32), dim=-1)
    return [(unit(), unit(), torch.randn(1, 2, 4, 8), torch.rand(1, 2, 4), torch.rand(1, 2, 4))
            for _ in range(3)]


def define_4bit_linear() -> dict[Any, list[str]]:
    """torchao's operator, which only its builds for macOS have; its functions for Metal by name."""
    name = "_linear_fp_act_4bit_weight"

    @torch.library.custom_op(f"torchao::{name}", mutates_args=())
    def linear(x: torch.Tensor, weight: torch.Tensor, group_size: int, scales: torch.Tensor,
               zeros: torch.Tensor) -> torch.Tensor:
        pairs = torch.stack([weight & 15, weight >> 4], -1).reshape(weight.shape[0], -1)
        matrix = (pairs * scales.repeat_interleave(group_size, -1)
                  + zeros.repeat_interleave(group_size, -1))
        return x @ matrix.T

    linear.register_fake(lambda x, weight, group_size, scales, zeros:
                         x.new_empty(x.shape[0], weight.shape[0]))
    return {getattr(torch.ops.torchao, name).default: [
        f"AOTITorchError aoti_torch_mps_{name}(AtenTensorHandle A, AtenTensorHandle B, "
        "int64_t group_size, AtenTensorHandle S, AtenTensorHandle Z, AtenTensorHandle* ret)"]}


MODELS: dict[str, tuple[Callable[[], nn.Module], Callable[[], Runs]]] = {
    "addmul": (AddMul, lambda: [(torch.randn(2, 3), torch.randn(2, 3))]),
    "conv": (Conv, lambda: [(torch.randn(1, 3, 16, 16),)]),
    "conv_pool": (ConvPool, lambda: [(torch.randn(1, 3, 16, 16),)]),
    "conv_state": (ConvState, lambda: [(torch.randn(1, 3, 16, 16),) for _ in range(3)]),
    "embedding": (Embedding, lambda: [(torch.randint(0, 50, (2, 7)),)]),
    "delta": (Delta, delta_runs),
    "experts": (Experts, lambda: [(torch.randn(5, 64),)]),
    "half": (HalfLinear, lambda: [(torch.randn(3, 24).half(),)]),
    "mlp": (Mlp, lambda: [(torch.randn(4, 16),)]),
    "quantized": (Quantized, lambda: [(torch.randn(3, 64),)]),
    "stateful": (Stateful, lambda: [(torch.randn(4),) for _ in range(3)]),
}


def flat(name: str) -> str:
    """A parameter's name as the compiler spells it."""
    return name.replace(".", "_").replace("[", "_").replace("]", "_")


class Weights:
    """The values of what is fake on the device, by flat name."""

    values: dict[str, torch.Tensor] = {}


def pretend_device() -> None:
    """PyTorch has an MPS device: it can be chosen, and switched to."""
    site = Path(torch.__file__).parent
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder) / "mps_guard.so"
        subprocess.run(
            ["g++", "-std=c++20", "-shared", "-fPIC", str(HERE / "mps_guard.cpp"), "-o",
             str(library), f"-I{site}/include", f"-L{site}/lib", "-lc10"], check=True)
        ctypes.CDLL(str(library))
    torch.backends.mps.is_available = lambda: True
    torch.backends.mps.get_core_count = lambda: 16
    torch._C._mps_get_core_count = lambda: 16
    inductor_utils.get_gpu_type.cache_clear()
    for module in (inductor_utils, cpp_wrapper_gpu, post_grad, joint_graph):
        module.get_gpu_type = lambda: "mps"
    # Folding would compute with the fake values.
    torch._inductor.config.joint_graph_constant_folding = False


def read_real_values() -> None:
    """Where the compiler reads the value of a constant, it gets the one that was kept."""
    graph = inductor_graph.GraphLowering
    original = graph.get_original_value_of_constant
    getattr_recursive = inductor_graph.getattr_recursive

    def value_of(self: Any, name: str) -> torch.Tensor:
        value = original(self, name)
        if isinstance(value, FakeTensor):
            return Weights.values[flat(self.allocated_constant_name[name])]
        return value

    def attribute(owner: Any, target: str) -> Any:
        value = getattr_recursive(owner, target)
        if isinstance(value, FakeTensor) and value.device.type == "mps" and value.dim() <= 1:
            kept = Weights.values.get(flat(target))
            if kept is not None:
                value.item, value.tolist = kept.item, kept.tolist
        return value

    graph.get_original_value_of_constant = value_of
    inductor_graph.getattr_recursive = attribute
    inductor_graph.is_same_tensor = lambda a, b: a is b


def place_constants() -> None:
    """Constants are recorded as the device's, although their values are in the host's memory."""
    wrapper = cpp_wrapper.CppWrapperCpu
    constructor, device = wrapper.codegen_model_constructor, wrapper.codegen_device
    is_recording = False

    def model_constructor(self: Any) -> Any:
        nonlocal is_recording
        is_recording = True
        try:
            return constructor(self)
        finally:
            is_recording = False

    def device_of(self: Any, value: torch.device) -> str:
        return device(self, torch.device("mps", 0) if is_recording else value)

    wrapper.codegen_model_constructor = model_constructor
    wrapper.codegen_device = device_of


# Compiled with what a build for Linux chooses.
STOCK_MODELS = {"conv_state"}


@contextlib.contextmanager
def chosen_convolutions() -> Iterator[None]:
    """Convolutions on the device are MPS's, by whose rule PyTorch then lays out their outputs
    (ConvUtils.h, mps_conv_use_channels_last). A build for Linux chooses none for the device, which
    makes every output contiguous: a Mac's PyTorch compiles such a program only where it does not
    know the sizes."""
    original = torch._C._select_conv_backend
    backends = torch._C._ConvBackend

    def select(input_: torch.Tensor, *args: Any, **options: Any) -> Any:
        if getattr(input_, "fake_device", input_.device).type != "mps":
            return original(input_, *args, **options)
        # The name has the comma in PyTorch 2.15.
        return getattr(backends, "MpsTranspose,") if options["transposed"] else backends.Mps

    torch._C._select_conv_backend = select
    try:
        yield
    finally:
        torch._C._select_conv_backend = original


def metal_backend() -> Any:
    """ExecuTorch's MetalBackend with what is different here."""
    # The modules of torchao itself ask for operators that only its builds for macOS have.
    for name in ("torchao.experimental", "torchao.experimental.ops",
                 "torchao.experimental.ops.mps", "torchao.experimental.ops.mps.cshim"):
        sys.modules.setdefault(name, types.ModuleType(name))
    sys.modules["torchao.experimental.ops.mps.cshim"].torchao_op_c_shim = define_4bit_linear()
    from executorch.backends.apple.metal.metal_backend import MetalBackend

    def move(cls: Any, program: Any, device: str, specs: Any) -> Any:
        fake = next(node.meta["val"] for node in program.graph.nodes
                    if node.op == "placeholder" and isinstance(node.meta.get("val"), FakeTensor))
        Weights.values = {
            flat(name): value.detach() for values in (program.state_dict, program.constants)
            for name, value in values.items() if isinstance(value, torch.Tensor)}
        original = torch.Tensor.to

        def to(self: torch.Tensor, *args: Any, **options: Any) -> torch.Tensor:
            if isinstance(self, FakeTensor):
                if self.device.type == "mps":
                    return self
                return torch.ops.aten._to_copy.default(self, device=torch.device("mps", 0))
            if args and str(args[0]) == "mps":
                with fake.fake_mode:
                    return torch.empty_strided(
                        self.shape, self.stride(), dtype=self.dtype, device="mps")
            return original(self, *args, **options)

        torch.Tensor.to = to
        try:
            from torch.export.passes import move_to_device_pass
            return move_to_device_pass(program, device)
        finally:
            torch.Tensor.to = original

    def strip(cls: Any, path: str, specs: Any) -> None:
        # Not to sign it: this is where the library passes by, before it is packed.
        subprocess.run(["strip", "--strip-unneeded", path], check=True)

    lines = (HERE.parent / "metal_fallback_kernels.txt").read_text(encoding="utf-8").splitlines()
    served = {line: None for line in lines if line and not line.startswith("#")}
    MetalBackend.move_program_to_device = classmethod(move)
    MetalBackend.codesign_so = classmethod(strip)
    MetalBackend.get_supported_fallback_kernels = classmethod(lambda cls: served)
    return MetalBackend


def export_model(name: str, folder: Path, backend: Any) -> None:
    """Writes the folder of one model."""
    from executorch.backends.apple.metal.metal_partitioner import MetalPartitioner
    from executorch.exir import (
        EdgeCompileConfig,
        ExecutorchBackendConfig,
        to_edge_transform_and_lower,
    )
    folder.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(0)
    make, runs_of = MODELS[name]
    module, runs = make().eval(), runs_of()
    program = torch.export.export(copy.deepcopy(module), runs[0])
    described = []
    for number, inputs in enumerate(runs):
        result = module(*inputs)
        outputs = result if isinstance(result, tuple) else (result,)
        described.append({"inputs": save_tensors(inputs, f"in{number}", folder),
                          "expected": save_tensors(outputs, f"out{number}", folder)})
    if len(described) > 1:
        described.append(described[0] | {"fresh": True})
    partitioner = MetalPartitioner([backend.generate_method_name_compile_spec("forward")])
    edge = to_edge_transform_and_lower(
        program, partitioner=[partitioner],
        compile_config=EdgeCompileConfig(_check_ir_validity=False))
    manager = edge.to_executorch(ExecutorchBackendConfig(extract_delegate_segments=True))
    manager.save(str(folder / "model.pte"))
    write_case(folder, described, description=(module.__doc__ or "").partition("\n")[0],
               made_by={"script": "tests/live/exporters/export_metal.py", "torch": torch.__version__})


def main() -> int:
    """Exports what was asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", metavar="NAME", choices=sorted(MODELS))
    parser.add_argument("--out", type=Path, metavar="DIR", required=True)
    add_level(parser, "x86-64")
    options = parser.parse_args()
    if sys.platform == "darwin":
        from executorch.backends.apple.metal.metal_backend import MetalBackend

        with torch.no_grad():
            for name in options.only or MODELS:
                export_model(name, options.out / name, MetalBackend)
        return 0
    pretend_device()
    read_real_values()
    place_constants()
    backend = metal_backend()
    config = torch._inductor.config
    config.aot_inductor.precompile_headers = False
    with (tempfile.TemporaryDirectory(prefix="tenon-export-metal-") as compiler, torch.no_grad(),
          config.patch(for_processors(options.level))):
        config.cpp.cxx = (str(write_small_compiler(Path(compiler))),)
        for name in options.only or MODELS:
            with contextlib.nullcontext() if name in STOCK_MODELS else chosen_convolutions():
                export_model(name, options.out / name, backend)
            print(f"{name}: {(options.out / name / 'model.pte').stat().st_size:,} bytes", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
