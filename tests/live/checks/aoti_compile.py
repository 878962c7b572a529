# SPDX-License-Identifier: MIT
"""`tenon.aoti.compile`, CpuAotiBackend behind torch.compile, and in ExecuTorch's exporter: aoti_compile.py BUILD [TEST]...

Each model is compiled by AOTInductor, and gives eager PyTorch's numbers.
"""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
import warnings

BUILD = pathlib.Path(sys.argv[1]).resolve()
SOURCE = pathlib.Path(__file__).resolve().parents[3]
sys.path[:0] = [str(BUILD / "examples/python"), str(SOURCE / "tests/live")]
for name in [name for name in os.environ if name.startswith("TENON_")]:
    del os.environ[name]

import torch
from torch import nn
from torch._dynamo.utils import counters

import tenon.aoti
import tenon.dynamo
from models import pt2_models
from tenon._error import Error

PLUGIN = str(BUILD / "reference_backends/cpu_aoti/cpu_aoti.so")
GRAPH = str(BUILD / "examples/backends/graph_backend/graph_backend.so")
RTOL, ATOL = 1e-4, 1e-5


class Images(nn.Module):
    """As networks of torchvision are: convolutions, batch norms, and activations in place."""

    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU6(inplace=True), nn.Conv2d(8, 8, 3, groups=8),
            nn.Hardswish(inplace=True), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Dropout(0.2, inplace=True),
            nn.Linear(8, 4))

    def forward(self, x, *, scale):
        return {"y": self.layers(x) * scale, "none": None}


class Branch(nn.Module):
    def forward(self, x):
        return x + 1 if x.sum() > 0 else x - 1


class Scatter(nn.Module):
    """Calls an operator that has no function in the plugin."""

    def forward(self, x):
        return torch.linalg.matrix_exp(x) + 1


