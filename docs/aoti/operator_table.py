#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes the table of docs/aoti/operators.md: each function of PyTorch's C shim for the CPU, and whether the plugin has it.

The names are those of torch's `c_shim_cpu.h`, listed in c_shim_cpu.txt so that a check needs no torch; the served ones
are read from reference_backends/cpu_kernels/kernels/kernel_list.hpp; the reasons for the others are below. A function
without a kernel and without a reason is an error, and so is a reason for one that is served.

usage: operator_table.py ROOT write|check
       operator_table.py ROOT names HEADER    writes c_shim_cpu.txt from a c_shim_cpu.h
"""

import pathlib
import re
import sys

PREFIX = "aoti_torch_cpu_"
BEGIN, END = "<!-- table: begin -->\n", "<!-- table: end -->\n"
TRAINING = "gradients: programs are for inference"
GENERATOR = "a generator cannot be passed to a program"
RESIZE = "changes the size of a given tensor, whose memory belongs to the model"
SPARSE = "sparse tensors: programs have strided ones"
OBSERVER = "calibration while training; a converted model has plain quantise operators"

REASONS = {
    "_dyn_quant_matmul_4bit": "a packed layout of Arm's KleidiAI",
    "_dyn_quant_pack_4bit_weight": "a packed layout of Arm's KleidiAI",
    "_efficientzerotensor": "a tensor without memory, only made by autograd",
    "_fused_moving_avg_obs_fq_helper": OBSERVER,
    "_fused_moving_avg_obs_fq_helper_functional": OBSERVER,
    "_fused_rms_norm": "Inductor decomposes it",
    "_addmm_activation": "not written; Inductor asks for `addmm_out` and fuses activations that follow",
    "_histogramdd_from_bin_cts": "not written; `histc` is",
    "histogram_bin_ct": "not written; `histc` is",
    "_scaled_dot_product_fused_attention_overrideable": "for devices outside PyTorch's own tree",
    "_scaled_mm": "products of 8-bit floats: not written",
    "_scaled_mm_out": "products of 8-bit floats: not written",
    "_to_sparse": SPARSE,
    "to_sparse": SPARSE,
    "addmv": "Inductor decomposes it",
    "fractional_max_pool2d": "not written",
    "fractional_max_pool3d": "not written",
    "max_unpool2d": "Inductor decomposes it",
    "max_unpool3d": "not written",
    "hann_window": "Inductor decomposes it",
    "pad": "Inductor decomposes it",
    "segment_reduce": "not written; `scatter_reduce` is",
    "rand_generator": GENERATOR,
    "rand_like_generator": GENERATOR,
    "randint_generator": GENERATOR,
    "randn_generator": GENERATOR,
    "randn_like_generator": GENERATOR,
    "resize_": RESIZE,
    "resize_as_": RESIZE,
    "set__source_Tensor": RESIZE,
}


def read_names(header: str) -> list[str]:
    """The functions that a c_shim_cpu.h declares."""
    return sorted(re.findall(rf"AOTITorchError {PREFIX}(\w+)\(", header))


def read_served(kernel_list: str) -> dict[str, str]:
    """The functions that the plugin's lists declare, each with the group of its list."""
    served, group = {}, ""
    for line in kernel_list.splitlines():
        if found := re.match(r"#define TENON_CPU_AOTI_(\w+)\(X\)", line):
            group = found[1].lower()
        if found := re.search(rf"X\({PREFIX}(\w+),", line):
            served[found[1]] = group
    return served


def reason_of(name: str) -> str | None:
    return TRAINING if name.endswith("_backward") else REASONS.get(name)


def make_table(names: list[str], served: dict[str, str]) -> tuple[str, list[str]]:
    """The table and what is wrong."""
    problems = [f"{name}: served, and has a reason not to be" for name in sorted(served) if reason_of(name)]
    problems += [f"{name}: has a reason, and is in no header" for name in REASONS if name not in names]
    rows = []
    for name in names:
        reason = "" if name in served else reason_of(name)
        if reason is None:
            problems.append(f"{name}: expected a kernel or a reason in operator_table.py")
        rows.append(f"| `{name}` | {f'`{served[name]}`' if name in served else 'no'} | {reason or ''} |\n")
    forward = [name for name in names if not name.endswith("_backward")]
    known = sum(name in served for name in forward)
    text = (f"Of {len(names)} functions {len(names) - len(forward)} compute gradients. Of the other {len(forward)} the "
            f"plugin has {known}.\n\n| function | group of kernels | why not |\n|---|---|---|\n{''.join(rows)}")
    return text, problems


def main() -> int:
    """Writes or checks the table, or writes the names; 1 if something is wrong."""
    if len(sys.argv) not in (3, 4) or sys.argv[2] not in ("write", "check", "names"):
        sys.exit(__doc__)
    root = pathlib.Path(sys.argv[1])
    folder = root / "docs/aoti"
    if sys.argv[2] == "names":
        names = read_names(pathlib.Path(sys.argv[3]).read_text(encoding="utf-8"))
        if not names:
            sys.exit(f"operator_table: {sys.argv[3]}: expected declarations of {PREFIX}*, found none")
        (folder / "c_shim_cpu.txt").write_text("\n".join(names) + "\n", encoding="utf-8")
        return 0
    names = (folder / "c_shim_cpu.txt").read_text(encoding="utf-8").split()
    served = read_served(
        (root / "reference_backends/cpu_kernels/kernels/kernel_list.hpp").read_text(encoding="utf-8"))
    table, problems = make_table(names, served)
    page = folder / "operators.md"
    text = page.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    wanted = before + BEGIN + table + END + after
    if sys.argv[2] == "write":
        page.write_text(wanted, encoding="utf-8")
    elif wanted != text:
        problems.append("docs/aoti/operators.md differs from the sources: run docs/aoti/operator_table.py . write")
    for problem in problems:
        print(f"not ok: {problem}")
    print(f"{len(names)} functions, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
