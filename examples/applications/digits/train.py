# SPDX-License-Identifier: MIT
"""Trains a classifier of handwritten digits and exports it for CpuAotiBackend.

The data are the 1,797 images of 8 x 8 pixels that scikit-learn brings along. Writes model.pte with
the compiled library stripped, input.npy (an image that was not trained on), expected.npy (what
eager PyTorch says of it) and image.txt (the image for a person) next to this file. Needs torch,
executorch and scikit-learn from PyPI; takes about a minute.
"""

import argparse
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[2] / "tests" / "live"))  # Its folders are named by imports.

import numpy as np
import torch
from sklearn.datasets import load_digits
from torch import nn

from exporters import export_models
from exporters.library_options import add_level, for_processors
from models.cases import Case

SEED = 0
NUM_HELD_OUT = 297


def make_model() -> nn.Module:
    """Two convolutions and two linear layers; probabilities of the ten digits."""
    return nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(),
        nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(32 * 4 * 4, 64), nn.ReLU(), nn.Linear(64, 10), nn.Softmax(-1),
    )


def train(model: nn.Module, images: torch.Tensor, labels: torch.Tensor, epochs: int) -> None:
    """Adam on the negative log likelihood, in batches of 50."""
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    for epoch in range(epochs):
        for batch in torch.randperm(len(images)).split(50):
            optimizer.zero_grad()
            loss = nn.functional.nll_loss(torch.log(model(images[batch]) + 1e-9), labels[batch])
            loss.backward()
            optimizer.step()
        print(f"epoch {epoch + 1}: loss of the last batch {loss.item():.4f}")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--epochs", type=int, default=20, help="passes over the data (20)")
    add_level(parser, "x86-64-v3")
    options = parser.parse_args()
    epochs = options.epochs
    export_models.COMPILE_OPTIONS.update(for_processors(options.level))

    torch.manual_seed(SEED)
    digits = load_digits()
    images = torch.tensor(digits.images / 16, dtype=torch.float32).unsqueeze(1)
    labels = torch.tensor(digits.target)
    order = torch.randperm(len(images), generator=torch.Generator().manual_seed(SEED))
    held_out, trained_on = order[:NUM_HELD_OUT], order[NUM_HELD_OUT:]
    model = make_model()
    train(model, images[trained_on], labels[trained_on], epochs)
    model.eval()

    with torch.no_grad():
        accuracy = (model(images[held_out]).argmax(-1) == labels[held_out]).float().mean().item()
        print(f"accuracy on {NUM_HELD_OUT} images that were not trained on: {accuracy:.1%}")
        chosen = next(i for i in held_out.tolist() if labels[i] == 7)
        image = images[chosen : chosen + 1]
        expected = model(image)
        export_models.CpuAotiBackend.strip = True
        export_models.CpuAotiBackend.kernels = export_models.KernelTable(
            export_models.supported_kernels(), False)
        export_models.write_program(Case(lambda: model, lambda: [(image,)]), HERE)
    np.save(HERE / "input.npy", image.numpy())
    np.save(HERE / "expected.npy", expected.numpy())
    rows = ["".join(" .:-=+*#%@"[int(pixel * 9)] * 2 for pixel in row) for row in image[0, 0]]
    (HERE / "image.txt").write_text("\n".join(rows) + "\n", encoding="utf-8")
    print("\n".join(rows))
    print(f"model.pte: {(HERE / 'model.pte').stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
