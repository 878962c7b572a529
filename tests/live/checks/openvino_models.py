#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compiles models with the plugin of OpenVINO, runs them, and compares with eager PyTorch.

usage: openvino_models.py [--only NAME]... [--folder DIR] BUILD LIBRARIES

BUILD is a build directory of Tenon, LIBRARIES the one of OpenVINO's libraries, as `.ci/fetch-openvino-wheel` prints it.
Every model is exported twice: in Core ATen operators, and with the operators left whole that `tenon-compile
--print-ops-to-not-decompose` names. Each must be one delegate without a node left over, and its outputs must equal
eager PyTorch's: to 1e-3 of each element, or 1e-5 of the largest one. Dynamic models run at several sizes. `operators_*`
call one operator each.
"""

import argparse
import dataclasses
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import warnings

import numpy
import torch
import torch.nn.functional as F
from torch import nn
from torch.export import Dim

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))  # tests/live: imports name its folders.
from models import layers, vision

SEED = 20
RTOL, PEAK = 1e-3, 1e-5


@dataclasses.dataclass
class Model:
    module: nn.Module
    runs: list  # Inputs of each run; the first run has the export's.
    dynamic: dict | None = None


class Together(nn.Module):
    """Functions of the same inputs, an output or several each."""

    def __init__(self, *functions):
        super().__init__()
        self.functions = functions
        # A list of PyTorch's, so that their parameters are found.
        self.layers = nn.ModuleList(f for f in functions if isinstance(f, nn.Module))

    def forward(self, *inputs):
        return [function(*inputs) for function in self.functions]


class LanguageModel(nn.Module):
    """An embedding, a causal block and a head, for any length."""

    def __init__(self, vocabulary=100, width=64):
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, width)
        self.block = layers.TransformerBlock(width, 4, causal=True)
        self.head = nn.Linear(width, vocabulary, bias=False)

    def forward(self, tokens):
        return self.head(self.block(self.embedding(tokens)))


class States(nn.Module):
    """A bidirectional LSTM of two layers, with the states that it begins and ends with."""

    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(12, 16, num_layers=2, bidirectional=True)

    def forward(self, x, h, c):
        y, (h, c) = self.lstm(x, (h, c))
        return y, h, c


def tokens(*shape):
    return (torch.randint(0, 100, shape),)


def activations():
    x = torch.randn(2, 3, 4, 5) * 3
    return Model(Together(
        torch.relu, F.relu6, F.leaky_relu, F.elu, torch.sigmoid, torch.tanh, F.gelu,
        lambda a: F.gelu(a, approximate="tanh"), F.silu, F.hardswish, F.hardsigmoid, F.hardtanh,
        lambda a: a.clamp(-0.5, 0.7), lambda a: a.clamp(min=0.1), lambda a: a.clamp(max=0.1),
        lambda a: a.softmax(1), lambda a: a.log_softmax(-1)), [(x,)])


def arithmetic():
    x, v = torch.rand(2, 3, 5) + 0.5, torch.randn(5)
    return Model(Together(
        lambda a, b: torch.add(a, b, alpha=2.5), lambda a, b: torch.sub(a, b, alpha=3),
        lambda a, b: 1.5 - a, lambda a, b: a * b, lambda a, b: b / a, torch.maximum, torch.minimum,
        lambda a, b: a**2.5, torch.pow, lambda a, b: a.abs(), lambda a, b: -a,
        lambda a, b: a.exp(), lambda a, b: a.log(), lambda a, b: a.erf(), lambda a, b: a.sin(),
        lambda a, b: a.cos(), lambda a, b: a.sqrt(), lambda a, b: a.rsqrt(),
        lambda a, b: a.reciprocal(), lambda a, b: (a * 3).floor(), lambda a, b: (a * 3).ceil(),
        lambda a, b: a * torch.arange(5), lambda a, b: a + torch.full((5,), 2.5),
        lambda a, b: torch.ones_like(a) - a), [(x, v)])


def comparisons():
    x, y = (torch.randn(2, 3, 5).round() for _ in range(2))
    return Model(Together(
        torch.eq, torch.ne, torch.lt, torch.le, torch.gt, torch.ge, lambda a, b: a == 0,
        lambda a, b: a > 0.5, lambda a, b: torch.logical_and(a > 0, b > 0),
        lambda a, b: torch.logical_or(a > 0, b > 0), lambda a, b: torch.logical_xor(a > 0, b > 0),
        lambda a, b: torch.logical_not(a), lambda a, b: torch.where(a > 0, a, b),
        lambda a, b: a.masked_fill(b > 0, -3.0), lambda a, b: (a > 0).any(dim=1),
        lambda a, b: (a > 0).all(dim=-1, keepdim=True), lambda a, b: (a > 9).any()), [(x, y)])


def movements():
    x, y = torch.randn(2, 3, 4, 6), torch.randn(2, 3, 4, 6)
    index = torch.tensor([3, 0, 0])
    return Model(Together(
        lambda a, b: a.reshape(2, 12, 6), lambda a, b: a.flatten(1), lambda a, b: a.unsqueeze(-2),
        lambda a, b: a[:, :1].squeeze(1), lambda a, b: a.permute(0, 3, 1, 2).contiguous(),
        lambda a, b: a.transpose(1, -1) * 2, lambda a, b: a[:, :1].expand(2, 5, -1, 6) * 1,
        lambda a, b: torch.cat([a, b, a], dim=-2), lambda a, b: a[:, 1:, -3:-1, ::2] * 1,
        lambda a, b: a.flip(1, -1), lambda a, b: a[:, -1] * 1,
        lambda a, b: a.index_select(2, index), lambda a, b: torch.split(a, 2, dim=-1),
        lambda a, b: torch.split(a, [1, 5], dim=3), lambda a, b: b.chunk(2, dim=2),
        lambda a, b: F.pad(a, (1, 2, 0, 3), value=1.5), lambda a, b: F.pad(a, (-1, 2)),
        lambda a, b: a.repeat(2, 1, 3, 1, 1), lambda a, b: (a * 3).to(torch.int32),
        lambda a, b: a.half() * 2), [(x, y)])


def products():
    a, b = torch.randn(2, 3, 6, 8), torch.randn(2, 3, 6, 8)
    mask = torch.ones(6, 6).tril(2).bool()
    attention = F.scaled_dot_product_attention
    weight = torch.randn(7, 8)
    return Model(Together(
        lambda a, b: a @ b.transpose(-1, -2), lambda a, b: torch.bmm(a[0], b[0].transpose(1, 2)),
        lambda a, b: torch.mm(a[0, 0], weight.t()), lambda a, b: a @ weight[0],
        lambda a, b: torch.addmm(weight[:, 0], a[0, 0], weight.t(), beta=0.5, alpha=2),
        lambda a, b: F.linear(a, weight, weight[:, 0]), lambda a, b: F.linear(b, weight),
        lambda a, b: attention(a, b, a), lambda a, b: attention(a, b, a, is_causal=True),
        lambda a, b: attention(a, b, a, scale=0.3),
        lambda a, b: attention(a, b, a, attn_mask=torch.zeros(6, 6)),
        lambda a, b: attention(a, b, a, attn_mask=mask, scale=0.5),
        lambda a, b: attention(a[0], b[0], a[0])), [(a, b)])


def windows():
    x = torch.randn(2, 4, 9, 8)
    return Model(Together(
        nn.Conv2d(4, 6, 3, 2, 1, 2), nn.Conv2d(4, 8, 3, groups=2, bias=False),
        nn.Conv2d(4, 4, (3, 1), padding=(1, 0), groups=4), nn.ConvTranspose2d(4, 6, 3, 2, 1, 1),
        nn.ConvTranspose2d(4, 6, 3, 2, groups=2), nn.MaxPool2d(3, 2, 1),
        nn.MaxPool2d(3, 2, ceil_mode=True), nn.MaxPool2d(2, 1, dilation=2), nn.AvgPool2d(3, 2, 1),
        nn.AvgPool2d(3, 2, 1, count_include_pad=False), nn.AvgPool2d(3, 2, ceil_mode=True),
        nn.AdaptiveAvgPool2d(1), nn.AdaptiveAvgPool2d((3, 5)), nn.GroupNorm(2, 4),
        lambda a: F.group_norm(a, 2), nn.LayerNorm([9, 8]), lambda a: F.layer_norm(a, (8,)),
        lambda a: nn.functional.avg_pool1d(a.flatten(2), 3)), [(x,)])


def reductions():
    return Model(Together(
        torch.sum, lambda a: a.sum((1, -1), keepdim=True), torch.mean,
        lambda a: a.mean((-1, -2)), lambda a: a.amax(1), lambda a: a.amin((1, 2), keepdim=True)),
        [(torch.randn(2, 3, 4, 5),)])


def settled(module):
    vision.settle_norms(module)
    return module


def image(batch=1):
    return (torch.randn(batch, 3, 224, 224),)


BATCH = Dim("batch", min=1, max=8)
LENGTH = Dim("length", min=2, max=64)
MODELS = {
    "mobilenet_v3_small": lambda: Model(settled(vision.MobileNetV3Small()), [image()]),
    "mobilenet_v3_small_batches": lambda: Model(settled(vision.MobileNetV3Small()),
                                                [image(2), image(1), image(3)], {0: BATCH}),
    "resnet18": lambda: Model(settled(vision.ResNet18()), [image()]),
    "transformer": lambda: Model(LanguageModel(), [tokens(2, 16)]),
    "transformer_lengths": lambda: Model(LanguageModel(), [tokens(2, 16), tokens(1, 2),
                                                           tokens(5, 40)], {0: BATCH, 1: LENGTH}),
    "lstm": lambda: Model(layers.Lstm(), [(torch.randn(2, 6, 24),)]),
    "lstm_batches": lambda: Model(layers.Lstm(), [(torch.randn(n, 6, 24),) for n in (2, 1, 5)],
                                  {0: BATCH}),
    "lstm_states": lambda: Model(States(), [(torch.randn(7, 3, 12), torch.randn(4, 3, 16),
                                             torch.randn(4, 3, 16))]),
    "operators_activations": activations,
    "operators_arithmetic": arithmetic,
    "operators_comparisons": comparisons,
    "operators_movements": movements,
    "operators_products": products,
    "operators_windows": windows,
    "operators_reductions": reductions,
}


def call(*words):
    environment = {n: v for n, v in os.environ.items() if not n.startswith("TENON_")}
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True,
                          env=environment, check=False)
    if done.returncode != 0:
        raise AssertionError(f"{words[0]} exited with {done.returncode}: {done.stdout}{done.stderr}")
    return done.stdout


def operator_of(name):
    out = torch.ops
    for part in name.split("."):
        out = getattr(out, part)
    return out


class Check:
    def __init__(self, build, folder):
        self.compiler = build / "examples/programs/tenon-compile/tenon-compile"
        self.runner = build / "examples/programs/tenon-run/tenon-run"
        self.plugin = build / "examples/backends/openvino/openvino.so"
        self.folder = folder

    def run_one(self, name, program, model, inputs):
        """One run of the program; the largest difference that tenon-run found."""
        with torch.no_grad():
            expected = torch.utils._pytree.tree_leaves(model.module(*inputs))
        words, worst = [], 0.0
        for i, tensor in enumerate(inputs):
            path = self.folder / f"{name}_input_{i}.npy"
            numpy.save(path, tensor.numpy())
            words += ["--input", path]
        # Each output is held to its own limits, so they are compared here.
        report = json.loads(call(self.runner, program, "--plugin", self.plugin, "--json",
                                 "--output", self.folder / f"{name}_outputs", *words))
        files = [pathlib.Path(one["file"]) for one in report["outputs"]]
        assert len(files) == len(expected), (len(files), len(expected))
        for i, (path, tensor) in enumerate(zip(files, expected)):
            found, wanted = numpy.load(path), tensor.detach().numpy()
            assert found.shape == wanted.shape and found.dtype == wanted.dtype, (name, i)
            found, wanted = found.astype("float64"), wanted.astype("float64")
            peak = float(abs(wanted).max())
            numpy.testing.assert_allclose(found, wanted, rtol=RTOL, atol=PEAK * peak,
                                          err_msg=f"{name}: output {i}")
            worst = max(worst, float(abs(found - wanted).max()) / (peak or 1.0))
        return worst

    def check(self, name, form, model):
        archive = self.folder / f"{name}_{form}.pt2"
        program = self.folder / f"{name}_{form}.pte"
        dynamic = None if model.dynamic is None else (model.dynamic,)
        exported = torch.export.export(model.module, model.runs[0], dynamic_shapes=dynamic)
        table = torch.export.default_decompositions()
        if form == "kept":
            torch.export.save(exported, archive)
            for kept in call(self.compiler, archive, "--backend", "TenonOpenvino", "--plugin",
                             self.plugin, "--print-ops-to-not-decompose").split():
                table.pop(operator_of(kept), None)
        torch.export.save(exported.run_decompositions(table), archive)
        report = json.loads(call(self.compiler, archive, "--backend", "TenonOpenvino", "--plugin",
                                 self.plugin, "--json", "-o", program))
        method, = report["methods"]
        left = {o["operator"]: o["left_over"] for o in method["operators"] if o["left_over"]}
        assert not left and len(method["delegates"]) == 1, f"{name}, {form}: left over: {left}"
        worst = max(self.run_one(name, program, model, inputs) for inputs in model.runs)
        print(f"{name}, {form}: {method['delegated_nodes']} nodes, {len(model.runs)} runs, largest "
              f"difference {worst:.1e} of the largest element", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("libraries", type=pathlib.Path)
    parser.add_argument("--only", action="append", choices=MODELS)
    parser.add_argument("--folder", type=pathlib.Path, help="keeps the files there")
    args = parser.parse_args()
    warnings.filterwarnings("ignore")
    libraries = sorted(args.libraries.glob("libopenvino_c.so*"))
    if not libraries:
        sys.exit(f"openvino_models: no libopenvino_c.so in {args.libraries}")
    os.environ["OPENVINO_LIB"] = str(libraries[0])
    with tempfile.TemporaryDirectory(prefix="tenon-test-") as scratch:
        folder = args.folder or pathlib.Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        check = Check(args.build.resolve(), folder)
        for name in args.only or MODELS:
            for form in ("core", "kept"):
                torch.manual_seed(SEED)
                model = MODELS[name]()
                model.module.eval()
                check.check(name, form, model)


if __name__ == "__main__":
    main()
