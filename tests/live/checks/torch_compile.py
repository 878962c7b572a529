# SPDX-License-Identifier: MIT
"""Plugins as backends of torch.compile: torch_compile.py BUILD [TEST]...

Models run with GraphBackend behind `tenon.dynamo`, and the outputs are eager PyTorch's. BUILD/torch_compile.json gets the
table of docs/measurements/torch-compile.md.
"""

import contextlib
import gc
import io
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import unittest
import unittest.mock
import warnings
import weakref

BUILD = pathlib.Path(sys.argv[1]).resolve()
sys.path[:0] = [str(BUILD / "examples/python"), str(pathlib.Path(__file__).resolve().parents[1])]
for name in [name for name in os.environ if name.startswith("TENON_")]:
    del os.environ[name]

import torch
from torch import nn
from torch._dynamo.utils import counters

import tenon.dynamo
from models import layers, vision
from tenon._error import Error
from tenon.dynamo import _compiler, _reasons, _report

PLUGIN = str(BUILD / "examples/backends/graph_backend/graph_backend.so")
RTOL, ATOL = 1e-4, 1e-5  # As for the kit's cases in float32 that PyTorch computed.
table = {}


def options(**more):
    return {"backend": "GraphBackend", "plugins": [PLUGIN], **more}


def compiled(model, dynamic=None, **more):
    return torch.compile(model, backend=tenon.dynamo.tenon, options=options(**more), dynamic=dynamic)


def note(title, graphs, largest):
    """A row of the table."""
    nodes = sum(len(graph.nodes) for graph in graphs)
    left = sum(len(graph.left) for graph in graphs)
    table[title] = {"graphs": len(graphs), "partitions": sum(len(graph.partitions) for graph in graphs),
                    "taken": nodes - left, "nodes": nodes, "largest": largest,
                    "left": sorted({each.operator for graph in graphs for each in graph.left})}


class Branches(nn.Module):
    """A graph break: Python reads a tensor."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(8, 8), nn.Linear(8, 4)

    def forward(self, x):
        y = self.first(x)
        if y.sum().item() > 0:
            y = y * 2
        return self.second(torch.relu(y))


class Experts(nn.Module):
    """A loop with sizes that depend on elements, of which Dynamo compiles nothing."""

    def __init__(self):
        super().__init__()
        self.gate, self.experts = nn.Linear(8, 3), nn.ModuleList(nn.Linear(8, 8) for _ in range(3))

    def forward(self, x):
        chosen, y = self.gate(x).argmax(-1), torch.zeros_like(x)
        for number, expert in enumerate(self.experts):
            at = torch.where(chosen == number)[0]
            if len(at) > 0:
                y[at] = expert(x[at])
        return y


class Doubles(nn.Module):
    """A graph in float64, of which GraphBackend takes nothing."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(8, 2).double()

    def forward(self, x):
        return self.layer(x.double()).relu()


