# SPDX-License-Identifier: MIT
"""`tenon.compile`: tenon_compile.py BUILD [TEST]...

Modules are compiled in one line, run, and saved; tenon-compile makes the same program of the same archive.
"""

import math
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
from models import layers, pt2_models, vision

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


class Difference(nn.Module):
    def forward(self, a, b):
        return a - 2 * b


class Keywords(nn.Module):
    def forward(self, a, *, scale, shift):
        return a * scale - shift


class Inside(nn.Module):
    def forward(self, x):
        return x["p"] - 2 * x["q"]


class Constant(nn.Module):
    def forward(self, x, k=2):
        return x * (7 if k is None else k)


class Updates(nn.Module):
    """A buffer that is updated in place."""

    def __init__(self):
        super().__init__()
        self.register_buffer("sum", torch.zeros(3))

    def forward(self, x):
        self.sum.add_(x)
        return self.sum + 1


class CumulativeSum(nn.Module):
    def forward(self, x):
        return x.cumsum(0)


class Compile(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(20261126)
        folder = tempfile.TemporaryDirectory(prefix="tenon-test-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def check(self, model, sets, dynamic=None, **options):
        """The compiled module; its numbers equal eager PyTorch's, and its bytes tenon-compile's."""
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

    def test_operators_that_change_their_inputs_become_functions(self):
        model, inputs = pt2_models.InPlace().eval(), (torch.randn(1, 3, 16, 16),)
        with torch.no_grad():
            for each in (model, torch.export.export(model, inputs)):
                compiled = tenon.compile(each, inputs, backend="GraphBackend", plugins=[PLUGIN])
                self.assertEqual(sum(left for _, left in compiled.operators.values()), 0)
                torch.testing.assert_close(compiled(*inputs), model(*inputs), rtol=RTOL, atol=ATOL)
        self.assertIn("aten.conv2d.default", compiled.operators)  # Nothing else of the program was decomposed.

    def test_a_node_without_a_kernel_is_refused_when_compiling(self):
        cases = {"aten::copy_": (Updates().eval(), torch.ones(3)), "aten::cumsum": (CumulativeSum(), torch.ones(3)),
                 "aten::addmm": (nn.Linear(3, 3).bfloat16(), torch.ones(1, 3).bfloat16()),
                 "aten::native_dropout": (nn.Dropout().train(), torch.ones(3))}
        for operator, (model, x) in cases.items():
            with self.assertRaises(tenon.Error) as caught:
                tenon.compile(model, (x,), backend="GraphBackend", plugins=[PLUGIN])
            self.assertEqual(caught.exception.name, "NotSupported")
            self.assertIn(f"no kernel for {operator}", caught.exception.text)
            compiled = tenon.compile(model, (x,), backend="GraphBackend", plugins=[PLUGIN], allow_missing_kernels=True)
            with self.assertRaises(tenon.Error) as caught:  # It runs where there is a kernel.
                compiled(x)
            self.assertEqual(caught.exception.name, "OperatorMissing")

    def test_failures(self):
        with self.assertRaises(tenon.Error) as caught:
            tenon.compile(nn.ReLU(), (torch.ones(2),), backend="Missing")
        self.assertEqual(caught.exception.name, "NotFound")
        with self.assertRaises(tenon.Error) as caught:
            tenon.compile(nn.ReLU(), (torch.ones(2),), backend="GraphBackend", options={"fold": 7}, plugins=[PLUGIN])
        self.assertEqual(caught.exception.name, "InvalidArgument")


class Arguments(unittest.TestCase):
    """A compiled module binds its arguments as the module does."""

    @classmethod
    def setUpClass(cls):
        cls.a, cls.b, cls.c = torch.tensor([1.0, 2.0]), torch.tensor([4.0, 8.0]), torch.tensor([16.0, 32.0])

    def compiled(self, model, given, keywords=None):
        exported = torch.export.export(model, given, keywords).run_decompositions()
        return tenon.compile(exported, (), backend="GraphBackend", plugins=[PLUGIN])

    def check(self, model, given, keywords, *calls):
        compiled = self.compiled(model, given, keywords)
        for given, keywords in calls:
            torch.testing.assert_close(compiled(*given, **keywords), model(*given, **keywords))
        return compiled

    def test_positional_arguments_by_name(self):
        a, b = self.a, self.b
        self.check(Difference(), (a, b), None, ((a, b), {}), ((b, a), {}), ((), {"a": a, "b": b}),
                   ((), {"b": b, "a": a}), ((a,), {"b": b}))

    def test_keywords_in_any_order(self):
        a, b, c = self.a, self.b, self.c
        self.check(Keywords(), (a,), {"scale": b, "shift": c}, ((a,), {"scale": b, "shift": c}),
                   ((a,), {"shift": c, "scale": b}), ((), {"shift": c, "a": a, "scale": b}))

    def test_dictionaries_in_any_order(self):
        a, b = self.a, self.b
        self.check(Inside(), ({"p": a, "q": b},), None, (({"p": a, "q": b},), {}), (({"q": b, "p": a},), {}))

    def test_names_and_counts_that_are_wrong(self):
        a, b = self.a, self.b
        compiled = self.compiled(Difference(), (a, b))
        for given, keywords, text in (((a,), {"x": b}, "expected the arguments a, b, found 'x'"),
                                      ((a, b), {"b": b}, "found 'b', which has a value already"),
                                      ((a,), {}, "missing arguments: b"), ((), {"b": b}, "found 'b'"),
                                      ((a, b, a), {}, "expected 2 positional arguments, found 3"),
                                      ((a, 2.0), {}, "argument b: expected a tensor, found float")):
            with self.assertRaisesRegex(TypeError, text):
                compiled(*given, **keywords)
        compiled = self.compiled(Keywords(), (a,), {"scale": b, "shift": b})
        for given, keywords, text in (((a, b, b), {}, "expected 1 positional arguments, found 3"),
                                      ((a,), {"scale": b}, "missing arguments: shift"),
                                      ((a,), {"scale": b, "shfit": b}, "found 'shfit'")):
            with self.assertRaisesRegex(TypeError, text):
                compiled(*given, **keywords)

    def test_structures_that_are_wrong(self):
        compiled = self.compiled(Inside(), ({"p": self.a, "q": self.b},))
        for tree in ({"p": self.a}, [self.a, self.b], {"p": self.a, "r": self.b}):
            with self.assertRaises(ValueError):
                compiled(tree)
        with self.assertRaisesRegex(TypeError, r"argument x\['q'\]: expected a tensor, found NoneType"):
            compiled({"p": self.a, "q": None})

    def test_constants(self):
        a, model = self.a, Constant()
        for traced, others in ((3, (5, 3.0, True, None, a)), (2.5, (2.0, 2, "2.5")), (0.0, (-0.0,)),
                               (True, (False, 1)), (math.nan, (0.0,)), (None, (3, a))):
            compiled = self.compiled(model, (a,), {"k": traced})
            torch.testing.assert_close(compiled(a, k=traced), model(a, k=traced), equal_nan=True)
            for other in others:
                with self.assertRaisesRegex(ValueError, f"argument k: expected {traced!r}, which the module was traced"):
                    compiled(a, k=other)
            with self.assertRaisesRegex(TypeError, "missing arguments: k"):
                compiled(a)
        self.check(model, (a,), None, ((a,), {}))  # Traced with the default.

    def test_lazy_negation_and_strides(self):
        a, b, model = torch.randn(3), torch.randn(3), Difference()
        self.check(model, (a, b), None, ((torch._neg_view(a), b), {}), ((a, torch._neg_view(b)), {}),
                   ((torch.randn(6)[::2], b), {}), ((nn.Parameter(a), b), {}))

    def test_a_method_refuses_elements_that_are_not_in_memory(self):
        program = tenon.load(pathlib.Path(__file__).resolve().parents[3] / "examples/python/tests/fixtures/values.pte")
        x, z = torch.randn(2, 3), torch.randn(2, 3, dtype=torch.complex64)
        cases = {"negative": ("float32", torch._neg_view(x)), "conjugate": ("complex64", z.conj())}
        for bit, (name, lazy) in cases.items():
            method = program[name]
            with self.assertRaises(tenon.Error) as caught:
                method(lazy)
            self.assertEqual(caught.exception.name, "InvalidArgument")
            self.assertIn(f"found one with PyTorch's {bit} bit; pass tensor.resolve_", caught.exception.text)
            resolved = lazy.resolve_neg().resolve_conj()
            torch.testing.assert_close(torch.from_dlpack(method(resolved)), resolved)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
