# SPDX-License-Identifier: MIT
"""Exports small programs as `.pt2` archives: the fixtures of the reader in C++ (docs/aot/pt2.md).

Writes OUT/NAME/ for each: model.pt2, and a case (docs/tools/cases.md) with inputs and what eager PyTorch
computes from them. What says where the exporter ran (stack traces) is left out of the archives. Run
with torch 2.15; nothing else is needed.

    python tests/live/exporters/export_pt2.py tests/fixtures/pt2 [NAME]...
"""

import argparse
import copy
import sys
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.export import Dim, ExportedProgram, export

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # tests/live: imports name its folders.
from exporters.case_folder import save_tensors, write_case
from models import pt2_models as models

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "fixtures/graph_backend"))
import special_values


@dataclass
class Fixture:
    """A module, and the runs of its case; the first run has the export's inputs."""

    module: nn.Module
    runs: Sequence[tuple[Tensor | int, ...]]
    dynamic_shapes: Any = None
    decomposed: bool = False


def strip(program: ExportedProgram) -> ExportedProgram:
    """Leaves out what differs from machine to machine, and the history of each node."""
    for module in program.graph_module.modules():
        if isinstance(module, torch.fx.GraphModule):
            for node in module.graph.nodes:
                for key in ("stack_trace", "from_node", "custom"):
                    node.meta.pop(key, None)
    return program


def export_one(fixture: Fixture, module: nn.Module) -> ExportedProgram:
    program = export(module, fixture.runs[0], dynamic_shapes=fixture.dynamic_shapes)
    if fixture.decomposed:
        program = program.run_decompositions()
    program._example_inputs = None  # pickled: only Python reads it
    return strip(program)


def save(values: Any, prefix: str, folder: Path) -> list[str | int]:
    """Saves tensors as files, and gives the entries of a case for them and for numbers."""
    leaves = torch.utils._pytree.tree_leaves(values)
    names = iter(save_tensors([v for v in leaves if isinstance(v, Tensor)], prefix, folder))
    return [next(names) if isinstance(value, Tensor) else value for value in leaves]


def write(folder: Path, fixture: Fixture) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    torch.export.save(export_one(fixture, fixture.module), folder / "model.pt2")
    module = copy.deepcopy(fixture.module)
    runs = []
    for number, inputs in enumerate(fixture.runs):
        place = f"run{number}_" if number else ""
        run = {"inputs": save(inputs, f"{place}input", folder)}
        with torch.no_grad():
            outputs = module(*copy.deepcopy(inputs))
        runs.append(run | {"expected": save(outputs, f"{place}expected", folder)})
    if len(runs) > 1:
        write_case(folder, runs)


def images() -> list[tuple[Tensor]]:
    return [(torch.randn(count, 3, 16, 16),) for count in (3, 1, 6)]


def rows(count: int, *shape: int) -> list[tuple[Tensor]]:
    return [(torch.randn(*shape),) for _ in range(count)]


def tokens(*counts: int) -> list[tuple[Tensor]]:
    return [(torch.randn(count, 16),) for count in counts]


def special() -> Fixture:
    module = models.SpecialValues(*special_values.read_calls())
    return Fixture(module, [(module.example,)])


BATCH = {"x": {0: Dim("batch", min=1, max=16)}}
TOKENS = {"x": {0: Dim("tokens", min=1, max=24)}}
ROWS = {"x": {0: Dim("rows", min=2, max=12)}, "y": {0: Dim("more", min=2, max=20)}}

# Made one by one, each with the same seed: the others do not change when one does.
FIXTURES: dict[str, Callable[[], Fixture]] = {
    "mlp": lambda: Fixture(models.Mlp().eval(), rows(1, 2, 16)),
    "mlp_decomposed": lambda: Fixture(models.Mlp().eval(), rows(1, 2, 16), decomposed=True),
    "vision": lambda: Fixture(models.Vision().eval(), images(), BATCH),
    "vision_decomposed": lambda: Fixture(models.Vision().eval(), images(), BATCH, decomposed=True),
    "transformer": lambda: Fixture(models.Transformer().eval(), tokens(7)),
    "transformer_dynamic": lambda: Fixture(
        models.Transformer().eval(), tokens(5, 1, 24), TOKENS, decomposed=True
    ),
    "stateful": lambda: Fixture(models.Stateful(), rows(3, 2, 4), decomposed=True),
    "shared": lambda: Fixture(models.Shared(), rows(1, 3, 6), decomposed=True),
    "symbolic": lambda: Fixture(
        models.Symbolic(),
        [(torch.randn(3, 4), torch.randn(5, 4)), (torch.randn(2, 4), torch.randn(9, 4))],
        ROWS,
        decomposed=True,
    ),
    "count": lambda: Fixture(
        models.Count(),
        [(torch.randn(4, 6), 3), (torch.randn(4, 9), 5)],
        {"x": {1: Dim("width", min=2, max=9)}, "count": Dim.DYNAMIC},
        decomposed=True,
    ),
    "unbacked": lambda: Fixture(
        models.Unbacked(), [(torch.randn(4, 6), torch.tensor(3))], decomposed=True
    ),
    "dtypes": lambda: Fixture(models.Dtypes(), rows(1, 2, 3), decomposed=True),
    "arguments": lambda: Fixture(
        models.Arguments(), [(torch.randn(2, 4, 6), torch.tensor([1, 0, 3]))], decomposed=True
    ),
    "layouts": lambda: Fixture(
        models.Layouts().eval(),
        [(torch.randn(2, 3, 5, 6).to(memory_format=torch.channels_last),
          torch.randn(2, 5, 6, 3))],
        decomposed=True,
    ),
    "mutated_input": lambda: Fixture(
        models.MutatedInput(), [(torch.randn(2, 3), torch.randn(2, 3))], decomposed=True
    ),
    "in_place_results": lambda: Fixture(models.InPlace().eval(), images(), BATCH),
    "in_place": lambda: Fixture(models.Stateful(), rows(1, 2, 4)),
    "changed_results": lambda: Fixture(
        models.ChangesResults().eval(), [(torch.randn(2, 4), torch.randn(2, 4) > 0)]
    ),
    "special_values": special,
    "control_flow": lambda: Fixture(models.ControlFlow(), rows(1, 2, 3)),
}


def write_archive(folder: Path, modules: dict[str, torch.nn.Module], decomposed: bool) -> None:
    """Several programs in one archive, each a method with one input."""
    folder.mkdir(parents=True, exist_ok=True)
    x = torch.randn(2, 4)
    programs = {name: export_one(Fixture(module, [(x,)], decomposed=decomposed), module)
                for name, module in modules.items()}
    torch.export.pt2_archive._package.package_pt2(
        str(folder / "model.pt2"), exported_programs=programs
    )


# Two methods share a weight by name, not by memory.
ARCHIVES: dict[str, Callable[[Path], None]] = {
    "methods": lambda folder: write_archive(
        folder, {"encode": models.Half(4, 3), "decode": models.Half(4, 5)}, True
    ),
    "changed_inputs": lambda folder: write_archive(
        folder,
        {name: models.ChangesInput(change) for name, (_, change) in models.CHANGES.items()},
        False,
    ),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("names", nargs="*")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    for name in args.names or [*FIXTURES, *ARCHIVES]:
        torch.manual_seed(20)
        if name in ARCHIVES:
            ARCHIVES[name](args.out / name)
        else:
            write(args.out / name, FIXTURES[name]())
        print(name)


if __name__ == "__main__":
    main()
