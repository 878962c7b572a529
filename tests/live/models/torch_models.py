# SPDX-License-Identifier: MIT
"""Models for torch.compile, with random weights and nothing to download: `make(name)` gives a model and its inputs."""

import math

import torch
from torch import nn
from torch.nn import functional as F


class Llama(nn.Module):
    """Rotary places, RMS norms, keys and values for groups of heads, and a gate."""

    def __init__(self, width=256, heads=8, groups=2, depth=3, words=1000):
        super().__init__()
        self.heads, self.groups, self.size = heads, groups, width // heads
        self.words = nn.Embedding(words, width)
        self.norms = nn.ModuleList(nn.RMSNorm(width) for _ in range(2 * depth + 1))
        linear = lambda a, b: nn.ModuleList(nn.Linear(a, b, bias=False) for _ in range(depth))  # noqa: E731
        self.q, self.k, self.v = (linear(width, count * self.size) for count in (heads, groups, groups))
        self.out, self.gate, self.up, self.down = (linear(*sizes) for sizes in (
            (width, width), (width, 3 * width), (width, 3 * width), (3 * width, width)))
        self.head = nn.Linear(width, words, bias=False)

    def rotate(self, x):
        places = torch.arange(x.shape[2])[:, None]
        angles = places * (10000.0 ** (-torch.arange(0, self.size, 2) / self.size))
        cos, sin = (torch.cat([each, each], -1) for each in (angles.cos(), angles.sin()))
        first, second = x.chunk(2, -1)
        return x * cos + torch.cat([-second, first], -1) * sin

    def forward(self, tokens):
        x = self.words(tokens)
        batch, length = tokens.shape
        for i in range(len(self.q)):
            y = self.norms[2 * i](x)
            q, k, v = (layer[i](y).view(batch, length, -1, self.size).transpose(1, 2)
                       for layer in (self.q, self.k, self.v))
            q, k = self.rotate(q), self.rotate(k)
            k, v = (each.repeat_interleave(self.heads // self.groups, 1) for each in (k, v))
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + self.out[i](y.transpose(1, 2).reshape(batch, length, -1))
            y = self.norms[2 * i + 1](x)
            x = x + self.down[i](F.silu(self.gate[i](y)) * self.up[i](y))
        return self.head(self.norms[-1](x))


class Gpt(nn.Module):
    """Learned places, and attention written out with a mask that is computed."""

    def __init__(self, width=192, heads=6, depth=3, words=1000, length=64):
        super().__init__()
        self.heads = heads
        self.words, self.places = nn.Embedding(words, width), nn.Embedding(length, width)
        self.layers = nn.ModuleList(nn.ModuleDict({
            "first": nn.LayerNorm(width), "qkv": nn.Linear(width, 3 * width), "out": nn.Linear(width, width),
            "second": nn.LayerNorm(width), "up": nn.Linear(width, 4 * width), "down": nn.Linear(4 * width, width)})
            for _ in range(depth))

    def forward(self, tokens):
        length = tokens.shape[1]
        x = self.words(tokens) + self.places(torch.arange(length))
        hidden = torch.ones(length, length, dtype=torch.bool).triu(1)
        for layer in self.layers:
            q, k, v = (each.unflatten(-1, (self.heads, -1)).transpose(1, 2)
                       for each in layer["qkv"](layer["first"](x)).split(x.shape[-1], -1))
            scores = (q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])).masked_fill(hidden, -math.inf)
            x = x + layer["out"]((scores.softmax(-1) @ v).transpose(1, 2).flatten(2))
            x = x + layer["down"](F.gelu(layer["up"](layer["second"](x)), approximate="tanh"))
        return x @ self.words.weight.T


