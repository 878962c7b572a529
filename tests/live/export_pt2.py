# SPDX-License-Identifier: MIT
"""Exports small programs as `.pt2` archives: the fixtures of the reader in C++ (docs/pt2.md).

Writes OUT/NAME/ for each: model.pt2, and a case (docs/cases.md) with inputs and what eager PyTorch
computes from them. What says where the exporter ran (stack traces) is left out of the archives. Run
with torch 2.15; nothing else is needed.

    python tests/live/export_pt2.py tests/fixtures/pt2 [NAME]...
"""

import argparse
import copy
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from case_folder import save_tensors, write_case
from torch import Tensor, nn
from torch.export import Dim, ExportedProgram, export

import pt2_models as models


@dataclass
class Fixture:
    """A module, and the runs of its case; the first run's inputs are those of the export."""

    module: nn.Module
    runs: Sequence[tuple[Tensor, ...]]
    dynamic_shapes: Any = None
    decomposed: bool = False
    methods: dict[str, nn.Module] = field(default_factory=dict)


def strip(program: ExportedProgram) -> ExportedProgram:
    """Leaves out what differs from machine to machine, and the history of each node."""
    for module in program.graph_module.modules():
        if isinstance(module, torch.fx.GraphModule):
            for node in module.graph.nodes:
                for key in ("stack_trace", "from_node", "custom"):
                    node.meta.pop(key, None)
    return program


def export_one(fixture: Fixture, module: nn.Module) -> ExportedProgram:
    program = export(copy.deepcopy(module), fixture.runs[0], dynamic_shapes=fixture.dynamic_shapes)
    if fixture.decomposed:
        program = program.run_decompositions()
    program._example_inputs = None  # pickled: only Python reads it
    return strip(program)


def flat(outputs: Any) -> list[Tensor]:
    found = torch.utils._pytree.tree_leaves(outputs)
    return [leaf for leaf in found if isinstance(leaf, Tensor)]


def write(folder: Path, fixture: Fixture) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    program = export_one(fixture, fixture.module)
    torch.export.save(program, folder / "model.pt2")
    module = copy.deepcopy(fixture.module)
    runs = []
    for number, inputs in enumerate(fixture.runs):
        place = f"run{number}_" if number else ""
        names = save_tensors(inputs, f"{place}input", folder)
        with torch.no_grad():
            outputs = flat(module(*[value.clone() for value in inputs]))
        runs.append({"inputs": names, "expected": save_tensors(outputs, f"{place}expected", folder)})
    if len(runs) > 1:
        write_case(folder, runs)


def fixtures() -> dict[str, Fixture]:
    batch = {"x": {0: Dim("batch", min=1, max=16)}}
    image = [torch.randn(n, 3, 16, 16) for n in (3, 1, 6)]
    mlp, vision = models.Mlp().eval(), models.Vision().eval()
    return {
        "mlp": Fixture(mlp, [(torch.randn(2, 16),)]),
        "mlp_decomposed": Fixture(mlp, [(torch.randn(2, 16),)], decomposed=True),
        "vision": Fixture(vision, [(x,) for x in image], batch),
        "vision_decomposed": Fixture(vision, [(x,) for x in image], batch, decomposed=True),
        "stateful": Fixture(
            models.Stateful(), [(torch.randn(2, 4),) for _ in range(3)], decomposed=True
        ),
        "shared": Fixture(models.Shared(), [(torch.randn(3, 6),)], decomposed=True),
        "symbolic": Fixture(
            models.Symbolic(),
            [(torch.randn(3, 4), torch.randn(5, 4)), (torch.randn(2, 4), torch.randn(9, 4))],
            {
                "x": {0: Dim("rows", min=2, max=12)},
                "y": {0: Dim("more", min=2, max=20)},
            },
            decomposed=True,
        ),
        "dtypes": Fixture(models.Dtypes(), [(torch.randn(2, 3),)], decomposed=True),
        "arguments": Fixture(
            models.Arguments(),
            [(torch.randn(2, 4, 6), torch.tensor([1, 0, 3]))],
            decomposed=True,
        ),
        "layouts": Fixture(
            models.Layouts().eval(),
            [(
                torch.randn(2, 3, 5, 6).to(memory_format=torch.channels_last),
                torch.randn(2, 5, 6, 3),
            )],
            decomposed=True,
        ),
        "mutated_input": Fixture(
            models.MutatedInput(), [(torch.randn(2, 3), torch.randn(2, 3))], decomposed=True
        ),
        "in_place": Fixture(models.Stateful(), [(torch.randn(2, 4),)]),
        "control_flow": Fixture(models.ControlFlow(), [(torch.randn(2, 3),)]),
    }


def write_methods(folder: Path) -> None:
    """Two programs in one archive: two methods that share a weight by name, not by memory."""
    folder.mkdir(parents=True, exist_ok=True)
    x = torch.randn(2, 4)
    programs = {}
    for name, module in (("encode", models.Half(4, 3)), ("decode", models.Half(4, 5))):
        programs[name] = export_one(Fixture(module, [(x,)], decomposed=True), module)
    torch.export.pt2_archive._package.package_pt2(
        str(folder / "model.pt2"), exported_programs=programs
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("names", nargs="*")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    torch.manual_seed(20)
    for name, fixture in fixtures().items():
        if not args.names or name in args.names:
            write(args.out / name, fixture)
            print(name)
    if not args.names or "methods" in args.names:
        write_methods(args.out / "methods")
        print("methods")


if __name__ == "__main__":
    main()
