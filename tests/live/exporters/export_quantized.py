# SPDX-License-Identifier: MIT
"""Exports the case of the plugin `quantized_kernels`: each of its operators, and a buffer that a method updates.

    python tests/live/exporters/export_quantized.py BUILD tests/conformance/cases/quantized_kernels/operators

BUILD is a build with the Python package and GraphBackend, which takes none of the nodes.
"""

import copy
import sys
from pathlib import Path

build, out = map(Path, sys.argv[1:3])
sys.path[:0] = [str(build / "examples/python"), str(Path(__file__).resolve().parents[1])]

import torch
import torch.ao.quantization.fx._decomposed  # noqa: F401  Defines the operators.
from torch import Tensor, nn

import tenon
from exporters.case_folder import save_tensors, write_case

ops = torch.ops.quantized_decomposed


class Operators(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("last", torch.zeros(3, 5))
        self.register_buffer("scales", torch.tensor([0.03, 0.5, 0.007]))
        self.register_buffer("zeros", torch.tensor([-3, 0, 7]))
        self.register_buffer("scale", torch.tensor([0.02]))
        self.register_buffer("zero", torch.tensor([5]))

    def forward(self, x: Tensor) -> tuple[Tensor, ...]:
        char = ops.quantize_per_tensor(x, 0.03, -3, -128, 127, torch.int8)
        rows = ops.quantize_per_channel(x, self.scales, self.zeros, 0, -128, 127, torch.int8)
        byte = ops.quantize_per_tensor.tensor(x, self.scale, self.zero, 0, 255, torch.uint8)
        short = ops.quantize_per_tensor(x, 0.001, -3, -32768, 32767, torch.int16)
        last = ops.quantize_per_tensor(self.last, 0.03, -3, -128, 127, torch.int8)
        self.last.copy_(x)
        return (char, rows, byte, short, last,
                ops.dequantize_per_tensor(char, 0.03, -3, -128, 127, torch.int8),
                ops.dequantize_per_channel(rows, self.scales, self.zeros, 0, -128, 127, torch.int8),
                ops.dequantize_per_channel(rows, self.scales, None, 0, -128, 127, torch.int8),
                ops.dequantize_per_tensor.tensor(byte, self.scale, self.zero, 0, 255, torch.uint8),
                ops.dequantize_per_tensor(short, 0.001, -3, -32768, 32767, torch.int16))


def main() -> None:
    torch.manual_seed(0)
    inputs = [torch.randn(3, 5) * 3 for _ in range(2)]
    inputs[0][0, 0], inputs[0][1, 1], inputs[0][2, 2] = 1e9, -1e9, 0.5 * 0.03  # Both ends, and a tie.
    out.mkdir(parents=True, exist_ok=True)
    model = Operators()
    with torch.no_grad():
        program = torch.export.export(copy.deepcopy(model), (inputs[0],)).run_decompositions({})
        compiled = tenon.compile(program, (), backend="GraphBackend", allow_missing_kernels=True,
                                 plugins=build / "examples/backends/graph_backend/graph_backend.so")
        runs = [{"inputs": save_tensors([x], f"in{number}", out), "expected": save_tensors(model(x), f"out{number}", out)}
                for number, x in enumerate(inputs)]
    compiled.save(out / "model.pte")
    write_case(out, runs, description="Quantize and dequantize of each kind, and of what the run before left in a buffer.",
               made_by={"script": "tests/live/exporters/export_quantized.py", "torch": torch.__version__})


if __name__ == "__main__":
    main()
