# SPDX-License-Identifier: MIT
"""A case of tests/unit/cpu_aoti/recorded as a line, in the format that record_kernels.py describes."""

from collections.abc import Callable, Iterable
from typing import Any

import torch


def numbers(values: Iterable[int]) -> str:
    return ",".join(map(str, values)) or "-"


def case_line(name: str, arguments: Iterable[Any], results: Iterable[torch.Tensor],
              tensor_line: Callable[[str, torch.Tensor], str]) -> str:
    """Lists of numbers are tuples, and `None` is a tensor that is not given. `tensor_line` writes a tensor behind `in`
    or `out`."""
    parts = [name]
    for one in arguments:
        if one is None:
            parts.append("none")
        elif isinstance(one, torch.Tensor):
            parts.append(tensor_line("in", one))
        elif isinstance(one, str):
            parts.append(f"text {one}")
        elif isinstance(one, tuple):
            parts.append(f"list {numbers(one)}")
        else:
            parts.append(f"number {float(one)!r}")
    return "; ".join([*parts, *(tensor_line("out", one) for one in results)])
