# SPDX-License-Identifier: MIT
"""The ahead-of-time half of plugins in ExecuTorch's exporter: executorch_lowering.py BUILD [TEST]...

Models are exported, lowered by `to_edge_transform_and_lower` with tenon.executorch.partitioner("GraphBackend"), and run
in ExecuTorch's runtime and in tenon-run; the outputs are eager PyTorch's. From a model in PyTorch's archive,
tenon-compile makes the same delegates. BUILD/lowering.json gets the table of the page.
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
sys.path[:0] = [str(BUILD / "examples/python"), str(pathlib.Path(__file__).resolve().parents[1])]
for name in [name for name in os.environ if name.startswith("TENON_")]:
    del os.environ[name]
warnings.simplefilter("ignore")
logging.disable(logging.WARNING)

import executorch.kernels.quantized  # Out variants of quantized operators, for the exporter.
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

import tenon
import tenon.executorch

from exporters import export_xnnpack as xnnpack_models
from models import layers, vision

GRAPH_BACKEND = BUILD / "examples/backends/graph_backend/graph_backend.so"
PLUGINS = [GRAPH_BACKEND, BUILD / "examples/backends/executorch/executorch_kernels.so",
           BUILD / "examples/backends/executorch/xnnpack.so"]
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


def view_of(name):
    """The operator of PyTorch's dialect that the edge dialect makes a copy of: view_copy, _clone_dim_order."""
    return name.replace("dim_order_ops._clone_dim_order", "aten.clone").replace("_copy.", ".")


def calls_of(program):
    """Operators in each delegate of GraphBackend, and those that are left."""
    delegates = [each for _, each, _ in get_lowered_submodules(program.graph_module)]
    inside = [operators(each.original_module.graph.nodes) for each in delegates
              if each.backend_id == "GraphBackend"]
    return inside, operators(get_non_lowered_nodes(program.graph))


