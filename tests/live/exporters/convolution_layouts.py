# SPDX-License-Identifier: MIT
"""Writes the layouts that PyTorch's compiler expects of convolutions on an MPS device, on Linux.

One line for each of a list of inputs and weights: their sizes and strides, whether the convolution
is transposed, its groups, and the strides of the output, which is what compiled code checks. The
rule is PyTorch's own, asked with tensors without data. Needs torch 2.15 and a C++ compiler.
"""

import argparse
import itertools
import sys
from pathlib import Path


import torch
from torch._subclasses.fake_tensor import FakeTensorMode

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # tests/live: imports name its folders.
from exporters.export_metal import chosen_convolutions, pretend_device

Sizes = tuple[int, ...]


def packed(sizes: Sizes, channels_last: bool) -> Sizes:
    """Strides of a dense tensor."""
    order = [0, *range(2, len(sizes)), 1] if channels_last else list(range(len(sizes)))
    strides, step = [0] * len(sizes), 1
    for d in reversed(order):
        strides[d] = step
        step *= sizes[d]
    return tuple(strides)


def cases() -> list[tuple[Sizes, Sizes, Sizes, Sizes, bool, int]]:
    """Input and weight, each with sizes and strides; transposed; groups."""
    out = []
    for spatial, transposed in itertools.product((1, 2, 3), (False, True)):
        inputs, weights = (2, 4) + (5,) * spatial, (4, 4) + (3,) * spatial
        for in_last, weight_last in itertools.product((False, True), repeat=2):
            out.append((inputs, packed(inputs, in_last), weights, packed(weights, weight_last),
                        transposed, 1))
    image, kernel = (1, 4, 6, 6), (8, 4, 3, 3)
    contiguous = packed(kernel, False)
    # A slice of the channels, of the width, and rows that are wider: the order alone is no layout.
    for strides in ((6 * 6 * 8, 1, 6 * 8, 8), (6 * 9 * 4, 1, 9 * 4, 4), (6 * 40, 1, 40, 4)):
        out.append((image, strides, kernel, contiguous, False, 1))
    # Dimensions of one element: one channel, one pixel, kernels of one tap or one channel.
    for sizes, groups in (((2, 1, 5, 5), 1), ((1, 4, 1, 1), 1), ((1, 1, 1, 1), 1), ((2, 4, 5, 5), 4)):
        channels = sizes[1]
        for taps in (1, 3):
            weight = (8, channels // groups, taps, taps)
            if taps > sizes[2]:
                continue
            for in_last, weight_last in itertools.product((False, True), repeat=2):
                out.append((sizes, packed(sizes, in_last), weight, packed(weight, weight_last),
                            False, groups))
    out.append(((2, 4, 5), packed((2, 4, 5), True), (4, 4, 1), packed((4, 4, 1), False), False, 1))
    return out


def text(numbers: Sizes) -> str:
    return ",".join(map(str, numbers))


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    pretend_device()
    lines = ["# Written by tests/live/exporters/convolution_layouts.py with torch " + torch.__version__,
             "# input: sizes strides; weight: sizes strides; transposed; groups; strides of the output"]
    with chosen_convolutions(), FakeTensorMode():
        for sizes, strides, weight_sizes, weight_strides, transposed, groups in cases():
            spatial = len(sizes) - 2
            result = torch.ops.aten.convolution(
                torch.empty_strided(sizes, strides, device="mps"),
                torch.empty_strided(weight_sizes, weight_strides, device="mps"), None,
                [1] * spatial, [0] * spatial, [1] * spatial, transposed, [0] * spatial, groups)
            lines.append(" ".join([text(sizes), text(strides), text(weight_sizes),
                                   text(weight_strides), str(int(transposed)), str(groups),
                                   text(result.stride())]))
    options.out.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
