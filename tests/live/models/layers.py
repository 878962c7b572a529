# SPDX-License-Identifier: MIT
"""Sequence, signal and data-movement architectures, and the transformer block of all of them."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class TransformerBlock(nn.Module):
    """Attention and feed-forward with the norms in front, on torch's fused attention."""

    def __init__(self, width: int, heads: int, causal: bool = False) -> None:
        super().__init__()
        self.heads = heads
        self.causal = causal
        self.norm1 = nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        self.norm2 = nn.LayerNorm(width)
        self.grow = nn.Linear(width, 4 * width)
        self.shrink = nn.Linear(4 * width, width)

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        batch, length, width = x.shape
        qkv = self.qkv(self.norm1(x)).view(batch, length, 3, self.heads, width // self.heads)
        q, k, v = qkv.permute(2, 0, 3, 1, 4).unbind(0)
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=self.causal)
        x = x + self.out(y.transpose(1, 2).reshape(batch, length, width))
        return x + self.shrink(F.gelu(self.grow(self.norm2(x)), approximate="tanh"))


class Gpt2(nn.Module):
    """GPT-2 in small: causal attention, and one matrix for the embedding and the output."""

    def __init__(self, vocabulary: int = 5000, width: int = 256, depth: int = 4) -> None:
        super().__init__()
        self.words = nn.Embedding(vocabulary, width)
        self.places = nn.Embedding(128, width)
        self.blocks = nn.ModuleList(TransformerBlock(width, 8, True) for _ in range(depth))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, vocabulary, bias=False)
        nn.init.normal_(self.words.weight, std=0.02)
        self.head.weight = self.words.weight

    def forward(self, ids: Tensor) -> Tensor:
        x = self.words(ids) + self.places(torch.arange(ids.shape[1], device=ids.device))
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


