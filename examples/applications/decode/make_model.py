# SPDX-License-Identifier: MIT
"""Makes model.pte: a transformer of characters that was trained on a text, with its keys and values in the program.

    python make_model.py ../../../docs/CONTRIBUTING.md model.pte

One run takes one character and its place and gives the logits of the next one. The buffers of the keys and values are
mutable buffers of the exported program, so that ExecuTorch's runtime and Tenon's host keep them from run to run. Needs
torch and executorch; the numbers are made here, from the text and a seed.
"""

import pathlib
import sys

import torch
import torch.nn.functional as F
from executorch.exir import ExecutorchBackendConfig, to_edge
from torch import Tensor, nn

# The characters of the model: ASCII from the space on, and the line break as number 0.
CHARACTERS = 96
LAYERS, HEADS, WIDTH, PLACES = 2, 4, 32, 384


class Layer(nn.Module):
    """Attention over all places up to the own one, and a layer on each place."""

    def __init__(self) -> None:
        super().__init__()
        self.before_attention = nn.LayerNorm(WIDTH)
        self.before_hidden = nn.LayerNorm(WIDTH)
        self.query = nn.Linear(WIDTH, WIDTH, bias=False)
        self.key = nn.Linear(WIDTH, WIDTH, bias=False)
        self.value = nn.Linear(WIDTH, WIDTH, bias=False)
        self.out = nn.Linear(WIDTH, WIDTH, bias=False)
        self.hidden = nn.Linear(WIDTH, 4 * WIDTH)
        self.back = nn.Linear(4 * WIDTH, WIDTH)
        self.register_buffer("keys", torch.zeros(PLACES, WIDTH), persistent=False)
        self.register_buffer("values", torch.zeros(PLACES, WIDTH), persistent=False)

    def attend(self, queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Tensor:
        """`queries` [n, WIDTH], `keys` and `values` [m, WIDTH], `mask` [n, m]."""
        heads = [each.reshape(-1, HEADS, WIDTH // HEADS).transpose(0, 1) for each in (queries, keys, values)]
        scores = heads[0] @ heads[1].transpose(1, 2) / (WIDTH // HEADS) ** 0.5
        weights = torch.softmax(torch.where(mask, scores, torch.full_like(scores, -1e9)), dim=-1)
        return self.out((weights @ heads[2]).transpose(0, 1).reshape(-1, WIDTH))

    def train_step(self, x: Tensor, mask: Tensor) -> Tensor:
        """All places at once."""
        y = self.before_attention(x)
        x = x + self.attend(self.query(y), self.key(y), self.value(y), mask)
        return x + self.back(F.gelu(self.hidden(self.before_hidden(x))))

    def forward(self, x: Tensor, place: Tensor) -> Tensor:
        """One place, `x` [1, WIDTH]."""
        y = self.before_attention(x)
        self.keys.index_copy_(0, place, self.key(y))
        self.values.index_copy_(0, place, self.value(y))
        mask = torch.arange(PLACES).unsqueeze(0) <= place.unsqueeze(1)
        x = x + self.attend(self.query(y), self.keys, self.values, mask)
        return x + self.back(F.gelu(self.hidden(self.before_hidden(x))))


class Model(nn.Module):
    """Logits [1, CHARACTERS] of the character that follows `character` [1] at `place` [1]."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(CHARACTERS, WIDTH)
        self.places = nn.Embedding(PLACES, WIDTH)
        self.layers = nn.ModuleList(Layer() for _ in range(LAYERS))
        self.last = nn.LayerNorm(WIDTH)
        self.logits = nn.Linear(WIDTH, CHARACTERS)

    def train_step(self, characters: Tensor) -> Tensor:
        """Logits of all places of one text."""
        n = len(characters)
        mask = torch.ones(n, n, dtype=torch.bool).tril()
        x = self.embedding(characters) + self.places.weight[:n]
        for layer in self.layers:
            x = layer.train_step(x, mask)
        return self.logits(self.last(x))

    def forward(self, character: Tensor, place: Tensor) -> Tensor:
        x = self.embedding(character) + self.places(place)
        for layer in self.layers:
            x = layer(x, place)
        return self.logits(self.last(x))


def encode(text: str) -> Tensor:
    """Numbers of the characters; others than the model's are spaces."""
    return torch.tensor([0 if c == "\n" else ord(c) - 31 if " " <= c <= "~" else 1 for c in text])


def main() -> None:
    """Trains and exports."""
    text, output = sys.argv[1:3]
    steps = int(sys.argv[3]) if len(sys.argv) > 3 else 3000
    characters = encode(pathlib.Path(text).read_text())
    torch.manual_seed(1)
    model = Model()
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    for step in range(steps):
        start = int(torch.randint(0, len(characters) - PLACES - 1, ()))
        piece = characters[start : start + PLACES + 1]
        loss = F.cross_entropy(model.train_step(piece[:-1]), piece[1:])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 100 == 0:
            print(step, float(loss), flush=True)
    model.eval()
    example = (torch.zeros(1, dtype=torch.int64), torch.zeros(1, dtype=torch.int64))
    with torch.no_grad():
        exported = torch.export.export(model, example, strict=False)
    program = to_edge(exported).to_executorch(ExecutorchBackendConfig())
    pathlib.Path(output).write_bytes(program.buffer)


main()
