# SPDX-License-Identifier: MIT
"""The models of tests/fixtures/cuda_* in eager PyTorch, for bench_libtorch.py: tests/live/exporters/export_cuda_models.py and the
sources of the older two have the same. Weights have other values: they do not change what a run costs.
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
    """A cache that each run writes a row of."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("cache", torch.arange(32, dtype=torch.float32).reshape(4, 8))
        self.scale = nn.Parameter(torch.randn(4, 8))

    def forward(self, row: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        self.cache.index_copy_(0, row, x)
        return self.cache * self.scale


class ScaledSum(nn.Module):
    """One kernel over two tables."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.randn(4, 16))
        self.offset = nn.Parameter(torch.randn(16))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * self.scale + self.offset


class Encoder(nn.Module):
    """The first of the two methods."""

    def __init__(self) -> None:
        super().__init__()
        self.shared = nn.Parameter(torch.randn(16))
        self.own = nn.Parameter(torch.full((16,), 2.0))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.sigmoid(x * self.shared) + self.own


class Decoder(nn.Module):
    """The second."""

    def __init__(self) -> None:
        super().__init__()
        self.shared = nn.Parameter(torch.randn(16))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.tanh(x * self.shared)


class Rows(nn.Module):
    """Any number of rows up to 64."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(16))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.softmax(x * self.weight, -1)


MODELS: dict[str, type[nn.Module]] = {
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
