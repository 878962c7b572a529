# SPDX-License-Identifier: MIT
"""The extension behind tenon.executorch, without torch: aot_test.py BUILD SOURCE."""

import array
import os
import pathlib
import sys
import tempfile
import unittest
import unittest.mock

from tenon import _aot
from tenon._error import Error

BUILD, SOURCE = map(pathlib.Path, sys.argv[1:3])
PLUGIN = str(BUILD / "examples/backends/graph_backend/graph_backend.so")
FLOAT, PARAMETER = 6, 2
NONE, VALUE, VALUES, BOOL, INT, DOUBLE, STRING, BOOLS, INTS = range(9)
SIZE = "Symbol('s0', positive=True, integer=True)"
WEIGHT = array.array("f", range(16))


def relu_of_linear(size=SIZE, ranges=None):
    """relu(linear(x, w)) and a hyperbolic sine of it, as tenon.executorch describes it."""
    graph = _aot.ProgramBuilder("forward", ranges or {"s0": (1, 8)})
    tensor = FLOAT, [size, 4], [0, 1]
    x = graph.user_input("x", tensor)
    address, count = WEIGHT.buffer_info()
    w = graph.stored(PARAMETER, "p_w", "fc.weight", (FLOAT, [4, 4], [0, 1]), address,
                     count * WEIGHT.itemsize, WEIGHT)
    value = x
    for handle, (name, target, arguments) in enumerate([
            ("linear", "aten.linear.default", [("input", VALUE, x), ("weight", VALUE, w)]),
            ("relu", "aten.relu.default", []), ("sinh", "aten.sinh.default", [])], 7):
        made = graph.node_output(name, tensor)
        graph.add_node(name, target, arguments or [("self", VALUE, value)], [made], "fc", handle)
        value = made
    graph.user_output(value)
    return graph


def small_graph(*arguments):
    graph = _aot.ProgramBuilder("forward", {})
    x = graph.user_input("x", (FLOAT, [2], [0]))
    y = graph.node_output("y", (FLOAT, [2], [0]))
    graph.add_node("y", "aten.relu.default", [("self", VALUE, x), *arguments], [y], "", 0)
    graph.user_output(y)
    return graph.build()


class Programs(unittest.TestCase):
    def test_the_description_has_what_was_given(self):
        text = str(relu_of_linear().build())
        self.assertIn("size s0: 1 to 8\ninput x: Float[s0, 4]", text)
        self.assertIn('parameter p_w "fc.weight": Float[4, 4]', text)
        self.assertIn("aten.linear.default(input=x, weight=p_w)  # fc", text)

    def test_arguments_of_every_kind(self):
        for kind, value in ((NONE, None), (BOOL, True), (INT, -3), (DOUBLE, 0.5), (STRING, "mean"),
                            (BOOLS, [True, False]), (INTS, [1, 2]), (9, [0.5, 1.0]), (10, 6), (11, 0),
                            (12, 2), (13, (1, 0)), (VALUES, [0, None])):
            self.assertIn("other=", str(small_graph(("other", kind, value))), kind)

    def refusal(self, call, *arguments):
        with self.assertRaises(Error) as caught:
            call(*arguments)
        return caught.exception

    def test_mistakes_are_errors_that_name_the_place(self):
        failure = self.refusal(small_graph, ("other", 77, None))
        self.assertEqual((failure.number, failure.name), (0x12, "InvalidArgument"))
        self.assertIn("77", failure.text)
        failure = self.refusal(relu_of_linear, "Symbol('s0'")
        self.assertIn("a size of 'x'", failure.text)
        failure = self.refusal(relu_of_linear, SIZE, {"s0": (9, 3)})
        self.assertIn("exclude each other", failure.text)
        failure = self.refusal(small_graph, ("other", VALUE, 5))
        self.assertIn("argument 'other' of node 'y' reads value 5 of 2", failure.text)
        with self.assertRaises((TypeError, RuntimeError)):
            small_graph(("other", INT, "three"))


class Backends(unittest.TestCase):
    def setUp(self):
        self.backend = _aot.Backend("GraphBackend", [PLUGIN], "")

    def test_nodes_are_chosen_and_compiled(self):
        program = relu_of_linear().build()
        specs, nodes, values = self.backend.partition(program, [("fold", b"0")])
        self.assertEqual(nodes, {0: "tag0", 1: "tag0"})
        self.assertEqual(values, {1: "tag0"})
        self.assertEqual(specs, {"tag0": [("fold", b"0")]})
        self.assertIn("aten.linear.default", self.backend.ops_to_not_decompose(program))

    def test_an_operator_that_the_plugin_lacks_is_named(self):
        with self.assertRaises(Error) as caught:
            self.backend.preprocess([(relu_of_linear().build(), [])])
        self.assertEqual(caught.exception.name, "NotSupported")
        self.assertIn("aten.sinh.default", caught.exception.text)

    def test_results_have_bytes_handles_and_named_data(self):
        def build():
            graph = _aot.ProgramBuilder("forward", {})
            x = graph.user_input("x", (FLOAT, [2, 4], [0, 1]))
            w = graph.stored(PARAMETER, "p_w", "fc.weight", (FLOAT, [4, 4], [0, 1]),
                             WEIGHT.buffer_info()[0], 64, WEIGHT)
            y = graph.node_output("y", (FLOAT, [2, 4], [0, 1]))
            graph.add_node("y", "aten.linear.default",
                           [("input", VALUE, x), ("weight", VALUE, w)], [y], "", 42)
            graph.user_output(y)
            return graph.build()

        specs = [("weights", b"external"), ("external_tag", b"w")]
        (blob, handles, data, info), second = self.backend.preprocess([(build(), specs)] * 2)
        self.assertTrue(blob)
        self.assertEqual(set(handles.values()), {(42,)})
        [(key, content, alignment, tag, layout)] = data
        self.assertEqual((len(content), tag, layout), (64, "w", (FLOAT, [4, 4], [0, 1])))
        self.assertGreaterEqual(alignment, 1)
        self.assertIn("fc.weight", key)
        self.assertIn("1 constant", info)
        self.assertEqual(second, (blob, handles, data, info))

    def test_publishers_that_the_environment_names_decide_what_is_loaded(self):
        with tempfile.TemporaryDirectory() as folder:
            publishers = pathlib.Path(folder).resolve() / "publishers.json"
            publishers.write_text('{"publishers_version": 1, "publishers": []}')
            publishers.chmod(0o644)
            with unittest.mock.patch.dict(os.environ, TENON_PUBLISHERS=str(publishers)), self.assertRaises(Error) as caught:
                _aot.Backend("GraphBackend", [PLUGIN], "")
        self.assertEqual(caught.exception.name, "AccessFailed")
        self.assertIn(f"its signature {PLUGIN}.minisig is not there", caught.exception.text)

    def test_a_backend_that_is_not_there(self):
        with self.assertRaises(Error) as caught:
            _aot.Backend("Nothing", [PLUGIN], "")
        self.assertIn("Nothing", caught.exception.text)
        with self.assertRaises(Error):
            _aot.Backend("GraphBackend", [str(SOURCE / "README.md")], "")


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
