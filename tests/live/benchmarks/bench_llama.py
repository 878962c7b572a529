# SPDX-License-Identifier: MIT
"""Tokens a second of a Llama: CpuAotiBackend, ExecuTorch's XNNPACK in its stock runtime, torch.compile, and llama.cpp.

A decoder of --layers layers of --width channels with random weights; keys and values stay in buffers of the program. A
run has --tokens places of --batch sequences: 1 is a step of generation, more are a prompt, of which the last place has
logits. `int8` and `int4` have PyTorch's own products of float32 with weights of 8 bits, a scale for each channel, and
of 4 bits in groups; `float32` and `bfloat16` have plain linear layers. XNNPACK has no such products: its programs use
torchao's dynamic quantisation, which also rounds activations to 8 bits, so they compute something else. `inductor_...`
is the model of the same name, compiled by torch.compile with frozen weights, in one process for all turns.
`llamacpp_...` needs --llama-cpp (llama_cpp.py); its `q8_0` and `q4_0` have a scale for each 32 weights and round
activations to 8 bits.

Each side runs in a process of its own on --threads pinned threads, in turns; the least time counts. The bound is the time
that this machine takes to read the bytes of the linear layers' weights, scales and zeros once, by the best rate at which
one thread summed 256 MiB between the turns; a prompt is limited by what it computes. CACHE/NAME/ is the case of a
model, which aoti-cases also checks.

    build/live/venv/bin/python tests/live/benchmarks/bench_llama.py --cache build/live/llama --build build/gcc
"""

import argparse
import json
import os
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # tests/live: imports name its folders.
from benchmarks import bench_aoti, llama_cpp
from exporters import export_models
from exporters.case_folder import write_case
from exporters.export_models import CpuAotiBackend, KernelTable
from models.cases import SEED, Case, Inputs

HERE = Path(__file__).resolve().parent
WORDS, PLACES, HEAD, GROUP = 8192, 128, 64, 128
OURS = ("float32", "bfloat16", "int8", "int4")
XNNPACK = ("xnnpack_float32", "xnnpack_8da8w", "xnnpack_8da4w")
INDUCTOR = tuple(f"inductor_{name}" for name in OURS)
LLAMA_CPP = tuple(llama_cpp.TYPES)

STOCK = """
import sys, time
import torch
from executorch.extension.pybindings import portable_lib
file, seconds, threads, batch, tokens = sys.argv[1], float(sys.argv[2]), *map(int, sys.argv[3:])
portable_lib._unsafe_reset_threadpool(threads)
from executorch.runtime import Runtime
method = Runtime.get().load_program(file).load_method("forward")
inputs = [torch.arange(batch * tokens), torch.arange(tokens)]
end, best = time.perf_counter() + seconds, float("inf")
while time.perf_counter() < end:
    before = time.perf_counter()
    method.execute(inputs)
    best = min(best, time.perf_counter() - before)
print(best * 1e9)
"""