class SmallLlama(nn.Module):
    """Two layers with rotary places, RMS norms, and keys and values of all places in buffers."""

    def __init__(self, vocabulary=97, width=32, heads=4, length=16, depth=2):
        super().__init__()
        self.heads, self.size, self.length = heads, width // heads, length
        self.words = nn.Embedding(vocabulary, width)
        self.norms = nn.ModuleList(nn.RMSNorm(width) for _ in range(2 * depth + 1))
        self.qkv = nn.ModuleList(nn.Linear(width, 3 * width, bias=False) for _ in range(depth))
        self.out = nn.ModuleList(nn.Linear(width, width, bias=False) for _ in range(depth))
        self.gate = nn.ModuleList(nn.Linear(width, 2 * width, bias=False) for _ in range(depth))
        self.up = nn.ModuleList(nn.Linear(width, 2 * width, bias=False) for _ in range(depth))
        self.down = nn.ModuleList(nn.Linear(2 * width, width, bias=False) for _ in range(depth))
        self.head = nn.Linear(width, vocabulary, bias=False)
        for i in range(depth):
            self.register_buffer(f"keys{i}", torch.zeros(1, heads, length, self.size))
            self.register_buffer(f"values{i}", torch.zeros(1, heads, length, self.size))
        angles = torch.arange(length)[:, None] / 10000 ** (torch.arange(0, self.size, 2) / self.size)
        self.register_buffer("cos", torch.cat([angles.cos()] * 2, -1))
        self.register_buffer("sin", torch.cat([angles.sin()] * 2, -1))

    def rotate(self, x, place):
        half = self.size // 2
        turned = torch.cat([-x[..., half:], x[..., :half]], -1)
        return x * self.cos[place] + turned * self.sin[place]

    def forward(self, token, place):
        x = self.words(token)
        visible = (torch.arange(self.length) <= place)[None]
        for i in range(len(self.qkv)):
            q, k, v = self.qkv[i](self.norms[2 * i](x)).view(1, 1, 3, self.heads, self.size).permute(
                2, 0, 3, 1, 4).unbind(0)
            keys, values = getattr(self, f"keys{i}"), getattr(self, f"values{i}")
            keys.index_copy_(2, place, self.rotate(k, place))
            values.index_copy_(2, place, v)
            y = nn.functional.scaled_dot_product_attention(self.rotate(q, place), keys, values, attn_mask=visible)
            x = x + self.out[i](y.transpose(1, 2).reshape(1, 1, -1))
            z = self.norms[2 * i + 1](x)
            x = x + self.down[i](nn.functional.silu(self.gate[i](z)) * self.up[i](z))
        return self.head(self.norms[-1](x))


def quantised():
    from exporters import export_xnnpack
    from torch.export import export
    torch.manual_seed(3)
    model, sets = export_xnnpack.Residual(8, 16, 24).eval(), [(torch.randn(1, 3, 16, 16),)]
    return export_xnnpack.quantise(export(model, sets[0]), sets)


class Case(unittest.TestCase):
    def setUp(self):
        torch._dynamo.reset()
        counters.clear()
        torch.manual_seed(20261126)

    def check(self, title, model, calls, dynamic=None, **more):
        """Runs each call twice; the first graph's report, and the table."""
        largest = 0.0
        with torch.no_grad(), _report.collected() as graphs:
            function = compiled(model, dynamic=dynamic, **more)
            for call in calls:
                expected, found = model(*call), function(*call)
                self.assertEqual(found.shape, expected.shape)
                self.assertEqual(found.stride(), expected.stride())
                torch.testing.assert_close(found, expected, rtol=RTOL, atol=ATOL)
                largest = max(largest, (found - expected).abs().max().item())
        note(title, graphs, largest)
        return graphs


