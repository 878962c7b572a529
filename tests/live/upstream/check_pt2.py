# SPDX-License-Identifier: MIT
"""Compares what the reader in C++ finds in `.pt2` archives with what PyTorch itself says of them.

Exports the models of models/cases.py, as they are where no operator changes its input and in Core ATen
operators, and takes the fixtures as well. Each archive is loaded by torch.export.load; its inputs,
nodes, arguments, values (element types, ranges of sizes, order of dimensions where that is not one
of views) and outputs must be those that `pt2-facts` prints, and the bytes of each weight the same.
Needs torch 2.15; takes two minutes.

    python tests/live/upstream/check_pt2.py --facts build/gcc/tests/live/upstream/pt2-facts [NAME]...
"""

import argparse
import hashlib
import json
import math
import operator
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind, OutputKind
from torch.export.pt2_archive._package import load_pt2

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # tests/live: imports name its folders.
from models import cases

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures/pt2"
ASSERTIONS = {"aten._assert_async.msg", "aten._assert_scalar.default",
              "aten._assert_tensor_metadata.default", "aten.sym_constrain_range.default",
              "aten.sym_constrain_range_for_size.default"}
# Numbers of c10, which torch shows in no table.
LAYOUTS = {torch.strided: 0}
MEMORY_FORMATS = {torch.contiguous_format: 0, torch.preserve_format: 1, torch.channels_last: 2,
                  torch.channels_last_3d: 3}
DEVICES = {"cpu": 1, "cuda": 2}
ORIGINS = {InputKind.USER_INPUT: 1, InputKind.PARAMETER: 2, InputKind.BUFFER: 3,
           InputKind.CONSTANT_TENSOR: 4}


def target_of(node: torch.fx.Node) -> str:
    target = node.target
    if isinstance(target, torch._ops.OpOverload):
        return str(target)
    return f"{target.__module__}.{target.__name__}"


def bounds(size: Any) -> list[int | None]:
    """The smallest and largest value that the ranges of a program give a size."""
    if not isinstance(size, torch.SymInt):
        return [int(size)] * 2
    found = size.node.shape_env.bound_sympy(size.node.expr)
    return [int(end) if end.is_Integer else None for end in (found.lower, found.upper)]


def digest(tensor: torch.Tensor) -> str:
    dense = tensor.detach().contiguous().reshape(-1)
    return hashlib.sha256(dense.view(torch.uint8).numpy().tobytes()).hexdigest()


