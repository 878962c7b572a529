# SPDX-License-Identifier: MIT
"""The example with transformers: generate_text.py BUILD [TEST]..."""

import importlib.util
import io
import os
import pathlib
import sys
import unittest
from contextlib import redirect_stdout
from unittest import mock

BUILD = pathlib.Path(sys.argv[1]).resolve()
SOURCE = pathlib.Path(__file__).resolve().parents[3]
sys.path[:0] = [str(BUILD / "examples/python"), str(SOURCE / "examples/python/generate_text")]
for name in [name for name in os.environ if name.startswith("TENON_")]:
    del os.environ[name]

AOTI = str(BUILD / "reference_backends/cpu_aoti/cpu_aoti.so")
GRAPH = str(BUILD / "examples/backends/graph_backend/graph_backend.so")


@unittest.skipUnless(importlib.util.find_spec("transformers"), "transformers is not installed")
class GenerateText(unittest.TestCase):
    def setUp(self):
        import generate_text
        import torch

        torch._dynamo.reset()
        self.example = generate_text

    def test_a_plugin_gives_the_tokens_of_eager(self):
        from tenon.dynamo import _report

        prompt = self.example.torch.tensor(self.example.PROMPT)
        expected = self.example.generate(self.example.make_model(), prompt, 8)
        self.assertEqual(len(expected), len(self.example.PROMPT[0]) + 8)
        with _report.collected() as graphs:
            model = self.example.compile_forward(self.example.make_model(), "GraphBackend", [GRAPH])
            self.assertEqual(self.example.generate(model, prompt, 8), expected)
        taken = sum(len(graph.nodes) - len(graph.left) for graph in graphs)
        nodes = sum(len(graph.nodes) for graph in graphs)
        print(f"GraphBackend takes {taken} of {nodes} nodes in {len(graphs)} graphs")
        # The prompt's graph and a token's; all but what moves keys and values is the plugin's.
        self.assertEqual(len(graphs), 2)
        self.assertGreater(taken, nodes // 2)

    def test_the_command_prints_whether_the_tokens_are_equal(self):
        for backend, plugin, count in (("GraphBackend", GRAPH, 2), ("CpuAotiBackend", AOTI, 8)):
            self.example.torch._dynamo.reset()
            words = ["generate_text.py", "--backend", backend, "--plugin", plugin, "--tokens", str(count)]
            with mock.patch.object(sys, "argv", words), redirect_stdout(io.StringIO()) as shown:
                self.assertEqual(self.example.main(), 0)
            self.assertIn(f"{backend}: the tokens of eager PyTorch", shown.getvalue())


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]], verbosity=2)