class Models(Case):
    def test_an_mlp_is_taken_whole(self):
        [graph] = self.check("MLP", layers.Mlp(64, 128, 128, 10).eval(), [(torch.randn(4, 64),)] * 2)
        self.assertEqual(graph.left, [])
        self.assertEqual(len(graph.partitions), 1)

    def test_mobilenet_is_taken_whole(self):
        [graph] = self.check("MobileNetV3-Small", vision.MobileNetV3Small().eval(), [(torch.randn(1, 3, 224, 224),)])
        self.assertEqual(graph.left, [])

    def test_a_transformer_block(self):
        x = torch.randn(2, 24, 64)
        for rest in ("eager", "inductor"):
            torch._dynamo.reset()
            [graph] = self.check(f"transformer block, rest by {rest}", layers.TransformerBlock(64, 4).eval(),
                                 [(x,), (x * 2,)], rest=rest)
            self.assertEqual(graph.left, [])

    def test_a_transformer_block_with_sizes_that_change(self):
        lengths = (5, 24, 64, 7)
        graphs = self.check("transformer block, dynamic", layers.TransformerBlock(64, 4).eval(),
                            [(torch.randn(2, length, 64),) for length in lengths], largest_size=64)
        self.assertEqual(len(graphs), 2)  # One size, then all sizes.
        self.assertGreater(len(graphs[-1].partitions), 0)

    def test_a_llama_with_keys_and_values_in_buffers(self):
        model, other = SmallLlama().eval(), SmallLlama().eval()
        other.load_state_dict(model.state_dict())
        largest = 0.0
        with torch.no_grad(), _report.collected() as graphs:
            function = compiled(model)
            for place in range(6):
                call = torch.tensor([[place * 7 % 97]]), torch.tensor([place])
                expected, found = other(*call), function(*call)
                torch.testing.assert_close(found, expected, rtol=RTOL, atol=ATOL)
                largest = max(largest, (found - expected).abs().max().item())
        for name, buffer in model.named_buffers():
            torch.testing.assert_close(buffer, dict(other.named_buffers())[name], rtol=RTOL, atol=ATOL)
        self.assertEqual(counters["tenon"]["graphs"], 1)
        note("Llama, 2 layers, keys and values", graphs, largest)

    def test_graph_breaks(self):
        graphs = self.check("graph breaks", Branches().eval(), [(torch.randn(3, 8),), (torch.ones(3, 8) * 9,)])
        self.assertGreaterEqual(len(graphs), 2)

    def test_a_quantised_network(self):
        self.check("residual network, PT2E-quantised", quantised(), [(torch.randn(1, 3, 16, 16),)])