class Int8Linear(nn.Module):
    """A linear layer without bias with weights of 8 bits, a scale for each channel."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.register_buffer("weight", torch.randint(-127, 128, (outputs, inputs), dtype=torch.int8))
        self.register_buffer("scales", torch.full((outputs,), 0.014 / inputs**0.5))

    def forward(self, x: Tensor) -> Tensor:
        return torch.ops.aten._weight_int8pack_mm(x, self.weight, self.scales)


class Int4Linear(nn.Module):
    """A linear layer without bias with weights of 4 bits, a scale and a zero for each group of a channel."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        codes = torch.randint(0, 16, (outputs, inputs), dtype=torch.int32)
        self.register_buffer("weight", torch.ops.aten._convert_weight_to_int4pack_for_cpu(codes, 1))
        scales = torch.full((inputs // GROUP, outputs, 2), 0.22 / inputs**0.5)
        self.register_buffer("scales", scales * torch.tensor([1.0, 0.5]))

    def forward(self, x: Tensor) -> Tensor:
        return torch.ops.aten._weight_int4pack_mm_for_cpu(x, self.weight, GROUP, self.scales)


class Layer(nn.Module):
    """Attention with rotary positions to what came before, and a gated perceptron, with an RMS norm before each."""

    def __init__(self, width: int, batch: int, linear: Any) -> None:
        super().__init__()
        heads, hidden = width // HEAD, width * 11 // 4
        self.norms = nn.ModuleList(nn.RMSNorm(width) for _ in range(2))
        self.query, self.key, self.value, self.out = (linear(width, width) for _ in range(4))
        self.gate, self.up, self.down = linear(width, hidden), linear(width, hidden), linear(hidden, width)
        self.register_buffer("keys", torch.zeros(batch, heads, PLACES, HEAD))
        self.register_buffer("values", torch.zeros(batch, heads, PLACES, HEAD))

    def forward(self, x: Tensor, place: Tensor, turn: Tensor, mask: Tensor) -> Tensor:
        y = self.norms[0](x)

        def heads_of(vectors: Tensor) -> Tensor:
            return vectors.view(self.keys.shape[0], place.shape[0], -1, HEAD).transpose(1, 2)

        def turned(vectors: Tensor) -> Tensor:
            a, b = heads_of(vectors).chunk(2, -1)
            cosine, sine = turn.chunk(2, -1)
            return torch.cat([a * cosine - b * sine, a * sine + b * cosine], -1)

        self.keys[:, :, place] = turned(self.key(y))
        self.values[:, :, place] = heads_of(self.value(y))
        seen = F.scaled_dot_product_attention(turned(self.query(y)), self.keys, self.values, attn_mask=mask)
        x = x + self.out(seen.transpose(1, 2).reshape(x.shape))
        y = self.norms[1](x)
        return x + self.down(F.silu(self.gate(y)) * self.up(y))


class Llama(nn.Module):
    """A Llama that keeps its keys and values: the logits that follow the last place of each sequence."""

    def __init__(self, options: argparse.Namespace, linear: Any) -> None:
        super().__init__()
        width = options.width
        self.embedding = nn.Embedding(WORDS, width)
        self.layers = nn.ModuleList(Layer(width, options.batch, linear) for _ in range(options.layers))
        self.norm, self.head = nn.RMSNorm(width), linear(width, WORDS)
        angles = torch.arange(PLACES)[:, None] * 10000 ** (-torch.arange(0, HEAD, 2) / HEAD)
        self.register_buffer("turns", torch.cat([angles.cos(), angles.sin()], 1))
        self.register_buffer("masks", torch.full((PLACES, PLACES), float("-inf")).triu(1))

    def forward(self, tokens: Tensor, place: Tensor) -> Tensor:
        """`tokens`: those at each of the places `place` of one sequence after the other."""
        x, turn, mask = self.embedding(tokens), self.turns[place], self.masks[place]
        for layer in self.layers:
            x = layer(x, place, turn, mask)
        return self.head(self.norm(x[place.shape[0] - 1::place.shape[0]]))


def model_of(name: str, options: argparse.Namespace) -> nn.Module:
    torch.manual_seed(SEED)
    linear = {"int8": Int8Linear, "int4": Int4Linear}.get(name, partial(nn.Linear, bias=False))
    model = Llama(options, linear).eval()
    if name == "bfloat16":
        model = model.to(torch.bfloat16)
    if name.startswith("xnnpack_8da"):
        import torchao.quantization as ao
        from torchao.quantization.granularity import PerAxis, PerGroup

        bits4 = name == "xnnpack_8da4w"
        ao.quantize_(model, ao.Int8DynamicActivationIntxWeightConfig(
            weight_dtype=torch.int4 if bits4 else torch.int8,
            weight_granularity=PerGroup(GROUP) if bits4 else PerAxis(0)))
    return model


def some_tokens(options: argparse.Namespace) -> list[Inputs]:
    size = options.batch * options.tokens
    return [((1 + 37 * run + 11 * torch.arange(size)) % WORDS, torch.arange(options.tokens) + run * options.tokens)
            for run in range(min(4, PLACES // options.tokens))]


def weight_bytes(name: str, options: argparse.Namespace) -> int:
    """The bytes of the weights, scales and zeros of all linear layers."""
    numbers = options.layers * options.width**2 * (4 + 3 * 11 / 4) + options.width * WORDS
    outputs = options.layers * options.width * (5 + 2 * 11 / 4) + WORDS
    if name in LLAMA_CPP:
        return int(numbers * llama_cpp.TYPES[name][1])
    name = name.removeprefix("inductor_")
    each = {"float32": numbers * 4, "8": numbers + 4 * outputs, "4": numbers / 2}
    if name.endswith("float32"):
        return int(each["float32"])
    if name == "bfloat16":
        return int(each["float32"] / 2)
    if name in ("int8", "xnnpack_8da8w"):
        return int(each["8"])
    return int(each["4"] + numbers / GROUP * (8 if name == "int4" else 2))


def export_ours(name: str, folder: Path, options: argparse.Namespace) -> None:
    limit = 0.05 if name == "bfloat16" else 1e-3
    case = Case(lambda: model_of(name, options), lambda: some_tokens(options), stateful=True, rtol=limit, atol=limit)
    CpuAotiBackend.kernels = KernelTable(export_models.supported_kernels(), False)
    members = export_models.run_eagerly(case, folder)
    export_models.write_program(case, folder)
    write_case(folder, **members)


def export_xnnpack(name: str, folder: Path, options: argparse.Namespace) -> None:
    from executorch.backends.xnnpack.partition.xnnpack_partitioner import (
        XnnpackDynamicallyQuantizedPartitioner,
        XnnpackPartitioner,
    )
    from executorch.exir import to_edge_transform_and_lower

    exported = torch.export.export(model_of(name, options), some_tokens(options)[0])
    partitioners = [XnnpackDynamicallyQuantizedPartitioner(), XnnpackPartitioner()]
    manager = to_edge_transform_and_lower(exported, partitioner=partitioners).to_executorch()
    delegates = {delegate.id for delegate in manager.executorch_program.execution_plan[0].delegates}
    if delegates != {"XnnpackBackend"}:
        raise RuntimeError(f"{name}: expected the delegate XnnpackBackend, found {sorted(delegates)}")
    manager.save(str(folder / "model.pte"))


class Compiled:
    """A process that compiles a model by torch.compile, and times its runs for each line that it gets."""

    def __init__(self, name: str, options: argparse.Namespace) -> None:
        sizes = (f"--{key}={getattr(options, key)}" for key in ("layers", "width", "batch", "tokens", "threads", "seconds"))
        self._process = subprocess.Popen(
            bench_aoti.pin([sys.executable, __file__, f"--serve={name}", "--cache=.", "--build=.", *sizes], options.threads),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.time()

    def time(self) -> float:
        """The fewest nanoseconds of a run, of one turn."""
        assert self._process.stdin and self._process.stdout
        print(file=self._process.stdin, flush=True)
        return float(self._process.stdout.readline())

    def close(self) -> None:
        self._process.communicate()


def serve(options: argparse.Namespace) -> None:
    """What a process of `Compiled` does."""
    import torch._inductor.config

    torch._inductor.config.freezing = True
    torch.set_num_threads(options.threads)
    model = torch.compile(model_of(options.serve.removeprefix("inductor_"), options), dynamic=False)
    inputs = some_tokens(options)[0]
    for _ in range(3):
        model(*inputs)
    for _ in sys.stdin:
        end, best = time.perf_counter() + options.seconds, float("inf")
        while time.perf_counter() < end:
            before = time.perf_counter()
            model(*inputs)
            best = min(best, time.perf_counter() - before)
        print(best * 1e9, flush=True)


def time_of(name: str, options: argparse.Namespace) -> float:
    """The fewest nanoseconds of a run, of one turn, of a program."""
    seconds, threads, folder = str(options.seconds), str(options.threads), options.cache / name
    if name in LLAMA_CPP:
        return llama_cpp.time_of(options.llama_cpp, folder / "model.gguf", options.batch, options.tokens, options.threads,
                                 options.seconds)
    if name in OURS:
        plugin = str(options.plugin or options.build / "reference_backends/cpu_aoti/cpu_aoti.so")
        command = [str(options.build / "tests/live/benchmarks/bench-tenon"), plugin, str(folder), seconds, "1", threads]
    else:
        command = [sys.executable, "-c", STOCK, f"{folder}/model.pte", seconds, threads, str(options.batch),
                   str(options.tokens)]
    return float(bench_aoti.pinned(command, options.threads).split()[-1])


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cache", type=Path, required=True, metavar="DIR", help="folder for the programs")
    parser.add_argument("--build", type=Path, required=True, metavar="DIR", help="a build folder of Tenon")
    parser.add_argument("--plugin", type=Path, metavar="FILE", help="cpu_aoti.so of another build")
    parser.add_argument("--only", action="append", metavar="NAME", choices=OURS + XNNPACK + INDUCTOR + LLAMA_CPP, help="repeatable")
    parser.add_argument("--llama-cpp", type=Path, metavar="DIR", help="folder with llama.cpp's llama-bench")
    parser.add_argument("--layers", type=int, default=8)
    parser.add_argument("--width", type=int, default=1024, help="a multiple of 512 (default: 1024)")
    parser.add_argument("--batch", type=int, default=1, help="sequences (default: 1)")
    parser.add_argument("--tokens", type=int, default=1, help=f"places of a run, at most {PLACES} (default: 1)")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--serve", help=argparse.SUPPRESS)
    parser.add_argument("--force", action="store_true", help="export also what is in the cache")
    parser.add_argument("--rounds", type=int, default=4, help="turns of each side (default: 4)")
    parser.add_argument("--seconds", type=float, default=2.0, help="length of a turn (default: 2)")
    return parser.parse_args()


@torch.no_grad()
def main() -> int:
    options = arguments()
    if options.serve:
        serve(options)
        return 0
    if options.rounds < 1:
        sys.exit(f"bench_llama: --rounds: expected at least 1, found {options.rounds}")
    names = options.only or OURS + XNNPACK + INDUCTOR + (LLAMA_CPP if options.llama_cpp else ())
    if not options.llama_cpp and set(names) & set(LLAMA_CPP):
        sys.exit("bench_llama: a side of llama.cpp: expected --llama-cpp with the folder of llama-bench, found none")
    sizes = {key: getattr(options, key) for key in ("layers", "width", "batch", "tokens")}
    for name in names:
        folder = options.cache / name
        about = folder / "sizes.json"
        if name in INDUCTOR or (not options.force and about.exists()
                                and json.loads(about.read_text(encoding="utf-8")) == sizes):
            continue
        folder.mkdir(parents=True, exist_ok=True)
        if name in LLAMA_CPP:
            llama_cpp.write_model(name, folder / "model.gguf", options.layers, options.width, HEAD, WORDS, PLACES)
        else:
            (export_ours if name in OURS else export_xnnpack)(name, folder, options)
        about.write_text(json.dumps(sizes), encoding="utf-8")
        print(f"exported {name}", file=sys.stderr, flush=True)
    meter = options.cache / "read-bandwidth"
    subprocess.run(["g++", "-O3", "-march=native", str(HERE / "read_bandwidth.cpp"), "-o", str(meter)], check=True)
    compiled = {name: Compiled(name, options) for name in names if name in INDUCTOR}
    times = dict.fromkeys(names, float("inf"))
    rate = 0.0
    for number in range(options.rounds):
        print(f"turn {number + 1} of {options.rounds}", file=sys.stderr, flush=True)
        for name in names:
            rate = max(rate, float(bench_aoti.pinned([str(meter), str(1 << 28), str(options.seconds / 4)], 1)))
            times[name] = min(times[name], compiled[name].time() if name in compiled else time_of(name, options))
    for each in compiled.values():
        each.close()
    print(f"load of the machine: {os.getloadavg()}, {os.cpu_count()} processors")
    print(f"read at {rate:.1f} GB/s; {options.threads} threads, {options.batch} sequences, {options.tokens} places a run")
    print("| program | weights | bound | a run | of the bound | tokens/s |\n|---|---:|---:|---:|---:|---:|")
    for name in names:
        size = weight_bytes(name, options)
        bound = size / rate
        print(f"| {name} | {size / 1e6:.1f} MB | {bound / 1e6:.2f} ms | {times[name] / 1e6:.2f} ms "
              f"| {times[name] / bound:.2f} | {1e9 / times[name] * options.batch * options.tokens:.1f} |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
