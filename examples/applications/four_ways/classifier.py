# SPDX-License-Identifier: MIT
"""Says which shape a picture has: classifier.py PLUGIN.so MODEL.pte PICTURE.ppm

torchvision's MobileNetV3-Small with a tenth of its channels, trained here in a minute on pictures that are drawn here. The
picture, of 32 by 32 points, is drawn too where there is no such file.
"""

import pathlib
import sys

import four_ways
import torch
import torchvision
from torch import nn

SHAPES, SIZE, TOP = ("circle", "cross", "ring", "square", "triangle"), 32, 3
HEADER = b"P6\n32 32\n255\n"


class Classifier(nn.Module):
    """Probabilities [n, shapes] of pictures [n, 3, 32, 32] with numbers from 0 to 1."""

    def __init__(self):
        super().__init__()
        self.network = torchvision.models.mobilenet_v3_small(width_mult=0.1, num_classes=len(SHAPES), dropout=0.0)
        for layer in self.modules():
            if isinstance(layer, nn.BatchNorm2d):
                layer.momentum = 0.1  # torchvision's is for longer training.

    # [model]
    def forward(self, picture):
        ink = 1 - picture
        return self.network(ink).softmax(1)
    # [model]


def draw(count):
    """Pictures [count, 3, SIZE, SIZE] of one shape each, dark on light, and which shapes they are [count]."""
    kinds = torch.randint(len(SHAPES), (count,))
    radius, centre = 6 + 6 * torch.rand(count, 1, 1), 13 + 6 * torch.rand(2, count, 1, 1)
    x = (torch.arange(SIZE).view(1, 1, SIZE) - centre[0]) / radius
    y = (torch.arange(SIZE).view(1, SIZE, 1) - centre[1]) / radius
    square, circle = torch.maximum(x.abs(), y.abs()) < 0.9, x**2 + y**2 < 1
    shapes = torch.stack([circle, square & (torch.minimum(x.abs(), y.abs()) < 0.3), circle & (x**2 + y**2 > 0.4), square,
                          (y < 0.8) & (y > 2 * x.abs() - 1)], 1)
    inside = shapes[torch.arange(count), kinds][:, None]
    ink, paper = 0.4 * torch.rand(2, count, 3, 1, 1) + torch.tensor([0, 0.6]).view(2, 1, 1, 1, 1)
    noise = 0.05 * torch.randn(count, 3, SIZE, SIZE)
    return (torch.where(inside, ink, paper) + noise).clamp(0, 1), kinds


def loss_of(model):
    pictures, kinds = draw(64)
    return nn.functional.nll_loss(model(pictures).clamp(min=1e-6).log(), kinds)


def trained():
    torch.manual_seed(1)
    model = Classifier()
    four_ways.train(model, loss_of, steps=300, rate=5e-3)
    with torch.no_grad():
        pictures, kinds = draw(500)
        print(f"{(model(pictures).argmax(1) == kinds).float().mean():.1%} of 500 pictures are right")
    return model


def read(path):
    """The picture of a file, [1, 3, SIZE, SIZE]."""
    if not path.exists():
        [picture], _ = draw(1)
        path.write_bytes(HEADER + bytes((255 * picture).round().byte().permute(1, 2, 0).flatten().tolist()))
    points = torch.frombuffer(bytearray(path.read_bytes()[len(HEADER):]), dtype=torch.uint8)
    return points.view(1, SIZE, SIZE, 3).permute(0, 3, 1, 2).contiguous() / 255


def main():
    plugin, program, path = sys.argv[1:]
    model = trained()
    picture = read(pathlib.Path(path))

    def answer(run):
        [found] = run(picture)
        best = found.flatten().topk(TOP)
        return [(SHAPES[i], number) for number, i in zip(best.values, best.indices.tolist())]

    four_ways.show(model, (picture,), answer, plugin, program)


if __name__ == "__main__":
    main()