class Semantics(Case):
    def test_several_outputs_aliases_and_mutations(self):
        def function(x, state):
            state.add_(x.sum(0))
            y = torch.relu(x) + state
            return y, x, y.t(), y[0], state

        x, state, again = torch.randn(3, 4), torch.zeros(4), torch.zeros(4)
        with torch.no_grad():
            expected, found = function(x, state), compiled(function)(x, again)
        for a, b in zip(expected, found):
            torch.testing.assert_close(a, b)
            self.assertEqual(a.stride(), b.stride())
        self.assertIs(found[1], x)
        self.assertIs(found[4], again)
        self.assertEqual(found[2].data_ptr(), found[0].data_ptr())

    def test_tensors_with_any_strides(self):
        model = layers.Mlp(6, 8, 4).eval()
        with torch.no_grad():
            function = compiled(model)
            for x in (torch.randn(6, 5).t(), torch.randn(5, 12)[:, ::2], torch.randn(1, 6).expand(5, 6)):
                torch.testing.assert_close(function(x), model(x))

    def test_weights_that_change_are_compiled_again_up_to_a_limit(self):
        model = nn.Linear(4, 4)
        x = torch.randn(2, 4)
        with torch.no_grad(), warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            function = compiled(model, freeze=True, weights_limit=2)
            for _ in range(4):
                torch.testing.assert_close(function(x), model(x))
                model.weight.mul_(2)
        self.assertEqual(counters["tenon"]["compiled"], 2)
        self.assertEqual(counters["tenon"]["weights changed"], 3)
        self.assertIn(tenon.dynamo.WeightsWarning, [each.category for each in seen])

    def test_weights_are_inputs_by_default(self):
        model = nn.Linear(4, 4)
        x = torch.randn(2, 4)
        with torch.no_grad():
            function = compiled(model)
            for _ in range(3):
                torch.testing.assert_close(function(x), model(x))
                model.weight.mul_(2)
        self.assertLessEqual(counters["tenon"]["compiled"], 1)
        self.assertEqual(counters["tenon"]["weights changed"], 0)

    def test_a_module_is_freed(self):
        for freeze in (False, True):
            model = nn.Linear(4, 4)
            with torch.no_grad():
                function = compiled(model, freeze=freeze)
                function(torch.randn(2, 4))
            alive = weakref.ref(model.weight)
            del model, function
            torch._dynamo.reset()
            gc.collect()
            self.assertIsNone(alive())

    def test_a_step_counts_as_a_change_of_frozen_weights_alone(self):
        model, other, x = nn.Linear(4, 4), nn.Linear(4, 4), torch.randn(2, 4)
        with torch.no_grad():
            function = compiled(model, freeze=True)
            function(x)
        for each in (other, model):
            before = each.weight._version
            each(x).sum().backward()
            torch.optim.SGD(each.parameters(), lr=0.1, fused=True).step()
            self.assertEqual(each.weight._version > before, each is model)
        with torch.no_grad():
            torch.testing.assert_close(function(x), model(x))
        self.assertEqual(counters["tenon"]["weights changed"], 1)

    def test_gradients_are_left_to_eager_with_one_warning(self):
        model = nn.Linear(4, 4)
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            for _ in range(2):
                torch._dynamo.reset()
                compiled(model)(torch.randn(2, 4)).sum().backward()
        self.assertIsNotNone(model.weight.grad)
        self.assertLessEqual([each.category for each in seen].count(tenon.dynamo.GradientsWarning), 1)
        self.assertEqual(counters["tenon"]["graphs left to eager for gradients"], 2)

    def test_a_no_grad_inside_of_the_model(self):
        model = nn.Linear(4, 4)

        @torch.no_grad()
        def function(x):
            return model(x)

        x = torch.randn(2, 4)
        torch.testing.assert_close(compiled(function)(x), function(x))
        self.assertEqual(counters["tenon"]["compiled"], 1)

    def test_inference_mode(self):
        model = layers.Mlp(4, 4).eval()
        with torch.inference_mode():
            x = torch.randn(2, 4)
            torch.testing.assert_close(compiled(model)(x), model(x))

    def refusal(self, model, *call, **more):
        with torch.no_grad(), self.assertRaises(torch._dynamo.exc.BackendCompilerFailed) as caught:
            compiled(model, **more)(*call)
        self.assertIsInstance(caught.exception.inner_exception, Error)
        return caught.exception.inner_exception

    def test_strict_names_the_first_node_that_is_left(self):
        failure = self.refusal(lambda x: torch.sinh(x) + 1, torch.randn(2), strict=True)
        self.assertEqual(failure.name, "NotSupported")
        self.assertIn("strict: 1 of 2 nodes are left; the first is 'sinh' (aten.sinh.default) at torch_compile.py:",
                      failure.text)

    def test_other_devices_are_refused_by_name(self):
        failure = self.refusal(lambda x: x + 1, torch.empty(2, device="meta"))
        self.assertEqual(failure.name, "NotSupported")
        self.assertIn("input 0 of the graph is on meta: expected cpu", failure.text)

    def test_options_are_checked(self):
        self.assertIn("found 'weigths'", self.refusal(lambda x: x + 1, torch.ones(2), weigths=1).text)
        self.assertEqual(self.refusal(lambda x: x + 1, torch.ones(2), compile_specs={"fold": "7"}).name,
                         "InvalidArgument")

    def test_constants_of_the_model(self):
        def function(x):
            return torch.sin(x * torch.tensor([1.0, 2.0])).cumsum(0) + torch.tensor([3.0, 4.0]).cos()

        x = torch.randn(3, 2)
        for rest in ("eager", "inductor"):
            torch._dynamo.reset()
            with torch.no_grad():
                torch.testing.assert_close(compiled(function, rest=rest)(x), function(x))

    def test_a_mode_is_passed_on(self):
        with torch.no_grad():
            function = compiled(lambda x: torch.sinh(x) + 1, rest="inductor", mode="reduce-overhead")
            torch.testing.assert_close(function(torch.ones(2)), torch.sinh(torch.ones(2)) + 1)

    def test_lazy_negation_and_conjugation(self):
        x, z = torch.randn(3), torch.randn(3, dtype=torch.complex64)
        with torch.no_grad():
            function = compiled(torch.nn.ReLU())
            for each in (x, torch._neg_view(x), z.conj().imag, z[:1].conj().imag):
                torch.testing.assert_close(function(each), torch.relu(each))
            layer = nn.Linear(3, 3)
            layer.weight = nn.Parameter(torch._neg_view(torch.randn(3, 3)))
            for freeze in (False, True):
                torch._dynamo.reset()
                torch.testing.assert_close(compiled(layer, freeze=freeze)(x), layer(x))

    def test_every_size_may_change(self):
        shapes = (2, 3, 16), (4, 5, 16), (1, 7, 16), (2, 9, 16)  # The last one is above the bound.
        graphs = self.check("", layers.TransformerBlock(16, 2).eval(), [(torch.randn(shape),) for shape in shapes],
                            dynamic=True, largest_size=8)
        self.assertGreater(len(graphs[0].partitions), 0)
        self.assertGreater(counters["tenon"]["runs above largest_size"], 0)
        table.pop("")

    def test_weights_in_files_of_the_backend(self):
        for weights in ("named", "external"):
            torch._dynamo.reset()
            self.check("", layers.Mlp(8, 8, 4).eval(), [(torch.randn(2, 8),)], freeze=True,
                       compile_specs={"weights": weights})
        table.pop("")

    def test_a_size_without_a_bound_is_left(self):
        graphs = self.check("", torch.nn.ReLU(), [(torch.randn(n, 4),) for n in (2, 3, 5)])
        self.assertEqual([len(graph.partitions) for graph in graphs], [1, 0])
        table.pop("")

    def test_a_size_above_the_bound_is_run_by_eager(self):
        self.check("", torch.nn.ReLU(), [(torch.randn(n, 4),) for n in (2, 3, 9)], largest_size=8)
        self.assertEqual(counters["tenon"]["runs above largest_size"], 1)
        table.pop("")

    def test_threads(self):
        model = layers.Mlp(16, 32, 4).eval()
        inputs = [torch.randn(2, 16) for _ in range(8)]
        with torch.no_grad():
            function = compiled(model)
            function(inputs[0])
            expected = [model(x) for x in inputs]
        wrong = []

        def run(number):
            with torch.no_grad():
                for _ in range(200):
                    if not torch.allclose(function(inputs[number]), expected[number], rtol=RTOL, atol=ATOL):
                        wrong.append(number)

        threads = [threading.Thread(target=run, args=(i,)) for i in range(8)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        self.assertEqual(wrong, [])
        self.assertEqual(counters["tenon"]["compiled"], 1)


LISTED = """
import sys, torch
sys.path[:0] = sys.argv[1:3]
names = torch._dynamo.list_backends(None)
assert "tenon" in names and "GraphBackend" in names, names
assert not [name for name in sys.modules if name.startswith("tenon")]
with torch.no_grad():
    y = torch.compile(torch.nn.ReLU(), backend="GraphBackend", mode="max-autotune")(torch.tensor([-1.0, 2.0]))
assert y.tolist() == [0.0, 2.0], y
from torch._dynamo.utils import counters
assert counters["tenon"]["compiled"] == 1
"""


class Installed(unittest.TestCase):
    def test_dynamo_lists_the_backends_of_packages_without_an_import(self):
        text = (pathlib.Path(__file__).resolve().parents[3] / "examples/python/pyproject.toml").read_text()
        lines = text[text.index("[project.entry-points.torch_dynamo_backends]"):].split("\n\n")[0].splitlines()[1:]
        with tempfile.TemporaryDirectory(prefix="tenon-test-") as folder:
            info = pathlib.Path(folder, "tenon_ml-1.dist-info")
            info.mkdir()
            (info / "METADATA").write_text("Metadata-Version: 2.1\nName: tenon-ml\nVersion: 1\n")
            (info / "entry_points.txt").write_text("\n".join(["[torch_dynamo_backends]", *lines]).replace('"', ""))
            subprocess.run([sys.executable, "-c", LISTED, str(BUILD / "examples/python"), folder], check=True,
                           env={**os.environ, "TENON_PLUGIN_FILES": PLUGIN})


SECOND = """
import sys, torch
sys.path.insert(0, sys.argv[1])
import tenon.dynamo
from torch._dynamo.utils import counters
torch.manual_seed(5)
model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2)).eval()
with torch.no_grad():
    torch.compile(model, backend=tenon.dynamo.tenon,
                  options={"backend": "GraphBackend", "plugins": [sys.argv[2]], "store": sys.argv[3],
                           "compile_specs": {"fold": sys.argv[4]}})(torch.ones(2, 8))
print(counters["tenon"]["compiled"], counters["tenon"]["found in the store"])
"""


class Processes(Case):
    def test_a_second_process_compiles_nothing(self):
        with tempfile.TemporaryDirectory(prefix="tenon-test-") as folder:
            def run(fold):
                return subprocess.run([sys.executable, "-c", SECOND, str(BUILD / "examples/python"), PLUGIN, folder, fold],
                                      check=True, capture_output=True, text=True).stdout.split()
            self.assertEqual(run("1"), ["1", "0"])
            self.assertEqual(run("1"), ["0", "1"])
            self.assertEqual(run("0"), ["1", "0"])  # Other compile specs.


class Explained(Case):
    def test_the_report_has_each_node_and_why(self):
        with torch.no_grad():
            report = tenon.dynamo.explain(Branches().eval(), options=options())(torch.ones(3, 8))
        text, values = str(report), json.loads(report.json())
        self.assertIn("1 graph breaks", text)
        self.assertIn("break: ", text)
        self.assertEqual(len(values["graphs"]), 2)
        picture = report._repr_svg_()
        self.assertEqual(picture.count("<rect"), sum(len(graph["nodes"]) for graph in values["graphs"]))
        self.assertIn(">break: ", picture)
        sine = tenon.dynamo.explain(lambda x: torch.sinh(x) + 1, options=options())(torch.ones(3))
        self.assertIn("left: 1 x aten.sinh.default: the backend does not have this operator (torch_compile.py:", str(sine))

    def test_the_report_says_what_a_node_needs(self):
        def left(model, *call, **more):
            torch._dynamo.reset()
            with torch.no_grad():
                [graph] = tenon.dynamo.explain(model, options=options(**more))(*call).graphs
            return graph.left

        found = left(layers.Mlp(8, 4).double().eval(), torch.randn(2, 8).double())
        self.assertTrue(found)
        for node in found:
            self.assertIn(", Bool for conditions), found Double", node.reason)
            self.assertTrue(node.needs.startswith("float32") or "; with float32: " in node.reason, node)
        x = torch.randn(3, 4)
        torch._dynamo.mark_dynamic(x, 0)
        [node] = left(nn.ReLU(), x)
        self.assertRegex(node.reason, r"size 0 \(s\d+\) has no bound")
        self.assertTrue(node.needs.startswith("a bound for its sizes (options['largest_size'],"), node)
        self.assertEqual(left(nn.ReLU(), x, largest_size=8), [])
        [node] = left(torch.sinh, torch.randn(3))
        self.assertEqual((node.reason, node.needs, node.backends), ("the backend does not have this operator", "", ()))

    def test_the_report_names_other_backends_that_take_a_node(self):
        class Half:
            def partition(self, program, specs):
                return {}, {0: "all"}, {}

        with torch.no_grad(), unittest.mock.patch.object(
                _reasons, "_others", return_value=[("TakesAll", Half())]):
            report = tenon.dynamo.explain(torch.sinh, options=options())(torch.ones(3))
        self.assertIn("does not have this operator; TakesAll would take it", str(report))
        self.assertEqual(json.loads(report.json())["graphs"][0]["nodes"][0]["backends"], ["TakesAll"])

    def test_the_mode_explain_compiles_nothing(self):
        def function(x):
            return torch.sinh(torch.relu(x)) + 1

        x, stream = torch.randn(3), io.StringIO()
        with torch.no_grad(), contextlib.redirect_stderr(stream):
            torch.testing.assert_close(compiled(function, mode="explain")(x), function(x))
        self.assertEqual(counters["tenon"]["compiled"], 0)
        self.assertIn("tenon: 2 of 3 nodes in 2 partitions of GraphBackend", stream.getvalue())
        self.assertIn("partition 0: 1 nodes, not compiled", stream.getvalue())
        self.assertIn("left: 1 x aten.sinh.default: the backend does not have this operator", stream.getvalue())

    def test_a_model_of_which_dynamo_compiles_nothing_warns_at_once(self):
        _compiler._warned.clear()
        with torch.no_grad(), warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            for _ in range(2):
                torch._dynamo.reset()
                compiled(Experts().eval())(torch.randn(5, 8))
        [found] = [str(each.message) for each in seen if each.category is tenon.dynamo.FallbackWarning]
        self.assertRegex(found, r"compiled nothing of \d functions of this process")

    def test_functions_that_dynamo_left_and_breaks_are_named(self):
        with torch.no_grad():
            report = tenon.dynamo.explain(Experts().eval(), options=options())(torch.randn(5, 8))
            self.assertEqual(len(report.graphs), 0)
            self.assertIn("not compiled: Dynamic shape operator: Operator `aten.nonzero.default`'s output shape", str(report))
            self.assertIn(">not compiled: ", report._repr_svg_())
            self.assertEqual(json.loads(report.json())["skipped"], report.skipped)
            recurrent = nn.LSTM(8, 8, batch_first=True)
            report = tenon.dynamo.explain(lambda x: recurrent(x)[0] + 1, options=options())(torch.randn(2, 5, 8))
            self.assertIn("Dynamo does not support RNN, GRU, or LSTM", " ".join(report.breaks))

    def test_gradients_are_as_at_the_call(self):
        model, x = nn.Linear(8, 4), torch.randn(2, 8)
        explained = tenon.dynamo.explain(model, options=options())
        [graph] = explained(x).graphs
        self.assertEqual([(node.operator, node.reason) for node in graph.nodes],
                         [("linear", "gradients are wanted, which plugins do not compute")])
        self.assertTrue(torch.is_grad_enabled())
        with torch.no_grad():
            [graph] = explained(x).graphs
        self.assertEqual(graph.left, [])

    def test_nothing_taken_warns_once(self):
        cases = {r"runs a whole graph: \d of \d nodes are left; the first is": (Doubles(), torch.randn(2, 8)),
                 r"compiled nothing of \d functions of this process": (Experts().eval(), torch.randn(5, 8))}
        for text, (model, x) in cases.items():
            _compiler._warned.clear()
            counters.clear()
            with torch.no_grad(), warnings.catch_warnings(record=True) as seen:
                warnings.simplefilter("always")
                compiled(model)(x)
                for _ in range(2):  # Dynamo calls no backend for a function that it leaves: the next graph says it.
                    torch._dynamo.reset()
                    compiled(nn.ReLU())(x)
                    torch._dynamo.reset()
                    compiled(model)(x)
            found = [str(each.message) for each in seen if each.category is tenon.dynamo.FallbackWarning]
            self.assertEqual(len(found), 1, found)
            self.assertRegex(found[0], text)

    def test_a_profile_shows_the_partitions(self):
        function, x = compiled(layers.Mlp(8, 4).eval()), torch.randn(2, 8)
        with torch.no_grad():
            function(x)
            with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
                function(x)
        names = [each.key for each in profile.key_averages()]
        self.assertTrue(any(each.startswith("tenon: GraphBackend partition 0: aten.") for each in names), names)


if __name__ == "__main__":
    outcome = unittest.main(argv=[sys.argv[0], *sys.argv[2:]], exit=False).result
    if table:
        (BUILD / "torch_compile.json").write_text(json.dumps(table, indent=1))
    sys.exit(not outcome.wasSuccessful())
