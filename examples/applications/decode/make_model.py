# SPDX-License-Identifier: MIT
"""Makes programs of a small Llama, with its keys and values in the program.

    python make_model.py ../../../docs/CONTRIBUTING.md model.pte --tokens 8
    python make_model.py ../../../docs/CONTRIBUTING.md draft.pte --tokens 8 --layers 1 --width 32 --seed 2

It is trained on the characters of a text. A run takes the numbers of characters and their places, `--tokens` at most,
of each of `--rows` texts, and gives the logits of the characters that follow. The keys and values are mutable buffers of
the exported program, so that ExecuTorch's runtime and Tenon's host keep them from run to run. `--backend` lowers for
ExecuTorch's XNNPACK or a plugin of Tenon. Needs torch and executorch; the numbers are made here, from the text and a
seed.
"""

import argparse
import pathlib

import torch
import torch.nn.functional as F
from executorch.exir import ExecutorchBackendConfig, to_edge_transform_and_lower
from torch import Tensor, nn

# The characters of the model: ASCII from the space on, and the line break as number 0.
CHARACTERS = 96
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

        scores = heads(turned(self.query(y))) @ heads(keys).transpose(2, 3) / (width // HEADS) ** 0.5
        seen = torch.softmax(scores + mask.unsqueeze(1), -1) @ heads(values)
        x = x + self.out(seen.transpose(1, 2).reshape(rows, count, width))
        y = self.norms[1](x)
        return x + self.down(F.silu(self.gate(y)) * self.up(y))


class Llama(nn.Module):
    """Logits [rows, n, CHARACTERS] of what follows `character` [rows, n] at `place` [rows, n]."""

    def __init__(self, layers: int, width: int, places: int, rows: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(CHARACTERS, width)
        self.layers = nn.ModuleList(Layer(width, places, rows) for _ in range(layers))
        self.norm, self.head = nn.RMSNorm(width), nn.Linear(width, CHARACTERS, bias=False)
        size = width // HEADS
        angles = torch.arange(places)[:, None] * 10000 ** (-torch.arange(0, size, 2) / size)
        self.register_buffer("turns", torch.cat([angles.cos(), angles.sin()], 1), persistent=False)
        self.register_buffer("masks", torch.full((places, places), float("-inf")).triu(1), persistent=False)

    def forward(self, character: Tensor, place: Tensor, keeps: bool = True) -> Tensor:
        x, turn, mask = self.embedding(character), self.turns[place], self.masks[place]
        if not keeps:
            mask = mask[:, :, :character.shape[1]]
        for layer in self.layers:
            x = layer(x, place, turn, mask, keeps)
        return self.head(self.norm(x))


def encode(text: str) -> Tensor:
    """Numbers of the characters; others than the model's are spaces."""
    return torch.tensor([0 if c == "\n" else ord(c) - 31 if " " <= c <= "~" else 1 for c in text])


def train(model: Llama, characters: Tensor, steps: int, places: int) -> None:
    """To predict each character of pieces of the text."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 3e-3, total_steps=steps + 1)
    place = torch.arange(places).unsqueeze(0)
    for step in range(steps):
        start = int(torch.randint(0, len(characters) - places - 1, ()))
        piece = characters[start : start + places + 1]
        loss = F.cross_entropy(model(piece[None, :-1], place, keeps=False)[0], piece[1:])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        if step % 100 == 0:
            print(step, float(loss), flush=True)


def partitioners(backend: str, plugins: list[str]) -> list:
    """What lowers for `backend`; nothing for the kernels of ExecuTorch."""
    if backend == "none":
        return []
    if backend == "XnnpackBackend":
        from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner

        return [XnnpackPartitioner()]
    import tenon.executorch

    return [tenon.executorch.partitioner(backend, plugins=plugins)]


def main() -> None:
    """Trains and exports."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("text", help="what it is trained on")
    parser.add_argument("output")
    for name, value in {"steps": 3000, "layers": 4, "width": 48, "places": 384, "rows": 1, "tokens": 1, "seed": 1}.items():
        parser.add_argument("--" + name, type=int, default=value)
    parser.add_argument("--backend", default="none")
    parser.add_argument("--plugin", action="append", default=[], help="a file with the backend")
    given = parser.parse_args()
    torch.manual_seed(given.seed)
    trained = Llama(given.layers, given.width, given.places, 1)
    train(trained, encode(pathlib.Path(given.text).read_text()), given.steps, given.places)
    model = Llama(given.layers, given.width, given.places, given.rows).eval()
    model.load_state_dict(trained.state_dict())
    # Two tensors: of one, torch.export would make a single input.
    examples = tuple(torch.zeros(given.rows, given.tokens, dtype=torch.int64) for _ in range(2))
    count = {1: torch.export.Dim("n", min=1, max=given.tokens)} if given.tokens > 1 else None
    with torch.no_grad():
        exported = torch.export.export(model, examples, dynamic_shapes=count and (count, count), strict=False)
    program = to_edge_transform_and_lower(exported, partitioner=partitioners(given.backend, given.plugin))
    pathlib.Path(given.output).write_bytes(program.to_executorch(ExecutorchBackendConfig()).buffer)


main()
