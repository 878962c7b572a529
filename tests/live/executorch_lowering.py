# SPDX-License-Identifier: MIT
"""The ahead-of-time half of plugins in ExecuTorch's exporter: executorch_lowering.py BUILD [TEST]...

Models are exported, lowered by `to_edge_transform_and_lower` with tenon.executorch.partitioner("GraphBackend"),
and run in ExecuTorch's runtime and in tenon-run; the outputs are eager PyTorch's. The same model in PyTorch's archive,
compiled by tenon-compile, has the same delegates. BUILD/lowering.json gets the table of the page.
"""

import copy
import dataclasses
import json
import logging
import operator
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
import warnings
from collections import Counter

BUILD = pathlib.Path(sys.argv[1]).resolve()
sys.path[:0] = [str(BUILD / "examples/python"), str(pathlib.Path(__file__).resolve().parent)]
for name in [name for name in os.environ if name.startswith("TENON_")]:
    del os.environ[name]
warnings.simplefilter("ignore")
logging.disable(logging.WARNING)

import numpy
import torch
from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.exir import ExecutorchBackendConfig, to_edge, to_edge_transform_and_lower
from executorch.exir.backend.backend_api import to_backend
from executorch.exir.backend.compile_spec_schema import CompileSpec
from executorch.exir.backend.utils import get_delegates, get_non_lowered_nodes
from executorch.exir.lowered_backend_module import get_lowered_submodules
from executorch.exir.program._program import _default_decomposition_table
from executorch.runtime import Runtime
from torch import nn
from torch.export import Dim, export

import export_xnnpack as xnnpack_models
import layers
import tenon
import tenon.executorch
import vision

GRAPH_BACKEND = BUILD / "examples/graph_backend/graph_backend.so"
PLUGINS = [GRAPH_BACKEND, BUILD / "examples/executorch/plugins/executorch_kernels.so",
           BUILD / "examples/executorch/plugins/xnnpack.so"]
RTOL, ATOL = 1e-4, 1e-5  # As for the kit's cases in float32 that PyTorch computed.
table = {}


def partitioner(**options):
    return tenon.executorch.partitioner("GraphBackend", options=options, plugins=[GRAPH_BACKEND])


def module(make):
    torch.manual_seed(20261122)
    return make().eval()


@dataclasses.dataclass
class Model:
    make: object
    shapes: list  # Of the one input, one for each run.
    dynamic: object = None
    quantised: bool = False

    def sets(self):
        torch.manual_seed(7)
        return [(torch.randn(shape),) for shape in self.shapes]

    def export(self):
        """The module that gives the expected numbers, and the exported program."""
        eager, sets = module(self.make), self.sets()
        with torch.no_grad():
            program = export(eager, sets[0], dynamic_shapes=self.dynamic)
            if self.quantised:
                eager = xnnpack_models.quantise(program, sets)
                program = export(eager, sets[0])
        return eager, program


SEQUENCES = ({1: Dim("length", min=2, max=64)},)
MODELS = {
    "MLP": Model(lambda: layers.Mlp(64, 128, 128, 10), [(4, 64)] * 2),
    "MobileNetV3-Small": Model(vision.MobileNetV3Small, [(1, 3, 224, 224)]),
    "transformer block": Model(lambda: xnnpack_models.Transformer(64, 4, 1), [(2, 24, 64)] * 2),
    "transformer block, dynamic": Model(lambda: xnnpack_models.Transformer(64, 4, 1),
                                        [(1, 16, 64), (1, 2, 64), (1, 64, 64)], SEQUENCES),
    "PT2E-quantised": Model(lambda: xnnpack_models.Residual(8, 16, 24), [(1, 3, 16, 16)] * 2,
                            quantised=True),
}


def operators(nodes):
    """How often each operator is called, by the names of a description."""
    from tenon.executorch._operators import name_of
    return Counter(name_of(node.target) for node in nodes
                   if node.op == "call_function" and node.target is not operator.getitem)


def calls_of(program):
    """Operators in each delegate of GraphBackend, and those that are left."""
    delegates = [each for _, each, _ in get_lowered_submodules(program.graph_module)]
    inside = [operators(each.original_module.graph.nodes) for each in delegates
              if each.backend_id == "GraphBackend"]
    return inside, operators(get_non_lowered_nodes(program.graph))