class Diffusion(nn.Module):
    """A UNet of residual blocks with group norms, a time, skips, and attention in the middle."""

    class Block(nn.Module):
        def __init__(self, before, after, times):
            super().__init__()
            self.first, self.second = nn.GroupNorm(8, before), nn.GroupNorm(8, after)
            self.a, self.b = nn.Conv2d(before, after, 3, padding=1), nn.Conv2d(after, after, 3, padding=1)
            self.time = nn.Linear(times, after)
            self.skip = nn.Conv2d(before, after, 1) if before != after else nn.Identity()

        def forward(self, x, time):
            y = self.a(F.silu(self.first(x))) + self.time(F.silu(time))[:, :, None, None]
            return self.skip(x) + self.b(F.silu(self.second(y)))

    def __init__(self, width=32):
        super().__init__()
        self.width, block = width, self.Block
        self.time = nn.Sequential(nn.Linear(width, 4 * width), nn.SiLU(), nn.Linear(4 * width, 4 * width))
        self.start, self.end = nn.Conv2d(3, width, 3, padding=1), nn.Conv2d(width, 3, 3, padding=1)
        self.blocks = nn.ModuleList([block(width, width, 4 * width), block(width, 2 * width, 4 * width),
                                     block(2 * width, 2 * width, 4 * width), block(3 * width, width, 4 * width)])
        self.attention = nn.MultiheadAttention(2 * width, 4, batch_first=True)

    def forward(self, x, time):
        rates = torch.exp(torch.arange(self.width // 2) * (-math.log(10000.0) / (self.width // 2)))
        angles = time[:, None] * rates
        time = self.time(torch.cat([angles.sin(), angles.cos()], -1))
        first = self.blocks[0](self.start(x), time)
        y = self.blocks[1](F.avg_pool2d(first, 2), time)
        rows = y.flatten(2).transpose(1, 2)
        y = y + self.attention(rows, rows, rows, need_weights=False)[0].transpose(1, 2).view_as(y)
        y = F.interpolate(self.blocks[2](y, time), scale_factor=2.0)
        return self.end(self.blocks[3](torch.cat([y, first], 1), time))


class Cell(nn.Module):
    """A recurrent network whose steps are written out."""

    def __init__(self, kind, inputs=64, width=128):
        super().__init__()
        self.cell, self.width, self.is_lstm = kind(inputs, width), width, kind is nn.LSTMCell
        self.head = nn.Linear(width, 10)

    def forward(self, x):
        state = x.new_zeros(x.shape[1], self.width)
        state = (state, state) if self.is_lstm else state
        for step in x.unbind(0):
            state = self.cell(step, state)
        return self.head(state[0] if self.is_lstm else state)


class Experts(nn.Module):
    """Each row goes to two of the experts, whose results are mixed densely."""

    def __init__(self, width=128, experts=8):
        super().__init__()
        self.gate = nn.Linear(width, experts)
        self.up = nn.Parameter(torch.randn(experts, width, 2 * width) / 16)
        self.down = nn.Parameter(torch.randn(experts, 2 * width, width) / 16)

    def forward(self, x):
        weights, chosen = self.gate(x).softmax(-1).topk(2, -1)
        shares = torch.zeros(x.shape[0], self.gate.out_features).scatter_add(1, chosen, weights)
        y = torch.bmm(F.silu(torch.bmm(x.expand(len(self.up), -1, -1), self.up)), self.down)
        return (y * shares.T[:, :, None]).sum(0)


class Mixer(nn.Module):
    """Perceptrons over patches and over channels in turn."""

    def __init__(self, width=128, patches=64, depth=4):
        super().__init__()
        self.patch = nn.Conv2d(3, width, 8, 8)
        perceptron = lambda size: nn.Sequential(nn.Linear(size, 2 * size), nn.GELU(), nn.Linear(2 * size, size))  # noqa: E731
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(2 * depth))
        self.tokens = nn.ModuleList(perceptron(patches) for _ in range(depth))
        self.channels = nn.ModuleList(perceptron(width) for _ in range(depth))

    def forward(self, x):
        x = self.patch(x).flatten(2).transpose(1, 2)
        for i, (tokens, channels) in enumerate(zip(self.tokens, self.channels)):
            x = x + tokens(self.norms[2 * i](x).transpose(1, 2)).transpose(1, 2)
            x = x + channels(self.norms[2 * i + 1](x))
        return x.mean(1)


class Quantizer(nn.Module):
    """An encoder whose results become the nearest rows of a table."""

    def __init__(self, width=64, rows=256):
        super().__init__()
        self.encoder = nn.Sequential(nn.Conv2d(3, width, 4, 2, 1), nn.ReLU(), nn.Conv2d(width, width, 4, 2, 1))
        self.rows = nn.Parameter(torch.randn(rows, width))
        self.decoder = nn.Sequential(nn.Conv2d(width, width, 3, padding=1), nn.ReLU(), nn.Conv2d(width, 3, 3, padding=1))

    def forward(self, x):
        y = self.encoder(x).permute(0, 2, 3, 1)
        distances = (y.flatten(0, 2)[:, None] - self.rows).abs().sum(-1) if y.numel() < 4096 else (
            self.rows.square().sum(-1) - 2 * y.flatten(0, 2) @ self.rows.T)
        nearest = self.rows[distances.argmin(-1)].view_as(y)
        return self.decoder(nearest.permute(0, 3, 1, 2).contiguous())


class Graph(nn.Module):
    """Two rounds in which each node gets the sum of its neighbours' values."""

    def __init__(self, width=64, nodes=500):
        super().__init__()
        self.first, self.second, self.own = nn.Linear(32, width), nn.Linear(width, width), nn.Linear(32, width)
        self.nodes = nodes

    def gather(self, x, edges):
        sources = torch.gather(x, 0, edges[0][:, None].expand(-1, x.shape[1]))
        return torch.zeros(self.nodes, x.shape[1]).scatter_add(0, edges[1][:, None].expand(-1, x.shape[1]), sources)

    def forward(self, x, edges):
        y = F.relu(self.gather(self.first(x), edges) + self.own(x))
        return torch.log(self.gather(self.second(y), edges).abs().clamp(1e-3, 1e3))


class Clicks(nn.Module):
    """Embeddings of categories and a perceptron of numbers, with products of all pairs."""

    def __init__(self, tables=8, rows=1000, width=32):
        super().__init__()
        self.tables = nn.ModuleList(nn.Embedding(rows, width) for _ in range(tables))
        self.bottom = nn.Sequential(nn.Linear(13, 64), nn.ReLU(), nn.Linear(64, width), nn.ReLU())
        self.register_buffer("pairs", torch.tril_indices(tables + 1, tables + 1, -1))
        self.top = nn.Sequential(nn.Linear(width + self.pairs.shape[1], 128), nn.ReLU(), nn.Linear(128, 1))

    def forward(self, numbers, categories):
        dense = self.bottom(numbers)
        rows = torch.stack([dense] + [table(categories[:, i]) for i, table in enumerate(self.tables)], 1)
        products = torch.bmm(rows, rows.transpose(1, 2))[:, self.pairs[0], self.pairs[1]]
        return torch.sigmoid(self.top(torch.cat([dense, products], 1)))


class Autocast(nn.Module):
    """Another model, with products and convolutions in bfloat16."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, *inputs):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return self.model(*inputs)


def _perceptron(*sizes):
    layers = [layer for a, b in zip(sizes, sizes[1:]) for layer in (nn.Linear(a, b), nn.ReLU())]
    return nn.Sequential(*layers[:-1])


def _encoder(**more):
    layer = nn.TransformerEncoderLayer(256, 8, 1024, activation="gelu", batch_first=True, norm_first=True, **more)
    return nn.TransformerEncoder(layer, 3, enable_nested_tensor=False)


def _vision(name, size=224, **more):
    def make():
        import torchvision

        return getattr(torchvision.models, name)(weights=None, **more), (torch.randn(1, 3, size, size),)
    return make


def _small_vit():
    import torchvision

    model = torchvision.models.VisionTransformer(128, 16, 6, 6, 192, 768)
    nn.init.normal_(model.heads.head.weight)  # Zeros otherwise, and so would be all results.
    return model, (torch.randn(1, 3, 128, 128),)


def _tokens(length=48):
    return (torch.randint(0, 1000, (1, length)),)


def _edges():
    return torch.randn(500, 32), torch.randint(0, 500, (2, 4000))


MODELS = {
    "resnet18": _vision("resnet18"),
    "mobilenet_v3_small": _vision("mobilenet_v3_small"),
    "efficientnet_b0": _vision("efficientnet_b0"),
    "shufflenet_v2": _vision("shufflenet_v2_x1_0"),
    "squeezenet1_1": _vision("squeezenet1_1"),
    "densenet121": _vision("densenet121"),
    "regnet_y_400mf": _vision("regnet_y_400mf"),
    "googlenet": _vision("googlenet", init_weights=False, aux_logits=False),
    "convnext_tiny": _vision("convnext_tiny", 128),
    "swin_t": _vision("swin_t", 128),
    "vit, 6 layers": _small_vit,
    "perceptron": lambda: (_perceptron(512, 1024, 1024, 10), (torch.randn(32, 512),)),
    "encoder": lambda: (_encoder(), (torch.randn(2, 64, 256),)),
    "llama": lambda: (Llama(), _tokens()),
    "llama, 1 token": lambda: (Llama(), _tokens(1)),
    "gpt": lambda: (Gpt(), _tokens()),
    "diffusion unet": lambda: (Diffusion(), (torch.randn(1, 3, 32, 32), torch.tensor([7.0]))),
    "lstm cells": lambda: (Cell(nn.LSTMCell), (torch.randn(16, 4, 64),)),
    "gru cells": lambda: (Cell(nn.GRUCell), (torch.randn(16, 4, 64),)),
    "experts": lambda: (Experts(), (torch.randn(64, 128),)),
    "mixer": lambda: (Mixer(), (torch.randn(1, 3, 64, 64),)),
    "vector quantizer": lambda: (Quantizer(), (torch.randn(1, 3, 64, 64),)),
    "graph network": lambda: (Graph(), _edges()),
    "clicks": lambda: (Clicks(), (torch.randn(64, 13), torch.randint(0, 1000, (64, 8)))),
    "perceptron, autocast": lambda: (Autocast(_perceptron(512, 1024, 1024, 10)), (torch.randn(32, 512),)),
    "encoder, autocast": lambda: (Autocast(_encoder()), (torch.randn(2, 64, 256),)),
    "llama, autocast": lambda: (Autocast(Llama()), _tokens()),
    "encoder, bfloat16": lambda: (_encoder().bfloat16(), (torch.randn(2, 64, 256).bfloat16(),)),
    "perceptron, float16": lambda: (_perceptron(512, 1024, 1024, 10).half(), (torch.randn(32, 512).half(),)),
}


def make(name):
    """A model in `eval` mode and its inputs, the same in each call. Encoders run their layers as written: PyTorch's fast
    path is one operator, which no compiler takes."""
    torch.backends.mha.set_fastpath_enabled(False)
    torch.manual_seed(20261201)
    model, inputs = MODELS[name]()
    return model.eval(), inputs
