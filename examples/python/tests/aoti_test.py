# SPDX-License-Identifier: MIT
"""Models of AOTInductor in Python, as far as torch is not needed: aoti_test.py BUILD SOURCE.

tests/live/checks/aoti_compile.py compiles models.
"""

import array
import importlib.util
import json
import os
import pathlib
import sys
import tempfile
import unittest
import zipfile

import tenon.aoti
from tenon import _aot
from tenon._error import Error

BUILD, SOURCE = map(pathlib.Path, sys.argv[1:3])
PLUGIN = BUILD / "reference_backends/cpu_aoti/cpu_aoti.so"
FIXTURE = SOURCE / "tests/fixtures/aoti_package"
FLOAT = 6


def numbers_in(path):
    """The elements of a .npy file of float32."""
    out = array.array("f")
    out.frombytes(path.read_bytes()[128:])
    return out


def signature(changes_input=False):
    """A model from [3, 8] to [3, 4]."""
    graph = _aot.ProgramBuilder("forward", {})
    x = graph.user_input("x", (FLOAT, [3, 8], [0, 1]))
    y = graph.node_output("y", (FLOAT, [3, 4], [0, 1]))
    graph.add_node("y", "aten.linear.default", [("input", 1, x)], [y], "", 0)
    graph.user_output(y)
    if changes_input:
        graph.mutation(x, x)
    return graph.build()


class WithoutTorch(unittest.TestCase):
    @unittest.skipIf(importlib.util.find_spec("torch"), "torch is installed")
    def test_compile_says_what_is_missing(self):
        with self.assertRaisesRegex(ModuleNotFoundError, r"tenon\.aoti\.compile needs PyTorch \(pip install torch\)"):
            tenon.aoti.compile(None, (), "model.pte")

    def test_a_backend_that_runs_no_such_models_is_refused_by_its_id(self):
        for plugin, id, name in (("demo_backend", "BackendWithCompilerDemo", "NotSupported"), ("hello", "AcmeBackend", "NotFound")):
            with self.assertRaises(Error) as caught:
                _aot.AotiExport(id, [str(BUILD / f"examples/backends/{plugin}.so")], "/nonexistent")
            self.assertEqual(caught.exception.name, name)
            self.assertIn(id, caught.exception.text)


@unittest.skipUnless(PLUGIN.exists(), "built without CpuAotiBackend")
class Pack(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="tenon-aoti-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.export = _aot.AotiExport("CpuAotiBackend", [str(PLUGIN)], "/nonexistent")
        with zipfile.ZipFile(FIXTURE / "compiled.pt2") as archive:
            for name in archive.namelist():
                if name.endswith((".so", ".blob")):
                    (self.folder / name.rsplit(".", 1)[1]).write_bytes(archive.read(name))
        self.library, self.weights = str(self.folder / "so"), str(self.folder / "blob")

    def test_the_facts_are_those_of_the_plugin(self):
        self.assertEqual((self.export.device_name, self.export.torch_device), ("cpu", "cpu"))
        self.assertIs(json.loads(self.export.compile_options)["aot_inductor.link_libtorch"], False)
        self.assertEqual(json.loads(self.export.decompositions), {})
        kernels = self.export.fallback_kernels
        self.assertIn("aoti_torch_cpu_convolution", kernels)
        self.assertTrue(all(map(self.export.serves, kernels)))
        self.assertFalse(self.export.serves("aoti_torch_cpu_nothing"))

    def test_a_program_runs_from_memory_and_from_a_file(self):
        path = self.folder / "model.pte"
        program, features = self.export.pack(signature(), self.library, self.weights, "x86-64-v3", None)
        self.assertEqual(self.export.pack(signature(), self.library, self.weights, "x86-64-v3", str(path)), (None, features))
        self.assertEqual(path.read_bytes(), program)
        self.assertIn(features, ("avx,bmi1,bmi2,abm", "x86-64-v3"))  # Decoded, or without Zydis the level.
        x = memoryview(numbers_in(FIXTURE / "in0.npy")).cast("B").cast("f", [3, 8])
        y = tenon.load(program, plugins=PLUGIN)["forward"](x)
        self.assertEqual(y.shape, (3, 4))
        found = memoryview(y).cast("B").cast("f").tolist()
        for one, expected in zip(found, numbers_in(FIXTURE / "out0.npy"), strict=True):
            self.assertAlmostEqual(one, expected, places=5)

    def test_what_cannot_be_packed(self):
        damaged = self.folder / "damaged"
        damaged.write_bytes(b"\x7fELF" + bytes(200))
        for arguments, name, text in (
                ((signature(), str(self.folder / "none"), None), "AccessFailed", "none"),
                ((signature(), str(damaged), None), "InvalidProgram", "damaged"),
                ((signature(changes_input=True), self.library, self.weights), "NotSupported",
                 "input 'x' is changed by the model")):
            with self.assertRaises(Error) as caught:
                self.export.pack(*arguments, None, None)
            self.assertEqual(caught.exception.name, name, caught.exception)
            self.assertIn(text, caught.exception.text)


if __name__ == "__main__":
    os.environ.pop("TENON_PLUGIN_PATH", None)
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
