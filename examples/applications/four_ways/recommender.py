# SPDX-License-Identifier: MIT
"""Recommends items to who has seen some: recommender.py PLUGIN.so MODEL.pte ITEM ITEM ITEM ITEM

Two towers: one makes a vector of the items that were seen, the other a vector of each item; the score of an item is the
product of both. They are trained here, in seconds, on users that are made here, each of whom likes one genre: items 0 to
19, 20 to 39, and so on.
"""

import sys

import four_ways
import torch
from torch import nn

ITEMS, GENRE, SEEN, WIDTH, TOP = 120, 20, 4, 16, 5


def tower():
    return nn.Sequential(nn.Linear(WIDTH, 2 * WIDTH), nn.ReLU(), nn.Linear(2 * WIDTH, WIDTH))


class TwoTowers(nn.Module):
    """Scores [n, ITEMS] for n users, who have seen the items `seen` [n, SEEN]."""

    def __init__(self):
        super().__init__()
        self.seen, self.items = nn.Embedding(ITEMS, WIDTH), nn.Embedding(ITEMS, WIDTH)
        self.user_tower, self.item_tower = tower(), tower()

    # [model]
    def forward(self, seen):
        users = self.user_tower(self.seen(seen).mean(1))
        items = self.item_tower(self.items.weight)  # Of no input: a compiler can compute it ahead of time.
        return users @ items.t()
    # [model]


def users(count):
    """What users have seen [count, SEEN], and what they take next [count]: now and then an item of any genre."""
    genres = torch.randint(ITEMS // GENRE, (count, 1))
    items = genres * GENRE + torch.randint(GENRE, (count, SEEN + 1))
    items = torch.where(torch.rand(items.shape) < 0.1, torch.randint(ITEMS, items.shape), items)
    return items[:, :SEEN], items[:, SEEN]


def loss_of(model):
    seen, taken = users(128)
    return nn.functional.cross_entropy(model(seen), taken)


def trained():
    torch.manual_seed(1)
    model = TwoTowers()
    loss = four_ways.train(model, loss_of, steps=200, rate=2e-2)
    print(f"loss {loss:.4f}; of any item {torch.tensor(float(ITEMS)).log().item():.4f}")
    return model


def main():
    plugin, program, *items = sys.argv[1:]
    seen = torch.tensor([[int(item) for item in items]])

    def answer(run):
        [scores] = run(seen)
        scores = scores.flatten().clone()
        scores[seen] = -torch.inf
        best = scores.topk(TOP)
        return [(f"item {item}", score) for score, item in zip(best.values, best.indices.tolist())]

    four_ways.show(trained(), (seen,), answer, plugin, program)


if __name__ == "__main__":
    main()
