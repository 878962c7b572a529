#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Exports the model of the golden case, test/golden/relu_of_sums/model.pt2.

Needs PyTorch (requirements.txt).
"""

import pathlib

import torch


class Model(torch.nn.Module):
    def forward(self, a, b, c):
        positive = torch.relu(a * b + c)
        return positive, positive - c


def main():
    rows = torch.export.Dim("rows", min=0, max=4)
    example = tuple(torch.zeros(4, 3) for _ in range(3))
    program = torch.export.export(Model(), example, dynamic_shapes=({0: rows},) * 3)
    # Remove data that differs between machines, and example inputs, a pickle that only Python reads.
    for node in program.graph.nodes:
        for key in ("stack_trace", "from_node", "custom"):
            node.meta.pop(key, None)
    program._example_inputs = None
    folder = pathlib.Path(__file__).parent / "golden/relu_of_sums"
    torch.export.save(program, folder / "model.pt2")


if __name__ == "__main__":
    main()