def blobs(path):
    """(backend, bytes, compile specs) of each delegate in a file."""
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
        tenon.executorch.backend("GraphBackend", plugins=[GRAPH_BACKEND])

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
        done = subprocess.run([BUILD / "examples/programs/tenon-run/tenon-run", *arguments],
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
        """The program that tenon-compile makes, and its report on it."""
        path = self.folder / "compiled.pte"
        done = subprocess.run(
            [BUILD / "examples/programs/tenon-compile/tenon-compile", *map(str, arguments), "--backend",
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

        table[name] = {
            "delegates": len(inside), "delegated": sum(sum(each.values()) for each in inside),
            "left over": sum(left.values()), "left": dict(left), "worst": worst,
            "pte": pte.stat().st_size}
        torch.export.save(archive_of(program), self.folder / "model.pt2")
        # The model in an archive.
        compiled, report = self.compile(self.folder / "model.pt2")
        self.check_outputs(eager, compiled, model.sets(), **limits)
        for inputs in model.sets():
            for one, other in zip(self.run_in_stock(pte, inputs), self.run_in_stock(compiled, inputs),
                                  strict=True):
                self.assertTrue(torch.equal(one, other), name)
        [method] = report["methods"]
        table[name] |= {
            "compiled": [len(method["delegates"]), method["delegated_nodes"],
                         method["left_over_nodes"]],
            "equal blobs": [a == b for a, b in zip(blobs(pte), blobs(compiled))]}
        self.assertEqual(len(inside), len(method["delegates"]))
        return inside, left, method, blobs(pte), blobs(compiled)

    def test_mlp(self):
        inside, left, _, lowered, compiled = self.check("MLP")
        self.assertEqual((len(inside), sum(left.values())), (1, 0))
        self.assertEqual(lowered, compiled)

    def test_mobilenet(self):
        inside, left, _, lowered, compiled = self.check("MobileNetV3-Small")
        self.assertEqual((len(inside), sum(left.values())), (1, 0))
        self.assertEqual(lowered, compiled)

    def check_parts(self, name):
        """Delegates and leaves over the same nodes as tenon-compile does. The blobs may differ: nodes that do not need
        each other, and inputs, may be in another order."""
        inside, left, method, lowered, compiled = self.check(name)
        row = table[name]
        self.assertEqual([row["delegates"], row["delegated"], row["left over"]], row["compiled"])
        compiled_operators = {key: {view_of(one["operator"]): one[key] for one in method["operators"] if one[key]}
                              for key in ("delegated", "left_over")}
        for key, found in (("delegated", sum(inside, Counter())), ("left_over", left)):
            self.assertEqual({view_of(one): count for one, count in found.items()}, compiled_operators[key])
        self.assertEqual(len(lowered), len(compiled))
        for (_, one, specs), (_, other, same_specs) in zip(lowered, compiled):
            self.assertEqual((len(one), specs), (len(other), same_specs))
        return inside, left

    def test_transformer_block(self):
        self.check_parts("transformer block")

    def test_dynamic_transformer_block(self):
        self.check_parts("transformer block, dynamic")

    def test_quantised(self):
        inside, left = self.check_parts("PT2E-quantised")
        self.assertTrue(inside)
        self.assertIn("quantized_decomposed.quantize_per_tensor.default", left)


class TwoMethods(nn.Module):
    """Methods that share a layer."""

    def __init__(self):
        super().__init__()
        self.shared = nn.Linear(32, 32)
        self.own = nn.Linear(32, 8)

    def encode(self, x):
        return torch.relu(self.shared(x))

    def classify(self, x):
        return torch.softmax(self.own(torch.relu(self.shared(x))), -1)


class Method(nn.Module):
    def __init__(self, owner, name):
        super().__init__()
        self.owner, self.method = owner, name

    def forward(self, x):
        return getattr(self.owner, self.method)(x)


class Stateful(nn.Module):
    """A buffer that changes, a constant of the code, and several outputs."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.register_buffer("total", torch.zeros(4))

    def forward(self, x):
        self.total.add_(x.sum(0))
        y = self.linear(x) * torch.tensor([1.0, 2.0, 3.0, 4.0])
        return y, y.mean(0) + self.total


class Branch(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x):
        y = self.linear(x)
        return torch.relu(torch.cond(y.sum() > 0, lambda v: v * 2, lambda v: v - 1, (y,)))


class Sine(nn.Module):
    def forward(self, x):
        return torch.relu(torch.sinh(x))


X = (torch.linspace(-1, 1, 12).reshape(3, 4),)


class Features(Case):
    def test_methods_that_share_weights_store_them_once(self):
        model = module(TwoMethods)
        methods = {name: Method(model, name) for name in ("encode", "classify")}
        inputs = (torch.randn(3, 32),)
        programs = {name: export(method, inputs) for name, method in methods.items()}
        edge = to_edge_transform_and_lower(
            programs, partitioner=[partitioner(weights="named")])
        stored = edge._named_data_store.get_named_data_store_output()
        self.assertEqual(sum(32 * 32 * 4 == len(each) for each in stored.buffers), 1)
        pte = self.write(edge.to_executorch())
        for name, method in methods.items():
            inside, left = calls_of(edge.exported_program(name))
            self.assertEqual((len(inside), sum(left.values())), (1, 0), name)
            self.check_outputs(method, pte, [inputs], method=name)
        for name, program in programs.items():
            torch.export.save(archive_of(program), self.folder / f"{name}.pt2")
        compiled, report = self.compile(
            *(f"--method={name}={self.folder / name}.pt2" for name in programs),
            "--spec", "weights=named")
        self.assertEqual([len(each["delegates"]) for each in report["methods"]], [1, 1])
        self.assertEqual(sorted(blobs(pte)), sorted(blobs(compiled)))
        for name, method in methods.items():
            self.check_outputs(method, compiled, [inputs], method=name)

    def test_external_weights_are_in_a_ptd_file(self):
        model, inputs = module(lambda: layers.Mlp(64, 128, 10)), (torch.randn(2, 64),)
        edge = to_edge_transform_and_lower(
            export(model, inputs),
            partitioner=[partitioner(weights="external", external_tag="weights")])
        manager = edge.to_executorch(ExecutorchBackendConfig(external_constants=True))
        pte = self.write(manager)
        manager.write_tensor_data_to_file(str(self.folder))
        ptd = self.folder / "weights.ptd"
        self.assertGreater(ptd.stat().st_size, 128 * 64 * 4)
        self.assertLess(pte.stat().st_size, 128 * 64 * 4)
        self.check_outputs(model, pte, [inputs], [ptd])

    def test_beside_xnnpack_in_one_call(self):
        model, inputs = module(lambda: xnnpack_models.Transformer(32, 2, 1)), (torch.randn(1, 12, 32),)
        program = export(model, inputs)
        for order in ([partitioner(), XnnpackPartitioner()], [XnnpackPartitioner(), partitioner()]):
            edge = to_edge_transform_and_lower(program, partitioner=order)
            ids = Counter(each.backend_id for _, each, _ in
                          get_lowered_submodules(edge.exported_program().graph_module))
            self.assertEqual(set(ids), {"GraphBackend", "XnnpackBackend"}, ids)
            self.check_outputs(model, self.write(edge.to_executorch()), [inputs], rtol=1e-3, atol=1e-4)

    def test_buffers_constants_and_several_outputs(self):
        model = module(Stateful)
        edge = to_edge_transform_and_lower(export(copy.deepcopy(model), X), partitioner=[partitioner()])
        inside, left = calls_of(edge.exported_program())
        self.assertTrue(inside)
        self.check_outputs(model, self.write(edge.to_executorch()), [X])

    def test_control_flow_is_left_to_the_runtime(self):
        model = module(Branch)
        edge = to_edge_transform_and_lower(export(model, X), partitioner=[partitioner()])
        inside, left = calls_of(edge.exported_program())
        self.assertEqual(left["higher_order.cond"], 1)
        self.assertEqual(len(inside), 2)
        with torch.no_grad():
            [found] = self.run_in_stock(self.write(edge.to_executorch()), X)
            torch.testing.assert_close(found, model(*X), rtol=RTOL, atol=ATOL)

    def test_an_operator_that_the_plugin_leaves_is_decomposed(self):
        class Mixed(nn.Module):
            def __init__(self):
                super().__init__()
                self.first, self.second = nn.Linear(4, 4), nn.Linear(4, 4).double()

            def forward(self, x):
                return self.second(self.first(x).double())

        model = module(Mixed)
        edge = to_edge_transform_and_lower(export(model, X), partitioner=[partitioner()])
        _, left = calls_of(edge.exported_program())
        self.assertNotIn("aten.linear.default", left)
        self.check_outputs(model, self.write(edge.to_executorch()), [X])

    def test_the_callers_program_and_weights_stay(self):
        model = module(lambda: layers.Mlp(256, 512, 10))
        program = to_edge(export(model, (torch.randn(2, 256),))).exported_program()
        before = str(program.graph), {name: (tensor.data_ptr(), tensor.clone())
                                      for name, tensor in program.state_dict.items()}
        module_ = to_backend("GraphBackend", program, [])
        self.assertEqual(module_.backend_id, "GraphBackend")
        self.assertEqual(str(program.graph), before[0])
        for name, (address, content) in before[1].items():
            self.assertEqual(program.state_dict[name].data_ptr(), address)
            self.assertTrue(torch.equal(program.state_dict[name], content))
            program.state_dict[name].data.add_(0)  # Can be written again.

    def test_weights_are_described_where_they_are(self):
        from tenon.executorch import _edge
        weight = nn.Parameter(torch.randn(64, 64))
        self.assertEqual(_edge._plain(weight).data_ptr(), weight.data_ptr())

    def test_debug_handles_are_in_the_record_and_in_the_inspector(self):
        from executorch.devtools import Inspector
        model, inputs = module(lambda: layers.Mlp(16, 32, 8)), (torch.randn(2, 16),)
        edge = to_edge_transform_and_lower(export(model, inputs), partitioner=[partitioner()],
                                           generate_etrecord=True)
        handles = {node.meta["debug_handle"]
                   for _, each, _ in get_lowered_submodules(edge.exported_program().graph_module)
                   for node in each.original_module.graph.nodes if node.op == "call_function"}
        manager = edge.to_executorch()
        pte, record = self.write(manager), self.folder / "etrecord.bin"
        manager.get_etrecord().save(str(record))
        program = Runtime.get().load_program(pte, enable_etdump=True, debug_buffer_size=1 << 20)
        program.load_method("forward").execute(list(inputs))
        program.write_etdump_result_to_file(str(self.folder / "etdump"), str(self.folder / "data"))
        inspector = Inspector(etdump_path=str(self.folder / "etdump"), etrecord=str(record))
        seen, operators_seen = set(), set()
        for block in inspector.event_blocks:
            for event in block.events:
                if event.is_delegated_op and event.debug_handles is not None:
                    found = event.debug_handles
                    seen |= set(found if isinstance(found, (list, tuple, set)) else [found])
                    operators_seen |= set(event.op_types or [])
        self.assertTrue(seen, "no event of the delegate has a debug handle")
        self.assertLessEqual(seen, handles)
        self.assertTrue(operators_seen, "no event has the operators of the program")


class Script(Case):
    def test_the_script_of_the_page_writes_a_program(self):
        model = self.folder / "model.pte"
        subprocess.run([sys.executable, BUILD / "examples/applications/executorch/lower_with_plugin.py",
                        GRAPH_BACKEND, "GraphBackend", model], check=True, capture_output=True,
                       env={**os.environ, "PYTHONPATH": str(BUILD / "examples/python")})
        self.assertEqual([id for id, _, _ in blobs(model)], ["GraphBackend"])
        [output] = self.run_in_stock(model, [torch.randn(2, 16)])
        self.assertEqual(list(output.shape), [2, 4])


class Failures(Case):
    def refusal(self, call, *arguments, **keywords):
        with self.assertRaises(tenon.Error) as caught:
            call(*arguments, **keywords)
        self.assertEqual(str(caught.exception), f"{caught.exception.name} "
                         f"(0x{caught.exception.number:02x}): {caught.exception.text}")
        return caught.exception

    def test_a_backend_that_is_unknown_or_cannot_compile(self):
        failure = self.refusal(tenon.executorch.partitioner, "NoSuchBackend")
        self.assertIn("NoSuchBackend", failure.text)
        failure = self.refusal(tenon.executorch.backend, "Add", plugins=[BUILD / "examples/backends/hello.so"])
        self.assertEqual(failure.name, "NotSupported")
        self.assertIn("cannot compile", failure.text)

    def test_an_id_has_one_class_which_is_final(self):
        cls = tenon.executorch.backend("GraphBackend", plugins=[GRAPH_BACKEND])
        self.assertIs(tenon.executorch.backend("GraphBackend"), cls)
        with self.assertRaises(TypeError):
            type("Derived", (cls,), {})
        failure = self.refusal(tenon.executorch.backend, "GraphBackend", plugins=["/other.so"])
        self.assertEqual(failure.name, "RegistrationAlreadyRegistered")
        failure = self.refusal(tenon.executorch.backend, "XnnpackBackend")
        self.assertIn("executorch.backends.xnnpack", failure.text)

    def test_options_that_the_plugin_refuses(self):
        program = export(module(lambda: layers.Mlp(16, 8)), (torch.randn(2, 16),))
        failure = self.refusal(to_edge_transform_and_lower, program,
                               partitioner=[partitioner(weights="nowhere")])
        self.assertEqual((failure.number, failure.name), (0x12, "InvalidArgument"))
        self.assertIn("nowhere", failure.text)
        with self.assertRaises(TypeError):
            partitioner(weights=["named"])

    def test_a_node_that_the_plugin_cannot_compile_is_named(self):
        program = to_edge(export(Sine(), X)).exported_program()
        failure = self.refusal(to_backend, "GraphBackend", program, [])
        self.assertEqual(failure.name, "NotSupported")
        self.assertIn("aten.sinh.default", failure.text)

    def test_what_cannot_be_described_is_refused_before_the_plugin_is_called(self):
        program = to_edge(export(module(Branch), X)).exported_program()
        failure = self.refusal(to_backend, "GraphBackend", program, [])
        self.assertEqual(failure.name, "NotSupported")
        self.assertRegex(failure.text, "node 'cond' .*cannot be described")

    def test_compile_specs_of_another_number(self):
        program = to_edge(export(module(lambda: layers.Mlp(4, 4)), X)).exported_program()
        cls = tenon.executorch.backend("GraphBackend")
        for specs in ({}, {"forward": []}):
            failure = self.refusal(cls.preprocess_multimethod, {"forward": [program]}, specs)
            self.assertIn("method 'forward' has 1 partitions", failure.text)
        made = cls.preprocess(program, [CompileSpec("fold", b"0")])
        self.assertTrue(made.processed_bytes)


if __name__ == "__main__":
    tenon.executorch.register_plugins(GRAPH_BACKEND)
    result = unittest.main(argv=[sys.argv[0], *sys.argv[2:]], exit=False, verbosity=2).result
    (BUILD / "lowering.json").write_text(json.dumps(table, indent=1))
    print(json.dumps(table, indent=1))
    sys.exit(not result.wasSuccessful())
