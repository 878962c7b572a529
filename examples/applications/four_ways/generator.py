# SPDX-License-Identifier: MIT
"""Continues a text of months by a letter at a time: generator.py PLUGIN.so MODEL.pte TEXT

A transformer with one block, which sees the last 12 letters. It is trained here, in seconds, to know the months by heart.
"""

import math
import sys

import four_ways
import torch
from torch import nn

MONTHS = "january february march april may june july august september october november december "
LETTERS, SEEN, WIDTH, NEW = 27, 12, 48, 16


def tokens(text):
    """A number for each letter: 0 for a blank, 1 for a."""
    return [0 if letter == " " else ord(letter) - ord("a") + 1 for letter in text]


class Generator(nn.Module):
    """For letters [n, SEEN] the logits [n, SEEN, LETTERS] of each one's next letter."""

    def __init__(self):
        super().__init__()
        self.letters, self.places = nn.Embedding(LETTERS, WIDTH), nn.Parameter(0.1 * torch.randn(SEEN, WIDTH))
        self.register_buffer("later", torch.full((SEEN, SEEN), -1e9).triu(1))
        self.query, self.key, self.value = (nn.Linear(WIDTH, WIDTH) for _ in range(3))
        self.network = nn.Sequential(nn.Linear(WIDTH, 2 * WIDTH), nn.GELU(), nn.Linear(2 * WIDTH, WIDTH))
        self.before, self.between, self.after = (nn.LayerNorm(WIDTH) for _ in range(3))
        self.head = nn.Linear(WIDTH, LETTERS)

    # [model]
    def forward(self, seen):
        x = self.letters(seen) + self.places
        y = self.before(x)
        scores = self.query(y) @ self.key(y).transpose(1, 2) / math.sqrt(WIDTH)
        x = x + (scores + self.later).softmax(2) @ self.value(y)
        x = x + self.network(self.between(x))
        return self.head(self.after(x))
    # [model]


def trained():
    torch.manual_seed(1)
    model = Generator()
    text = torch.tensor(tokens(MONTHS + MONTHS))

    def loss_of(model):
        begin = torch.randint(len(MONTHS), (64, 1))
        part = text[begin + torch.arange(SEEN + 1)]
        return nn.functional.cross_entropy(model(part[:, :-1]).flatten(0, 1), part[:, 1:].flatten())

    print(f"loss {four_ways.train(model, loss_of, steps=400, rate=5e-3):.4f}")
    return model


def main():
    plugin, program, given = sys.argv[1:]

    def seen(text):
        return torch.tensor([tokens(text[-SEEN:])])

    def answer(run):
        text, lines = given, []
        for _ in range(NEW):
            [logits] = run(seen(text))
            best = logits.reshape(SEEN, LETTERS)[-1].max(0)
            text += " abcdefghijklmnopqrstuvwxyz"[best.indices]
            lines.append((text, best.values))
        return lines

    four_ways.show(trained(), (seen(given),), answer, plugin, program)


if __name__ == "__main__":
    main()
