# SPDX-License-Identifier: MIT
"""`tenon.compile`: tenon_compile.py BUILD [TEST]...

Modules are compiled in one line, run, and saved; tenon-compile makes the same program of the same archive.
"""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

BUILD = pathlib.Path(sys.argv[1]).resolve()
sys.path[:0] = [str(BUILD / "examples/python"), str(pathlib.Path(__file__).resolve().parents[1])]
for name in [name for name in os.environ if name.startswith("TENON_")]:
    del os.environ[name]

import torch
from torch import nn
from torch.export import Dim

import tenon
from models import layers, vision

PLUGIN = BUILD / "examples/backends/graph_backend/graph_backend.so"
KERNELS = BUILD / "examples/backends/executorch/executorch_kernels.so"
COMPILE = BUILD / "examples/programs/tenon-compile/tenon-compile"
RTOL, ATOL = 1e-4, 1e-5


class Two(nn.Module):
    """Results in a dict, one of them a constant."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 4)

    def forward(self, x, *, scale):
        return {"y": self.layer(x) * scale, "none": None, "x": x + 1}


class Compile(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(20261126)
        folder = tempfile.TemporaryDirectory(prefix="tenon-test-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def check(self, model, sets, dynamic=None, **options):
        """The compiled module; its numbers are eager PyTorch's, and its bytes those of tenon-compile."""
        compiled = tenon.compile(model, sets[0], backend="GraphBackend", options=options, dynamic=dynamic,
                                 plugins=[PLUGIN, KERNELS])
        with torch.no_grad():
            for inputs in sets:
                torch.testing.assert_close(compiled(*inputs), model(*inputs), rtol=RTOL, atol=ATOL)
        archive, ours, theirs = (self.folder / name for name in ("m.pt2", "ours.pte", "theirs.pte"))
        torch.export.save(compiled.exported, archive)
        specs = [word for key, value in options.items() for word in ("--spec", f"{key}={value}")]
        shown = subprocess.run([COMPILE, archive, "--backend", "GraphBackend", "--plugin", PLUGIN, *specs, "-o", theirs],
                               check=True, capture_output=True, text=True).stdout
        compiled.save(ours)
        self.assertEqual(ours.read_bytes(), theirs.read_bytes())
        self.assertIn(str(compiled).split("\n")[0], shown)
        return compiled

    def test_an_mlp(self):
        compiled = self.check(layers.Mlp(64, 128, 10).eval(), [(torch.randn(4, 64),)] * 2)
        self.assertIn("nodes in 1 delegate", str(compiled))
        self.assertIn("aten.linear.default", compiled.operators)
        picture = xml.etree.ElementTree.fromstring(compiled._repr_svg_())
        self.assertIn("GraphBackend: 4 nodes", "".join(picture.itertext()))

    def test_mobilenet(self):
        self.check(vision.MobileNetV3Small().eval(), [(torch.randn(1, 3, 64, 64),)])

    def test_a_transformer_block_with_sizes_that_change(self):
        self.check(layers.TransformerBlock(32, 4).eval(), [(torch.randn(1, length, 32),) for length in (16, 3, 32)],
                   dynamic=({1: Dim("length", min=2, max=32)},))

    def test_weights_in_files(self):
        compiled = self.check(layers.Mlp(16, 8).eval(), [(torch.randn(2, 16),)], weights="external")
        self.assertEqual(list(compiled.data), ["graph_backend"])
        self.assertTrue((self.folder / "graph_backend.ptd").is_file())

    def test_results_have_the_structure_of_the_module(self):
        model = Two().eval()
        x, scale = torch.randn(2, 4), torch.tensor(2.0)
        with torch.no_grad():
            exported = torch.export.export(model, (x,), {"scale": scale}).run_decompositions()
        found = tenon.compile(exported, (), backend="GraphBackend", plugins=[PLUGIN])(x, scale=scale)
        expected = model(x, scale=scale)
        self.assertIsNone(found["none"])
        torch.testing.assert_close(found["y"], expected["y"])
        torch.testing.assert_close(found["x"], expected["x"])

    def test_failures(self):
        with self.assertRaises(tenon.Error) as caught:
            tenon.compile(nn.ReLU(), (torch.ones(2),), backend="Missing")
        self.assertEqual(caught.exception.name, "NotFound")
        with self.assertRaises(tenon.Error) as caught:
            tenon.compile(nn.ReLU(), (torch.ones(2),), backend="GraphBackend", options={"fold": 7}, plugins=[PLUGIN])
        self.assertEqual(caught.exception.name, "InvalidArgument")


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