class Temporary(unittest.TestCase):
    def setUp(self):
        torch._dynamo.reset()
        torch.manual_seed(3)
        folder = tempfile.TemporaryDirectory(prefix="tenon-aoti-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.path = self.folder / "model.pte"

    def refusal(self, name, model, inputs, **more):
        with torch.no_grad(), self.assertRaises(Error) as caught:
            tenon.aoti.compile(model, inputs, self.path, **{"plugins": PLUGIN, **more})
        self.assertEqual(caught.exception.name, name, caught.exception)
        return caught.exception.text


class Compile(Temporary):
    def test_a_network_with_activations_in_place_gives_eager_s_numbers(self):
        model = Images().eval()
        x = torch.randn(2, 3, 9, 9)
        rows = torch.export.Dim("rows", min=1, max=8)
        program = torch.export.export(model, (x,), {"scale": torch.tensor(2.0)}, dynamic_shapes={"x": {0: rows}, "scale": None})
        compiled = tenon.aoti.compile(program, (), self.path, plugins=PLUGIN)
        self.assertIn("avx2", compiled.cpu_features or "avx2")
        for count in (2, 5):
            x = torch.randn(count, 3, 9, 9)
            found, expected = compiled(x, scale=torch.tensor(0.5)), model(x, scale=torch.tensor(0.5))
            torch.testing.assert_close(found["y"], expected["y"], rtol=RTOL, atol=ATOL)
            self.assertIsNone(found["none"])
        # The file is the program.
        y, = tenon.load(self.path, plugins=PLUGIN)["forward"].execute([x, torch.tensor(0.5)])
        torch.testing.assert_close(torch.from_dlpack(y), expected["y"], rtol=RTOL, atol=ATOL)

    def test_a_module_without_weights(self):
        compiled = tenon.aoti.compile(nn.SiLU(), (torch.randn(3),), self.path, plugins=[PLUGIN], level="native")
        x = torch.randn(3)
        torch.testing.assert_close(compiled(x), nn.functional.silu(x), rtol=RTOL, atol=ATOL)

    def test_a_model_that_changes_its_input_is_refused(self):
        x = torch.randn(2, 4)
        for name in ("directly", "by_dropout", "without_gradients"):
            text = self.refusal("NotSupported", pt2_models.ChangesInput(pt2_models.CHANGES[name][1]), (x,))
            self.assertIn("input 'x' is changed by the model", text)

    def test_what_cannot_be_compiled_says_why(self):
        x = torch.randn(3, 3)
        self.assertIn("torch.export cannot export Branch: ", self.refusal("NotSupported", Branch(), (x,)))
        self.assertIn("level: expected native, x86-64,", self.refusal("InvalidArgument", nn.ReLU(), (x,), level="avx2"))
        self.assertIn("AcmeBackend", self.refusal("NotFound", nn.ReLU(), (x,), backend="AcmeBackend"))
        self.assertIn("does not run models of AOTInductor",
                      self.refusal("NotSupported", nn.ReLU(), (x,), backend="GraphBackend", plugins=GRAPH))
        self.assertFalse(self.path.exists())

    def test_without_a_compiler(self):
        script = ("import sys, torch\nfrom tenon._aoti import require_compiler\n"
                  "try: require_compiler()\nexcept Exception as failure: print(failure)")
        done = subprocess.run([sys.executable, "-c", script], text=True, capture_output=True, check=False, env={
            "PATH": "/nonexistent", "CXX": "/nonexistent/c++", "PYTHONPATH": str(BUILD / "examples/python")})
        self.assertIn("NotFound (0x20): AOTInductor needs a C++ compiler", done.stdout, done.stderr)

    def test_functions_that_the_backend_lacks_are_named(self):
        text = self.refusal("NotSupported", Scatter(), (torch.randn(3, 3),))
        self.assertIn("cannot run what AOTInductor compiled", text)
        self.assertIn("linalg_matrix_exp", text)


class TorchCompile(Temporary):
    def compiled(self, model, dynamic=None, **more):
        return torch.compile(model, backend=tenon.dynamo.tenon, dynamic=dynamic,
                             options={"backend": "CpuAotiBackend", "plugins": [PLUGIN], **more})

    def close(self, found, expected):
        torch.testing.assert_close(found, expected, rtol=RTOL, atol=ATOL)

    @torch.no_grad()
    def test_weights_are_inputs_and_the_store_keeps_what_was_compiled(self):
        model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(inplace=True), nn.LayerNorm(16), nn.Linear(16, 4)).eval()
        x = torch.randn(5, 8)
        store = str(self.folder / "store")
        compiled = self.compiled(model, store=store, strict=True)
        self.close(compiled(x), model(x))
        model[0].weight.data.mul_(2)  # Not counted by PyTorch.
        model[3].bias += 1
        self.close(compiled(x), model(x))
        before = counters["tenon"]["found in the store"]
        torch._dynamo.reset()
        self.close(self.compiled(model, store=store, strict=True)(x), model(x))
        self.assertEqual(counters["tenon"]["found in the store"], before + 1)
        self.assertEqual(len(list((self.folder / "store/aoti").iterdir())), 1)

    @torch.no_grad()
    def test_frozen_weights_and_sizes_that_change(self):
        model = nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.Linear(16, 4)).eval()
        store = self.folder / "store"
        compiled = self.compiled(model, dynamic=True, freeze=True, largest_size=64, strict=True, store=store)
        for count, files in ((3, 1), (7, 1), (5, 2)):
            x = torch.randn(count, 8)
            self.close(compiled(x), model(x))
            self.assertEqual(len(list((store / "aoti").iterdir())), files)
            if count == 7:
                model[0].weight += 1

    @torch.no_grad()
    def test_views_lists_and_a_buffer_that_the_model_changes(self):
        class Mixed(nn.Module):
            def __init__(self):
                super().__init__()
                self.register_buffer("total", torch.zeros(4))

            def forward(self, x):
                self.total.add_(x.sum(0))
                a, b = x.t().chunk(2)
                return a.relu(), b, x.view(-1)[::2] + self.total[0]

        model, other = Mixed(), Mixed()
        compiled = self.compiled(model)
        for _ in range(2):
            x = torch.randn(3, 4)
            for found, expected in zip(compiled(x), other(x), strict=True):
                self.close(found, expected)
                self.assertEqual(found.stride(), expected.stride())
            self.close(model.total, other.total)

    @torch.no_grad()
    def test_what_the_backend_lacks_is_run_by_eager_with_a_warning(self):
        from tenon.dynamo import _compiler

        _compiler._warned.clear()
        x = torch.randn(3, 3)
        with self.assertWarnsRegex(tenon.dynamo.FallbackWarning, "linalg_matrix_exp"):
            self.close(self.compiled(Scatter())(x), Scatter()(x))
        torch._dynamo.reset()
        with self.assertRaisesRegex(Exception, "OperatorMissing .*linalg_matrix_exp"):
            self.compiled(Scatter(), strict=True)(x)

    @torch.no_grad()
    def test_compile_specs_are_refused(self):
        with self.assertRaisesRegex(Exception, r"options\['compile_specs'\]: backend CpuAotiBackend has none"):
            self.compiled(nn.ReLU(), compile_specs={"level": 1})(torch.randn(3))


class Exporter(Temporary):
    def test_the_page_s_export_by_executorch_gives_eager_s_numbers(self):
        x, y = self.folder / "x.npy", self.folder / "y.npy"
        env = os.environ | {"PYTHONPATH": str(BUILD / "examples/python"), "TENON_PLUGIN_FILES": PLUGIN}
        subprocess.run([sys.executable, SOURCE / "docs/snippets/export_cpu.py", self.path, x, y], check=True, env=env)
        import numpy

        found = tenon.load(self.path, plugins=PLUGIN)["forward"](numpy.load(x))
        torch.testing.assert_close(torch.from_dlpack(found), torch.from_numpy(numpy.load(y)), rtol=RTOL, atol=ATOL)

    def test_a_backend_of_aotinductor_is_a_class_of_executorch(self):
        from executorch.backends.aoti.aoti_backend import AotiBackend
        from tenon import executorch

        made = executorch.backend("CpuAotiBackend", plugins=PLUGIN)
        self.assertTrue(issubclass(made, AotiBackend))
        kernels = made.get_supported_fallback_kernels()
        for name in ("aoti_torch_cpu_convolution", "aoti_torch_cpu_mm_out", "aoti_torch_cpu_topk"):
            self.assertIn(name, kernels)
        settings = made.get_aoti_compile_options([])
        self.assertEqual((settings["cpp.march"], settings["cpp.simdlen"]), ("x86-64-v3", 256))
        with self.assertRaises(Error):
            executorch.partitioner("CpuAotiBackend", options={"level": "fast"})


if __name__ == "__main__":
    warnings.simplefilter("ignore", category=tenon.dynamo.GradientsWarning)
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]], verbosity=2)
