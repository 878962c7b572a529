# SPDX-License-Identifier: MIT
"""Small models for the conformance kit's cases of CpuAotiBackend (tests/conformance/cases).

Each shows something that a backend gets wrong by itself: a shape that changes, state that continues
and begins anew, dtypes with few digits, shapes without dimensions or elements, weights in a file.
"""

import torch
from torch import Tensor, nn

from models import layers
from models.cases import Case, Inputs


class Dtypes(nn.Module):
    """A little arithmetic in each dtype."""

    def forward(self, half: Tensor, brain: Tensor, double: Tensor, long: Tensor, byte: Tensor,
                flags: Tensor) -> tuple[Tensor, ...]:
        return (half * 3 - 1, brain * 3 - 1, double * 3 - 1, long * 3 - 1, byte // 2,
                (long > 0) & flags)


class Shapes(nn.Module):
    """Tensors without dimensions, without elements, and with the channels last."""

    def forward(self, scalar: Tensor, empty: Tensor, image: Tensor) -> tuple[Tensor, ...]:
        return scalar * 2 + 1, empty + scalar, image * scalar


def dtypes() -> list[Inputs]:
    """Two sets; the second has values that are not finite, and the ends of the integers."""
    double = torch.linspace(-2, 2, 12, dtype=torch.float64).reshape(3, 4)
    long = torch.arange(-5, 7).reshape(3, 4)
    byte = torch.arange(0, 252, 21, dtype=torch.uint8).reshape(3, 4)
    flags = torch.arange(12).reshape(3, 4) % 3 == 0
    first = (double.half(), double.bfloat16(), double, long, byte, flags)
    odd = double.clone()
    odd[0] = torch.tensor([float("nan"), float("inf"), -float("inf"), -0.0])
    ends = long * 2**59
    return [first, (odd.half(), odd.bfloat16(), odd, ends, 255 - byte, ~flags)]


def shapes() -> list[Inputs]:
    """One set."""
    image = torch.randn(1, 3, 4, 5).to(memory_format=torch.channels_last)
    return [(torch.tensor(1.5), torch.zeros(2, 0, 3), image)]


MODELS: dict[str, Case] = {
    "dtypes": Case(Dtypes, dtypes),
    "dynamic_shapes": Case(
        lambda: layers.Mlp(6, 8, 3),
        lambda: [(torch.randn(batch, 6),) for batch in (5, 1, 16, 2)],
        dynamic_shapes=({0: torch.export.Dim("batch", min=1, max=16)},),
    ),
    "external_weights": Case(
        lambda: layers.Mlp(6, 8, 3), lambda: [(torch.randn(4, 6),)], external=True),
    "shapes": Case(Shapes, shapes),
    # After three runs of one instance the first one comes again, in a new instance.
    "stateful": Case(
        lambda: layers.RunningMean(4), lambda: [(torch.randn(4),) for _ in range(3)],
        stateful=True),
}