def blobs(path):
    """What is stored for each delegate: (backend, bytes, compile specs)."""
    from executorch.exir._serialize._program import deserialize_pte_binary
    program = deserialize_pte_binary(path.read_bytes()).program
    out = []
    for plan in program.execution_plan:
        for delegate in plan.delegates:
            data = program.backend_delegate_data[delegate.processed.index].data
            out.append((delegate.id, bytes(data), [(s.key, bytes(s.value)) for s in delegate.compile_specs]))
    return out


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="tenon-test-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def run_in_stock(self, pte, inputs, data=(), method="forward"):
        with tenon.executorch.errors():
            program = Runtime.get().load_program(pte, data_path=data[0] if data else None)
            return program.load_method(method).execute(list(inputs))

    def run_in_tenon(self, pte, inputs, expected, data=(), method="forward", rtol=RTOL, atol=ATOL):
        arguments = [str(pte), "--method", method, "--rtol", str(rtol), "--atol", str(atol)]
        for plugin in PLUGINS:
            arguments += ["--plugin", str(plugin)]
        for path in data:
            arguments += ["--data", str(path)]
        for kind, tensors in (("input", inputs), ("expect", expected)):
            for number, tensor in enumerate(tensors):
                path = self.folder / f"{kind}_{number}.npy"
                numpy.save(path, tensor.detach().contiguous().numpy())
                arguments += [f"--{kind}", str(path)]
        done = subprocess.run([BUILD / "examples/tenon-run/tenon-run", *arguments],
                              capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def check_outputs(self, eager, pte, sets, data=(), method="forward", rtol=RTOL, atol=ATOL):
        worst = 0.0
        for inputs in sets:
            with torch.no_grad():
                expected = torch.utils._pytree.tree_leaves(eager(*copy.deepcopy(inputs)))
            found = self.run_in_stock(pte, inputs, data, method)
            for one, wanted in zip(found, expected, strict=True):
                torch.testing.assert_close(one, wanted, rtol=rtol, atol=atol)
                worst = max(worst, (one - wanted).abs().max().item())
            self.run_in_tenon(pte, inputs, expected, data, method, rtol, atol)
        return worst

    def write(self, manager, name="model.pte"):
        path = self.folder / name
        with path.open("wb") as file:
            manager.write_to_file(file)
        return path

    def compile(self, *arguments):
        """What tenon-compile makes, and its report on it."""
        path = self.folder / "compiled.pte"
        done = subprocess.run(
            [BUILD / "examples/tenon-compile/tenon-compile", *map(str, arguments), "--backend",
             "GraphBackend", "--plugin", GRAPH_BACKEND, "--json", "-o", path],
            capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return path, json.loads(done.stdout)


def archive_of(program):
    """The program as the exporter hands it to partitioners, in PyTorch's dialect."""
    program = program.run_decompositions({})
    kept, _ = partitioner().ops_to_not_decompose(program)
    decompositions = _default_decomposition_table()
    for one in kept:
        decompositions.pop(one, None)
    return program.run_decompositions(decompositions)


class Models(Case):
    def check(self, name):
        model = MODELS[name]
        eager, program = model.export()
        edge = to_edge_transform_and_lower(program, partitioner=[partitioner()])
        inside, left = calls_of(edge.exported_program())
        manager = edge.to_executorch()
        pte = self.write(manager)
        # A rounded sum may be the next integer: the limit is a step of the quantised outputs.
        limits = {"rtol": 1e-2, "atol": 5e-2} if model.quantised else {}
        worst = self.check_outputs(eager, pte, model.sets(), **limits)

        # The same model in an archive.
        torch.export.save(archive_of(program), self.folder / "model.pt2")
        compiled, report = self.compile(self.folder / "model.pt2")
        self.check_outputs(eager, compiled, model.sets(), **limits)
        [method] = report["methods"]
        table[name] = {
            "delegates": len(inside), "delegated": sum(sum(each.values()) for each in inside),
            "left over": sum(left.values()), "left": dict(left), "worst": worst,
            "compiled": [len(method["delegates"]), method["delegated_nodes"],
                         method["left_over_nodes"]],
            "equal blobs": [a == b for a, b in zip(blobs(pte), blobs(compiled))],
            "pte": pte.stat().st_size}
        return inside, left, method, blobs(pte), blobs(compiled)

    def test_mlp(self):
        inside, left, method, lowered, compiled = self.check("MLP")
        self.assertEqual((len(inside), sum(left.values())), (1, 0))
        self.assertEqual(lowered, compiled)

    def test_mobilenet(self):
        inside, left, method, lowered, compiled = self.check("MobileNetV3-Small")
        self.assertGreater(sum(map(sum, (each.values() for each in inside))), 50)

    def test_transformer_block(self):
        self.check("transformer block")

    def test_dynamic_transformer_block(self):
        self.check("transformer block, dynamic")

    def test_quantised(self):
        self.check("PT2E-quantised")


if __name__ == "__main__":
    tenon.executorch.register_plugins(GRAPH_BACKEND)
    result = unittest.main(argv=[sys.argv[0], *sys.argv[2:]], exit=False, verbosity=2).result
    (BUILD / "lowering.json").write_text(json.dumps(table, indent=1))
    print(json.dumps(table, indent=1))
    sys.exit(not result.wasSuccessful())