class BertLayer(nn.Module):
    """An encoder layer of BERT: norms last, separate projections, exact gelu."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.query = nn.Linear(width, width)
        self.key = nn.Linear(width, width)
        self.value = nn.Linear(width, width)
        self.out = nn.Linear(width, width)
        self.norm1 = nn.LayerNorm(width, 1e-12)
        self.grow = nn.Linear(width, 4 * width)
        self.shrink = nn.Linear(4 * width, width)
        self.norm2 = nn.LayerNorm(width, 1e-12)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        batch, length, width = x.shape
        shape = (batch, length, self.heads, width // self.heads)
        q, k, v = (f(x).view(shape).transpose(1, 2) for f in (self.query, self.key, self.value))
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        x = self.norm1(x + self.out(y.transpose(1, 2).reshape(batch, length, width)))
        return self.norm2(x + self.shrink(F.gelu(self.grow(x))))


class Bert(nn.Module):
    """BERT in small: word, place and segment embeddings, a padding mask, a pooled output."""

    def __init__(self, vocabulary: int = 3000, width: int = 192, depth: int = 4) -> None:
        super().__init__()
        self.words = nn.Embedding(vocabulary, width, padding_idx=0)
        self.places = nn.Embedding(64, width)
        self.segments = nn.Embedding(2, width)
        self.norm = nn.LayerNorm(width, 1e-12)
        self.layers = nn.ModuleList(BertLayer(width, 4) for _ in range(depth))
        self.pooler = nn.Linear(width, width)

    def forward(self, ids: Tensor, mask: Tensor, segments: Tensor) -> tuple[Tensor, Tensor]:
        places = self.places(torch.arange(ids.shape[1], device=ids.device))
        x = self.norm(self.words(ids) + places + self.segments(segments))
        visible = mask[:, None, None, :].to(torch.bool)
        for layer in self.layers:
            x = layer(x, visible)
        return x, torch.tanh(self.pooler(x[:, 0]))


class Lstm(nn.Module):
    """A two-layer bidirectional LSTM with a head; it also gives its last state."""

    def __init__(self) -> None:
        super().__init__()
        self.lstm = nn.LSTM(24, 40, num_layers=2, bidirectional=True, batch_first=True)
        self.head = nn.Linear(80, 12)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        y, (state, _) = self.lstm(x)
        return F.log_softmax(self.head(y), -1), state


class BagEmbedder(nn.Module):
    """Bags of words to unit vectors, and how alike the bags are."""

    def __init__(self) -> None:
        super().__init__()
        self.bag = nn.EmbeddingBag(2000, 96, mode="mean")
        self.head = nn.Linear(96, 64)

    def forward(self, left: Tensor, right: Tensor) -> tuple[Tensor, Tensor]:
        a, b = (F.normalize(self.head(self.bag(ids)), dim=-1) for ids in (left, right))
        return a, F.cosine_similarity(a, b, dim=-1)


class Mlp(nn.Module):
    """Two layers and a softmax, or as many layers as there are widths."""

    def __init__(self, *widths: int) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(a, b) for a, b in zip(widths, widths[1:]))

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.layers[:-1]:
            x = F.relu(layer(x))
        return F.softmax(self.layers[-1](x), -1)


class AddMul(nn.Module):
    """The smallest program with some arithmetic in it."""

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        return (x + y) * 2


class RunningMean(nn.Module):
    """Keeps a count and a mean from run to run, in buffers updated in place."""

    def __init__(self, width: int = 12) -> None:
        super().__init__()
        self.register_buffer("count", torch.zeros(1))
        self.register_buffer("mean", torch.zeros(width))

    def forward(self, x: Tensor) -> Tensor:
        self.count.add_(1)
        self.mean.add_((x - self.mean) / self.count)
        return x - self.mean


class KvCache(nn.Module):
    """One decoding step of attention: the new key and value go into a cache kept by the model."""

    def __init__(self, width: int = 64, heads: int = 4, length: int = 16) -> None:
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        shape = (1, heads, length, width // heads)
        self.register_buffer("keys", torch.zeros(shape))
        self.register_buffer("values", torch.zeros(shape))

    def forward(self, x: Tensor, place: Tensor) -> Tensor:
        batch, step, width = x.shape
        qkv = self.qkv(x).view(batch, step, 3, self.heads, width // self.heads)
        q, k, v = qkv.permute(2, 0, 3, 1, 4).unbind(0)
        self.keys.index_copy_(2, place, k)
        self.values.index_copy_(2, place, v)
        seen = (torch.arange(self.keys.shape[2], device=x.device) <= place)[None, None, None]
        y = F.scaled_dot_product_attention(q, self.keys, self.values, attn_mask=seen)
        return self.out(y.transpose(1, 2).reshape(batch, step, width))


class AudioConv(nn.Module):
    """A stack of dilated and grouped one-dimensional convolutions, like a WaveNet."""

    def __init__(self, width: int = 32) -> None:
        super().__init__()
        self.stem = nn.Conv1d(1, width, 9, stride=4, padding=4)
        self.dilated = nn.ModuleList(
            nn.Conv1d(width, 2 * width, 3, padding=1 << i, dilation=1 << i, groups=4)
            for i in range(4))
        self.mix = nn.ModuleList(nn.Conv1d(width, width, 1) for _ in range(4))
        self.up = nn.ConvTranspose1d(width, 8, 8, stride=4, padding=2)

    def forward(self, x: Tensor) -> Tensor:
        x = self.stem(x)
        for dilated, mix in zip(self.dilated, self.mix):
            x = x + mix(F.glu(dilated(x), 1))
        return torch.tanh(self.up(x))


class VideoConv(nn.Module):
    """Three-dimensional convolutions over a short clip."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1 = nn.Conv3d(3, 16, 3, stride=(1, 2, 2), padding=1)
        self.norm = nn.GroupNorm(4, 16)
        self.conv2 = nn.Conv3d(16, 24, (3, 1, 1), padding=(1, 0, 0))
        self.head = nn.Linear(24, 10)

    def forward(self, clip: Tensor) -> Tensor:
        x = F.leaky_relu(self.norm(self.conv1(clip)), 0.1)
        x = F.elu(self.conv2(F.max_pool3d(x, 2)))
        return self.head(x.mean((2, 3, 4)))


class DataMovement(nn.Module):
    """Order, selection and scatter: what a detection or a beam-search head consists of."""

    def forward(self, x: Tensor, index: Tensor) -> tuple[Tensor, ...]:
        values, places = torch.topk(x, 5, dim=-1)
        order, by = torch.sort(x, dim=-1, descending=True, stable=True)
        gathered = torch.gather(x, 1, index)
        sums = torch.zeros_like(x).scatter_add(1, index, gathered)
        put = torch.zeros_like(x).index_put(
            (torch.arange(x.shape[0])[:, None], index), gathered, accumulate=True)
        return values, places, order, by, torch.cumsum(x, -1), gathered, sums, put


class Selection(nn.Module):
    """Operators that Inductor leaves to the C shim: ranks, searches, masks, scans, distances."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("edges", torch.linspace(-2, 2, 9))

    def forward(self, x: Tensor, mask: Tensor) -> tuple[Tensor, ...]:
        put = x.index_put((mask,), torch.tensor(0.5))
        return (
            x.median(),
            *torch.kthvalue(x, 3, 1),
            torch.bucketize(x, self.edges),
            torch.searchsorted(self.edges, x, right=True),
            x.masked_scatter(mask, x * 2),
            *torch.cummax(x, 0),
            *torch.cummin(x, 1),
            torch.logcumsumexp(x, 1),
            torch.cdist(x, x + 1),
            put,
            torch.nn.functional.avg_pool3d(x.reshape(1, 1, 4, 4, 3), 2, 1, ceil_mode=True),
        )
