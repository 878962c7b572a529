# SPDX-License-Identifier: MIT
"""The models of tests/fixtures/cuda_* and tests/gpu/programs, but for the decoder layers, in eager PyTorch.
tests/live/exporters/export_cuda_models.py exports them, and bench_libtorch.py measures them, with weights of other values:
they do not change what a run costs. This module needs PyTorch alone, as a machine with a GPU may have no ExecuTorch.
"""

from typing import Any

import torch
from torch import nn


class AddMul(nn.Module):
    """Two inputs, no weights."""

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return (x + y) * 2.0


class Mlp(nn.Module):
    """Two products of matrices and a softmax."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(16, 32)
        self.second = nn.Linear(32, 8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.softmax(self.second(torch.relu(self.first(x))), -1)


class Embedding(nn.Module):
    """Integers as inputs, a table, a product of matrices and a softmax."""

    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(50, 16)
        self.linear = nn.Linear(16, 16)

    def forward(self, i: torch.Tensor) -> torch.Tensor:
        return torch.softmax(self.linear(self.table(i)), -1)


class Stateful(nn.Module):
    """A cache that each run writes a row of, and a table that it does not write to."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("cache", torch.arange(32, dtype=torch.float32).reshape(4, 8))
        self.scale = nn.Parameter(torch.randn(4, 8))

    def forward(self, row: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        self.cache.index_copy_(0, row, x)
        return self.cache * self.scale


class ScaledSum(nn.Module):
    """One kernel over two tables: for a program with a library for each of several devices."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.randn(4, 16))
        self.offset = nn.Parameter(torch.randn(16))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * self.scale + self.offset


class Encoder(nn.Module):
    """Half of two methods that have a weight in common, which is a new one when none is given."""

    def __init__(self, shared: nn.Parameter | None = None, own: float = 2.0) -> None:
        super().__init__()
        self.shared = nn.Parameter(torch.randn(16)) if shared is None else shared
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


class Convolution(nn.Module):
    """Two convolutions, of different strides and paddings, and a sum over places."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Conv2d(3, 16, 3, padding=1)
        self.second = nn.Conv2d(16, 16, 3, stride=2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.second(torch.relu(self.first(x))).mean((2, 3))


class Attention(nn.Module):
    """Causal attention of two heads, between two norms."""

    def __init__(self) -> None:
        super().__init__()
        self.norms = nn.ModuleList(nn.LayerNorm(32) for _ in range(2))
        self.project = nn.Linear(32, 96)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, length, width = x.shape
        heads = self.project(self.norms[0](x)).reshape(batch, length, 3, 2, width // 2)
        q, k, v = heads.permute(2, 0, 3, 1, 4)
        mixed = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.norms[1](x + mixed.transpose(1, 2).reshape(batch, length, width))


class Sorted(nn.Module):
    """A sort along a dimension that is not the last, which a kernel of the plugin does, and its places."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        values, places = torch.sort(x * 3.0, dim=1, descending=True, stable=True)
        return values + places


class Largest(nn.Module):
    """The largest elements of each row and their places: ExecuTorch has a Triton kernel for them."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        values, places = torch.topk(x * 3.0, 5)
        return values + places


class Random(nn.Module):
    """Means of random numbers and of their squares: the numbers are other ones in each run."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        numbers = torch.rand(x.shape[0], 65536, device=x.device)
        return torch.stack([numbers.mean(-1), numbers.square().mean(-1)], -1) + x


class BFloat16(nn.Module):
    """Two products of matrices in bfloat16, a norm between them."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(64, 128, dtype=torch.bfloat16)
        self.norm = nn.LayerNorm(128, dtype=torch.bfloat16)
        self.second = nn.Linear(128, 32, dtype=torch.bfloat16)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.second(nn.functional.gelu(self.norm(self.first(x)))).float()


MODELS: dict[str, type[nn.Module]] = {
    "attention": Attention,
    "bfloat16": BFloat16,
    "convolution": Convolution,
    "largest": Largest,
    "random": Random,
    "sorted": Sorted,
    "cuda_addmul": AddMul,
    "cuda_dynamic": Rows,
    "cuda_embedding": Embedding,
    "cuda_mlp": Mlp,
    "cuda_stateful": Stateful,
    "cuda_two_methods": Encoder,
    "cuda_two_methods_decode": Decoder,
    "cuda_variants": ScaledSum,
}


def dynamic_shapes(name: str) -> Any:
    """What `torch.export.export` is given for a program with shapes that change."""
    return ({0: torch.export.Dim("rows", min=1, max=64)},) if name == "cuda_dynamic" else None
