# SPDX-License-Identifier: MIT
"""Writes the folder of a case, in the format of docs/tools/cases.md, which the conformance kit reads."""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch


def dtype_name(tensor: torch.Tensor) -> str:
    """"float32"."""
    return str(tensor.dtype).removeprefix("torch.")


def save_tensors(tensors: Iterable[torch.Tensor], prefix: str, folder: Path) -> list[str]:
    """Saves tensors densely in row-major order and returns the files' names.

    bfloat16 is saved as its bits in int16, which NumPy has.
    """
    names = []
    for number, tensor in enumerate(tensors):
        values = tensor.detach().cpu().contiguous()
        if values.dtype == torch.bfloat16:
            values = values.view(torch.int16)
        names.append(f"{prefix}_{number}.npy")
        np.save(folder / names[-1], values.numpy())
    return names


def limits(tensors: Iterable[torch.Tensor], rtol: float, atol: float) -> dict[str, Any]:
    """One pair of limits for all floating-point dtypes among the tensors."""
    names = sorted({dtype_name(tensor) for tensor in tensors if tensor.is_floating_point()})
    return {name: {"rtol": rtol, "atol": atol} for name in names}


def operators_of(program: torch.export.ExportedProgram) -> dict[str, list[str]]:
    """The core ATen operators of a program, each with the dtypes of its first tensors.

    `tenon-conformance --coverage` shows them for a case that passes (docs/tools/coverage.md).
    """
    found: dict[str, set[str]] = {}
    for node in program.run_decompositions().graph.nodes:
        target, value = str(node.target), node.meta.get("val")
        if node.op != "call_function" or not target.startswith("aten."):
            continue
        given = [one.meta.get("val") for one in node.all_input_nodes]
        result = value[0] if isinstance(value, (tuple, list)) else value
        first = next((one for one in given if isinstance(one, torch.Tensor)), result)
        if isinstance(first, torch.Tensor):
            found.setdefault(target, set()).add(dtype_name(first))
    return {name: sorted(dtypes) for name, dtypes in sorted(found.items())}


def write_case(folder: Path, runs: Sequence[dict[str, Any]], **members: Any) -> None:
    """Writes case.json. It comes last: with it the folder is complete.

    A run is {"inputs": [file, ...], "expected": [file, ...]}, and "fresh": True where state does not
    go on from the run before. `members` are the format's others; those that are None or empty are
    left out, and `made_by` may hold anything.
    """
    case = {name: value for name, value in members.items() if value}
    # One line a run: a case has many, and they are all alike.
    text = json.dumps(case | {"runs": []}, indent=2)
    lines = ",\n".join(f"    {json.dumps(run)}" for run in runs)
    text = text.replace('"runs": []', f'"runs": [\n{lines}\n  ]')
    (folder / "case.json").write_text(text + "\n", encoding="utf-8")
