#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes docs/aoti/functions.md (`tests/docs/links_test.py . --write`): each function of PyTorch's C shim for the CPU, and
whether the plugin has it.

The names come from torch's `c_shim_cpu.h`, listed in c_shim_cpu.txt so that a check needs no torch; the kernels, and
the reasons for functions that have none, are read from reference_backends/cpu_kernels/kernels/kernel_list.hpp. A
function without a kernel and without a reason is an error, and so is a reason for a served function.

usage: operator_table.py ROOT check
       operator_table.py ROOT names HEADER    writes c_shim_cpu.txt from a c_shim_cpu.h
"""

import pathlib
import re
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "reference_backends/cpu_kernels"))

import kernel_list  # noqa: E402  pylint: disable=wrong-import-position
from kernel_list import PREFIX  # noqa: E402  pylint: disable=wrong-import-position

PAGE = "docs/aoti/functions.md"


def read_names(header: str) -> list[str]:
    """The functions that a c_shim_cpu.h declares."""
    return sorted(re.findall(rf"AOTITorchError {PREFIX}(\w+)\(", header))


def make_table(names: list[str], header: str) -> tuple[str, list[str]]:
    """The table of `names`, by the text of kernel_list.hpp, and what is wrong."""
    reasons = kernel_list.read_reasons(header)
    served = {name.removeprefix(PREFIX): group for name, group in kernel_list.read_served(header).items()}
    problems = [f"{name}: served, and has a reason not to be" for name in sorted(served)
                if kernel_list.reason_of(name, reasons)]
    problems += [f"{name}: has a reason, and is in no header" for name in reasons if name not in names]
    rows = []
    for name in names:
        reason = "" if name in served else kernel_list.reason_of(name, reasons)
        if reason is None:
            problems.append(f"{name}: expected a kernel or a reason in kernel_list.hpp")
        rows.append(f"| `{name}` | {f'`{served[name]}`' if name in served else 'no'} | {reason or ''} |\n")
    forward = [name for name in names if not name.endswith("_backward")]
    known = sum(name in served for name in forward)
    text = (f"Of {len(names)} functions {len(names) - len(forward)} compute gradients. Of the other {len(forward)} the "
            f"plugin has {known}.\n\n| function | group of kernels | why not |\n|---|---|---|\n{''.join(rows)}")
    return text, problems


def listed_names(root: pathlib.Path) -> list[str]:
    return (root / "docs/aoti/c_shim_cpu.txt").read_text(encoding="utf-8").split()


def page(root: pathlib.Path) -> str:
    """The text of the page, for the repository at `root`."""
    table, _ = make_table(listed_names(root), kernel_list.read_header())
    return ("# Functions of AOTInductor models on the CPU\n\nThe functions of torch 2.15.0's `c_shim_cpu.h`, and which "
            f"[operators](operators.md) `CpuAotiBackend` has a kernel for.\n\n{table}")


def main() -> int:
    """Checks the reasons, or writes the names; 1 if something is wrong."""
    if len(sys.argv) not in (3, 4) or sys.argv[2] not in ("check", "names"):
        sys.exit(__doc__)
    root = pathlib.Path(sys.argv[1])
    if sys.argv[2] == "names":
        names = read_names(pathlib.Path(sys.argv[3]).read_text(encoding="utf-8"))
        if not names:
            sys.exit(f"operator_table: {sys.argv[3]}: expected declarations of {PREFIX}*, found none")
        (root / "docs/aoti/c_shim_cpu.txt").write_text("\n".join(names) + "\n", encoding="utf-8")
        return 0
    names = listed_names(root)
    _, problems = make_table(names, kernel_list.read_header())
    for problem in problems:
        print(f"not ok: {problem}")
    print(f"{len(names)} functions, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