def argument_of(value: Any) -> Any:
    """An argument as pt2-facts writes it."""
    if isinstance(value, torch.fx.Node):
        return {"value": value.name}
    if isinstance(value, torch.dtype):
        return {"dtype": str(value).removeprefix("torch.")}
    if isinstance(value, torch.layout):
        return {"layout": LAYOUTS[value]}
    if isinstance(value, torch.memory_format):
        return {"memory_format": MEMORY_FORMATS[value]}
    if isinstance(value, torch.device):
        return {"device": DEVICES[value.type]}
    if isinstance(value, (list, tuple)):
        return [argument_of(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return value


def arguments_of(node: torch.fx.Node) -> dict[str, Any]:
    if isinstance(node.target, torch._ops.OpOverload):
        names = [argument.name for argument in node.target._schema.arguments]
    else:
        names = ["a", "b"]
    given = dict(zip(names, node.args)) | dict(node.kwargs)
    return {name: argument_of(value) for name, value in given.items()}


def outputs_of(node: torch.fx.Node) -> list[tuple[str | None, Any]]:
    """Names and values of the outputs of a node; no name for an unused one."""
    found = node.meta.get("val")
    if found is None:
        return []
    if not isinstance(found, (list, tuple)):
        return [(node.name, found)]
    users = {user.args[1]: user.name for user in reversed(list(node.users))}
    return [(users.get(number), value) for number, value in enumerate(found)]


def only_for_assertions(program: ExportedProgram) -> set[torch.fx.Node]:
    """Nodes that only state what holds, and those whose values only such nodes read."""
    found: set[torch.fx.Node] = set()
    for node in reversed(program.graph.nodes):
        if node.op != "call_function":
            continue
        if target_of(node) in ASSERTIONS or (node.users and set(node.users) <= found):
            found.add(node)
    return found


class Comparison:
    """Collects what is different between one method's facts and PyTorch's program."""

    def __init__(self, facts: dict[str, Any], program: ExportedProgram) -> None:
        self.facts = facts
        self.program = program
        self.values = {value["name"]: value for value in facts["values"]}
        self.problems: list[str] = []
        self.compared = 0

    def same(self, what: str, found: Any, expected: Any) -> None:
        self.compared += 1
        if found != expected:
            self.problems.append(f"{what}: the reader says {found}, PyTorch {expected}")

    def value(self, name: str, expected: Any) -> None:
        found = self.values.get(name)
        if found is None:
            self.problems.append(f"{name}: the reader has no such value")
        elif isinstance(expected, torch.Tensor):
            self.same(f"{name} dtype", found["dtype"], str(expected.dtype).removeprefix("torch."))
            sizes = [bounds(size) for size in expected.shape]
            self.same(f"{name} sizes", found["sizes"], sizes)
            plain = list(range(expected.dim()))
            # Views are copies for the reader, so that what it says may be plainer.
            if expected.is_contiguous():
                self.same(f"{name} order", found["dim_order"], plain)
        elif isinstance(expected, (torch.SymInt, int)) and not isinstance(expected, bool):
            self.same(f"{name} range", found["int"], bounds(expected))

    def inputs(self) -> None:
        signature = self.program.graph_signature
        tensors = dict(self.program.state_dict) | dict(self.program.constants)
        nodes = {node.name: node for node in self.program.graph.nodes if node.op == "placeholder"}
        users = []
        for spec in signature.input_specs:
            name = spec.arg.name
            if spec.kind == InputKind.USER_INPUT:
                users.append(name)
            else:
                self.same(f"{name} fqn", self.values[name].get("fqn"), spec.target)
                self.same(f"{name} bytes", self.values[name].get("sha256"),
                          digest(tensors[spec.target]))
            self.same(f"{name} origin", self.values[name]["origin"], ORIGINS[spec.kind])
            self.value(name, nodes[name].meta["val"])
        self.same("inputs", self.facts["inputs"], users)

    def nodes(self) -> None:
        found = iter(self.facts["nodes"])
        left_out = only_for_assertions(self.program)
        for node in self.program.graph.nodes:
            if node.op != "call_function" or node.target is operator.getitem or node in left_out:
                continue
            target = target_of(node)
            other = next(found, {"target": None, "name": None, "arguments": {}, "outputs": []})
            self.same(f"{node.name} target", other["target"], target)
            self.same(f"{node.name} arguments", other["arguments"], arguments_of(node))
            outputs = outputs_of(node)
            self.same(f"{node.name} outputs", len(other["outputs"]), len(outputs))
            for name, (expected_name, expected) in zip(other["outputs"], outputs):
                if expected_name is not None:
                    self.same(f"{node.name} output", name, expected_name)
                self.value(name, expected)
        self.same("nodes too many", next(found, None), None)

    def outputs(self) -> None:
        targets = self.program.graph_signature.inputs_to_buffers
        by_fqn = {fqn: name for name, fqn in targets.items()}
        expected = []
        for spec in self.program.graph_signature.output_specs:
            target = spec.target
            if spec.kind == OutputKind.BUFFER_MUTATION:
                target = by_fqn[target]
            expected.append([spec.arg.name, target])
        self.same("outputs", self.facts["outputs"], expected)

    def run(self) -> list[str]:
        self.inputs()
        self.nodes()
        self.outputs()
        return self.problems


def compare(path: Path, facts: Path) -> tuple[int, list[str]]:
    done = subprocess.run([facts, path], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        return 0, [done.stderr.strip()]
    found = json.loads(done.stdout)
    loaded = load_pt2(str(path)).exported_programs
    compared, problems = 0, []
    for name, program in loaded.items():
        comparison = Comparison(found["forward" if name == "model" else name], program)
        problems += comparison.run()
        compared += comparison.compared
    return compared, problems


def changes_inputs(program: ExportedProgram) -> bool:
    return any(isinstance(node.target, torch._ops.OpOverload) and node.target._schema.is_mutable
               for node in program.graph.nodes)


def archives(names: list[str], folder: Path) -> Iterator[tuple[str, Path]]:
    for path in sorted(FIXTURES.glob("*/model.pt2")):
        name = f"fixture {path.parent.name}"
        if not path.parent.name.startswith(("changed", "control_flow", "in_place")) and not names:
            yield name, path
    for name, case in cases.MODELS.items():
        if names and name not in names:
            continue
        module, inputs = case.build()
        program = torch.export.export(module, inputs[0], dynamic_shapes=case.dynamic_shapes)
        parts = {} if changes_inputs(program) else {name: program}
        parts[f"{name}, decomposed"] = program.run_decompositions()
        for title, part in parts.items():
            torch.export.save(part, folder / "model.pt2")
            yield title, folder / "model.pt2"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--facts", type=Path, required=True)
    parser.add_argument("names", nargs="*")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    count = failed = 0
    with tempfile.TemporaryDirectory(prefix="tenon-check-pt2-") as folder:
        for title, path in archives(args.names, Path(folder)):
            compared, problems = compare(path, args.facts)
            count += 1
            failed += bool(problems)
            print(f"{'not ok' if problems else 'ok'}: {title}: {compared} facts compared")
            for problem in problems[:10]:
                print(f"    {problem}")
    print(f"{count} archives, {failed} differ")
    sys.exit(1 if failed or count == 0 else 0)


if __name__ == "__main__":
    main()
