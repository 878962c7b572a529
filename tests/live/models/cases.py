# SPDX-License-Identifier: MIT
"""The models of the live tests: a name, how to make one, and what to run it on.

Weights and inputs are random under a fixed seed. `MODELS` is in the order of export: small first.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from models import layers, vision

SEED = 20250731

Inputs = tuple[Tensor, ...]


@dataclass(frozen=True)
class Case:
    """One model. The first input set is also the example that `torch.export` traces."""

    make: Callable[[], nn.Module]
    inputs: Callable[[], list[Inputs]]
    dynamic_shapes: Any = None
    stateful: bool = False  # the sets are runs of one instance, in this order
    external: bool = False  # the weights leave the program for a .ptd file
    frozen: bool = False  # its weights are folded and laid out when it is compiled
    rtol: float = 1e-4
    atol: float = 1e-5

    def build(self) -> tuple[nn.Module, list[Inputs]]:
        """The module, ready for inference, and its input sets."""
        torch.manual_seed(SEED)
        module = self.make().eval()
        return module, self.inputs()


def floats(*shape: int, sets: int = 1) -> Callable[[], list[Inputs]]:
    """`sets` input sets of one random float32 tensor."""
    return lambda: [(torch.randn(shape),) for _ in range(sets)]


def ids(limit: int, *shape: int) -> Tensor:
    """Random int64 tokens below `limit`; none is zero, which means padding."""
    return torch.randint(1, limit, shape)


def bert_inputs() -> list[Inputs]:
    """Two batches of two sentences with different amounts of padding."""
    sets = []
    for lengths in ((24, 15), (7, 19)):
        mask = (torch.arange(24)[None] < torch.tensor(lengths)[:, None]).long()
        segments = (torch.arange(24)[None] >= 6).long() * mask
        sets.append((ids(3000, 2, 24) * mask, mask, segments))
    return sets


def decoding_steps() -> list[Inputs]:
    """Six tokens in a row, each with its place in the cache."""
    return [(torch.randn(1, 1, 64), torch.tensor([place])) for place in range(6)]


def bfloat16_block() -> nn.Module:
    """A causal transformer block whose weights are bfloat16."""
    return layers.TransformerBlock(64, 4, causal=True).to(torch.bfloat16)


MODELS: dict[str, Case] = {
    "tiny_addmul": Case(layers.AddMul, lambda: [(torch.randn(2, 3), torch.randn(2, 3))]),
    "small_mlp": Case(lambda: layers.Mlp(16, 32, 8), floats(4, 16, sets=2)),
    "dynamic_mlp": Case(
        lambda: layers.Mlp(16, 64, 32, 8),
        lambda: [(torch.randn(batch, 16),) for batch in (4, 1, 7, 16, 64)],
        dynamic_shapes=({0: torch.export.Dim("batch", min=1, max=64)},),
    ),
    "stateful": Case(layers.RunningMean, floats(12, sets=5), stateful=True),
    "kv_cache": Case(layers.KvCache, decoding_steps, stateful=True),
    "external_weights": Case(lambda: layers.Mlp(64, 256, 128, 10), floats(8, 64), external=True),
    "resnet18": Case(vision.ResNet18, floats(1, 3, 224, 224), frozen=True, rtol=1e-3,
                     atol=1e-4),
    "gpt2": Case(layers.Gpt2, lambda: [(ids(5000, 1, 48),), (ids(5000, 1, 48),)], atol=1e-4),
    "bert": Case(layers.Bert, bert_inputs, rtol=1e-3, atol=1e-4),
    "mobilenet_v3_small": Case(vision.MobileNetV3Small, floats(1, 3, 224, 224), frozen=True,
                               rtol=1e-3, atol=1e-4),
    "vit": Case(vision.VisionTransformer, floats(1, 3, 224, 224), rtol=1e-3, atol=1e-4),
    "unet": Case(vision.UNet, floats(1, 3, 64, 96), frozen=True, rtol=1e-3, atol=1e-4),
    "lstm": Case(layers.Lstm, floats(2, 10, 24, sets=2)),
    "embedding": Case(layers.BagEmbedder, lambda: [(ids(2000, 3, 11), ids(2000, 3, 7))]),
    "bfloat16_block": Case(
        bfloat16_block, lambda: [(torch.randn(1, 16, 64).to(torch.bfloat16),)],
        rtol=3e-2, atol=3e-2,
    ),
    "conv1d_audio": Case(layers.AudioConv, floats(1, 1, 1024)),
    "conv3d_video": Case(layers.VideoConv, floats(1, 3, 8, 32, 32), atol=1e-4),
    "channels_last_cnn": Case(
        vision.ChannelsLastCnn,
        lambda: [(torch.randn(2, 3, 33, 40).to(memory_format=torch.channels_last),)],
    ),
    "topk_sort": Case(
        layers.DataMovement, lambda: [(torch.randn(6, 40), torch.randint(0, 40, (6, 9)))]
    ),
    "selection": Case(layers.Selection, lambda: [(torch.randn(6, 8), torch.randn(6, 8) > 0)]),
    "pooling": Case(vision.Pooling, floats(2, 5, 17, 23)),
}
