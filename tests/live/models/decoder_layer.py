# SPDX-License-Identifier: MIT
"""One decoder layer as Llama 3 has it, with int4 weights in ExecuTorch's format and a cache of keys and values.

Its weights are generated from their names (tests/gpu/suite/weights.py), so that a program of real width needs no file of
100 MB beside it. The products are ExecuTorch's: `executorch_cuda::int4_plain_mm` for up to four rows, weights that are
unpacked in the graph for more.
"""

import sys
from dataclasses import dataclass
from pathlib import Path

import torch
import torch.nn.functional as F
from executorch.backends.cuda.quantize_op_dispatch.int4_dispatch import _dequant_matmul, _lib
from torch import nn
from torch.library import impl

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "gpu"))  # tests/gpu: the suite is not installed.
from suite.weights import describe, generated  # noqa: E402, F401  (describe: for the exporter)

GROUP = 32
MOST_ROWS_OF_KERNEL = 4


@impl(_lib, "int4_plain_mm", "CPU")
def _on_cpu(x: torch.Tensor, qdata: torch.Tensor, scale: torch.Tensor, scale_step: torch.Tensor, zero: torch.Tensor,
            zero_step: torch.Tensor, group: int) -> torch.Tensor:
    """The reference: weights and sums in float32."""
    return _dequant_matmul(x.float(), qdata, scale, scale_step, zero, zero_step, group).to(x.dtype)


@dataclass(frozen=True)
class Sizes:
    """Of a layer."""

    width: int
    hidden: int
    heads: int
    kv_heads: int
    cache: int  # Tokens.
    vocabulary: int = 512

    @property
    def head(self) -> int:
        """Elements of a head."""
        return self.width // self.heads


REAL = Sizes(4096, 14336, 32, 8, 1024)
SMALL = Sizes(256, 512, 4, 2, 256, 32)


class Int4Linear(nn.Module):
    """A product with a weight of random numbers: values of about 1 / sqrt(depth)."""

    def __init__(self, name: str, rows: int, depth: int) -> None:
        super().__init__()
        self.names: dict[str, int] = {}
        step = 2.0 ** -round(10 + torch.tensor(float(depth)).log2().item() / 2)
        for part, count in (("qdata", depth // 2), ("scale", depth // GROUP), ("zero_point", depth // GROUP)):
            key = f"{name}.{part}.{rows}x{depth}"
            self.names[key] = rows * count
            data = torch.frombuffer(bytearray(generated(key, rows * count)), dtype=torch.uint8).reshape(rows, count)
            self.register_buffer(part, data)
        self.register_buffer("scale_step", torch.full((rows, depth // 256), step, dtype=torch.float16))
        # From 0 to 15.9, as the numbers.
        self.register_buffer("zero_point_step", torch.full((rows, depth // 256), 2.0**-4, dtype=torch.float16))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Of rows of bfloat16."""
        parts = (self.qdata, self.scale, self.scale_step, self.zero_point, self.zero_point_step)
        if x.shape[0] <= MOST_ROWS_OF_KERNEL:
            return torch.ops.executorch_cuda.int4_plain_mm(x, *parts, GROUP)
        return _dequant_matmul(x, *parts, GROUP)


class Norm(nn.Module):
    """A root mean square norm, in float32."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.linspace(0.5, 1.5, width).to(torch.bfloat16), requires_grad=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Of rows."""
        wide = x.float()
        return (wide * torch.rsqrt(wide.square().mean(-1, keepdim=True) + 1e-5)).to(x.dtype) * self.weight


class DecoderLayer(nn.Module):
    """Tokens and their places to the layer's output: all of it for a few tokens, else eight rows and every row's mean."""

    def __init__(self, sizes: Sizes) -> None:
        super().__init__()
        self.sizes = sizes
        kv_width = sizes.kv_heads * sizes.head
        self.products = nn.ModuleDict({
            name: Int4Linear(name, rows, depth) for name, rows, depth in (
                ("q", sizes.width, sizes.width), ("k", kv_width, sizes.width), ("v", kv_width, sizes.width),
                ("o", sizes.width, sizes.width), ("gate", sizes.hidden, sizes.width), ("up", sizes.hidden, sizes.width),
                ("down", sizes.width, sizes.hidden))})
        self.norms = nn.ModuleList(Norm(sizes.width) for _ in range(2))
        key = f"table.{sizes.vocabulary}x{sizes.width}"
        self.names = {key: sizes.vocabulary * sizes.width}
        for product in self.products.values():
            self.names |= product.names
        table = torch.frombuffer(bytearray(generated(key, self.names[key])), dtype=torch.int8)
        self.register_buffer("table", table.reshape(sizes.vocabulary, sizes.width))
        frequencies = 500000.0 ** (-torch.arange(0, sizes.head, 2, dtype=torch.float32) / sizes.head)
        self.register_buffer("frequencies", frequencies)
        for name in ("keys", "values"):
            self.register_buffer(name, torch.zeros(1, sizes.kv_heads, sizes.cache, sizes.head, dtype=torch.bfloat16))

    def rotated(self, x: torch.Tensor, places: torch.Tensor) -> torch.Tensor:
        """Heads by their places."""
        angles = places.float().unsqueeze(-1) * self.frequencies
        cos, sin = angles.cos(), angles.sin()
        first, second = x.float().chunk(2, -1)
        return torch.cat([first * cos - second * sin, second * cos + first * sin], -1).to(x.dtype)

    def forward(self, tokens: torch.Tensor, places: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """Both are int64, one for each row."""
        sizes, rows = self.sizes, tokens.shape[0]
        x = self.table[tokens].to(torch.bfloat16) * 2.0**-6
        normed = self.norms[0](x)

        def heads(name: str, count: int) -> torch.Tensor:
            return self.products[name](normed).reshape(1, rows, count, sizes.head).transpose(1, 2)

        q = self.rotated(heads("q", sizes.heads), places)
        self.keys.index_copy_(2, places, self.rotated(heads("k", sizes.kv_heads), places))
        self.values.index_copy_(2, places, heads("v", sizes.kv_heads))
        mask = (torch.arange(sizes.cache, device=places.device) <= places.unsqueeze(-1)).reshape(1, 1, rows, sizes.cache)
        mixed = F.scaled_dot_product_attention(q, self.keys, self.values, attn_mask=mask, enable_gqa=True)
        x = x + self.products["o"](mixed.transpose(1, 2).reshape(rows, sizes.width))
        normed = self.norms[1](x)
        x = x + self.products["down"](F.silu(self.products["gate"](normed)) * self.products["up"](normed))
        if rows <= MOST_ROWS_OF_KERNEL:
            return (x.float(),)
        return (x[:: rows // 8].float(), x.float().mean(-1))
