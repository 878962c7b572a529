# SPDX-License-Identifier: MIT
"""A small Llama, with its keys and values in the program, and its export by ExecuTorch's own exporter.

A run takes the numbers of tokens and their places, of each of some rows of texts, and gives the logits of the tokens that
follow. The keys and values are mutable buffers of the exported program, so that ExecuTorch's runtime and Tenon's host keep
them from run to run.
"""

import torch
import torch.nn.functional as F
from executorch.exir import ExecutorchBackendConfig, to_edge_transform_and_lower
from torch import Tensor, nn

HEADS = 4


class Layer(nn.Module):
    """Attention with rotary positions to what came before, and a gated perceptron, with an RMS norm before each."""

    def __init__(self, width: int, places: int, rows: int) -> None:
        super().__init__()
        hidden = width * 8 // 3
        self.norms = nn.ModuleList(nn.RMSNorm(width) for _ in range(2))
        self.query, self.key, self.value, self.out = (nn.Linear(width, width, bias=False) for _ in range(4))
        self.gate, self.up = (nn.Linear(width, hidden, bias=False) for _ in range(2))
        self.down = nn.Linear(hidden, width, bias=False)
        for name in ("keys", "values"):
            self.register_buffer(name, torch.zeros(rows, places, width), persistent=False)

    def forward(self, x: Tensor, place: Tensor, turn: Tensor, mask: Tensor, keeps: bool) -> Tensor:
        """`x` [rows, n, width]; without `keeps`, in training, its own keys and values are all there are."""
        y = self.norms[0](x)
        rows, count, width = x.shape

        def turned(vectors: Tensor) -> Tensor:
            a, b = vectors.view(rows, count, HEADS, -1).chunk(2, -1)
            cosine, sine = turn.unsqueeze(2).chunk(2, -1)
            return torch.cat([a * cosine - b * sine, a * sine + b * cosine], -1).view(rows, count, width)

        keys, values = turned(self.key(y)), self.value(y)
        if keeps:
            row = torch.arange(rows).unsqueeze(1)
            self.keys.index_put_((row, place), keys)
            self.values.index_put_((row, place), values)
            keys, values = self.keys, self.values

        def heads(vectors: Tensor) -> Tensor:
            return vectors.view(rows, vectors.shape[1], HEADS, -1).transpose(1, 2)

        seen = F.scaled_dot_product_attention(heads(turned(self.query(y))), heads(keys), heads(values), mask.unsqueeze(1))
        x = x + self.out(seen.transpose(1, 2).reshape(rows, count, width))
        y = self.norms[1](x)
        return x + self.down(F.silu(self.gate(y)) * self.up(y))


class Llama(nn.Module):
    """Logits [rows, n, tokens] of what follows `token` [rows, n] at `place` [rows, n]."""

    def __init__(self, tokens: int, layers: int, width: int, places: int, rows: int = 1) -> None:
        super().__init__()
        self.embedding = nn.Embedding(tokens, width)
        self.layers = nn.ModuleList(Layer(width, places, rows) for _ in range(layers))
        self.norm, self.head = nn.RMSNorm(width), nn.Linear(width, tokens, bias=False)
        size = width // HEADS
        angles = torch.arange(places)[:, None] * 10000 ** (-torch.arange(0, size, 2) / size)
        self.register_buffer("turns", torch.cat([angles.cos(), angles.sin()], 1), persistent=False)

    def forward(self, token: Tensor, place: Tensor, keeps: bool = True) -> Tensor:
        x, turn = self.embedding(token), self.turns[place]
        places = torch.arange(self.turns.shape[0]) if keeps else place[0]
        mask = torch.where(places > place.unsqueeze(-1), float("-inf"), 0.0)
        for layer in self.layers:
            x = layer(x, place, turn, mask, keeps)
        return self.head(self.norm(x))


def partitioners(backend: str, plugins: list[str]) -> list:
    """What lowers for `backend`; nothing for the kernels of ExecuTorch."""
    if backend == "none":
        return []
    if backend == "XnnpackBackend":
        from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner

        return [XnnpackPartitioner()]
    import tenon.executorch

    return [tenon.executorch.partitioner(backend, plugins=plugins)]


def export(model: Llama, most: int, backend: str, plugins: list[str]) -> bytes:
    """The program of `model`, for at most `most` tokens in a run. As in ExecuTorch's programs of Llama, the methods
    get_max_seq_len and get_max_context_len say so."""
    rows, places = model.layers[0].keys.shape[:2]
    # Two tensors: of one, torch.export would make a single input.
    examples = tuple(torch.zeros(rows, most, dtype=torch.int64) for _ in range(2))
    count = {1: torch.export.Dim("n", min=1, max=most)} if most > 1 else None
    with torch.no_grad():
        exported = torch.export.export(model, examples, dynamic_shapes=count and (count, count), strict=False)
    lowered = to_edge_transform_and_lower(exported, partitioner=partitioners(backend, plugins), constant_methods={
        "get_max_seq_len": most, "get_max_context_len": places})
    return lowered.to_executorch(ExecutorchBackendConfig()).buffer
