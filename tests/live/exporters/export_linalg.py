# SPDX-License-Identifier: MIT
"""Exports the conformance kit's cases of LinalgKernels: portable programs of ExecuTorch that call its operators.

usage: build/live/venv/bin/python tests/live/exporters/export_linalg.py tests/conformance/cases/linalg_kernels
"""
import json
import pathlib
import sys

import numpy
import torch
from executorch.exir import EdgeCompileConfig, to_edge


class Triangular(torch.nn.Module):
    """Systems from both sides. PyTorch's results have their columns behind one another in memory."""

    def forward(self, a, b, c):
        return (torch.linalg.solve_triangular(a, b, upper=False),
                torch.linalg.solve_triangular(a, b, upper=True, unitriangular=True),
                torch.linalg.solve_triangular(a, c, upper=True, left=False))


class Cholesky(torch.nn.Module):
    """By lower and by upper factors."""

    def forward(self, lower, upper, b):
        return (torch.cholesky_solve(b, lower), torch.cholesky_solve(b, upper, upper=True),
                torch.cholesky_inverse(lower), torch.cholesky_inverse(upper, upper=True))


def export(folder, model, inputs, description):
    folder.mkdir(parents=True, exist_ok=True)
    exported = torch.export.export(model, inputs)
    # The operators are not in the core set, which the check asks for.
    program = to_edge(exported, compile_config=EdgeCompileConfig(_check_ir_validity=False)).to_executorch()
    (folder / "model.pte").write_bytes(program.buffer)
    names = {"in": [], "expected": []}
    for kind, tensors in (("in", inputs), ("expected", model(*inputs))):
        for number, tensor in enumerate(tensors):
            names[kind].append(f"{kind}{number}.npy")
            numpy.save(folder / names[kind][-1], tensor.contiguous().numpy())
    case = {
        "description": description,
        "runs": [{"inputs": names["in"], "expected": names["expected"]}],
        "made_by": {"program": "tests/live/exporters/export_linalg.py", "torch": torch.__version__},
    }
    (folder / "case.json").write_text(json.dumps(case, indent=2) + "\n")


def main():
    place = pathlib.Path(sys.argv[1])
    torch.manual_seed(5)
    a = torch.randn(2, 5, 5) + 4 * torch.eye(5)
    export(place / "triangular", Triangular(), (a, torch.randn(2, 5, 3), torch.randn(2, 3, 5)),
           "triangular systems in batches, from both sides")
    square = torch.randn(3, 4, 4, dtype=torch.float64)
    lower = torch.linalg.cholesky(square @ square.mT + 4 * torch.eye(4, dtype=torch.float64))
    export(place / "cholesky", Cholesky(), (lower, lower.mT.contiguous(), torch.randn(3, 4, 2, dtype=torch.float64)),
           "solutions and inverses by Cholesky factors, of Double")


if __name__ == "__main__":
    main()
