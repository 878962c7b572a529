# SPDX-License-Identifier: MIT
"""Runs ATen's operators, and compares them with what tenon-compile says of them (impl/pt2/in_place_operators.hpp).

PyTorch's own tests have the samples. An in-place operator, where its operands have types that the header allows,
gives what its function gives, in value and type. An operator whose result shares memory with an argument, or with
another result, is in a list of the header or is a view. Needs torch 2.15; takes a minute.

    python tests/live/upstream/in_place_operators.py
"""

import collections
import pathlib
import re
import sys
import warnings

import torch
from torch.testing._internal.common_methods_invocations import op_db
from torch.utils._pytree import tree_leaves, tree_map

READER = pathlib.Path(__file__).resolve().parents[3] / "include/tenon/aot/compiler/impl/pt2"
DTYPES = (torch.float32, torch.bfloat16, torch.int64, torch.int32, torch.bool, torch.complex64)
OTHERS = (None, torch.float64, torch.float16, torch.int16)
# Of another overload's arguments; random; or with a result that no graph has.
NOT_COMPARED = {"alpha_dropout", "dropout", "feature_alpha_dropout", "feature_dropout"}
OUTSIDE = {"resize_", "resize_as_", "zero_"}


def words(name):
    """The texts of a constant of the header."""
    text = (READER / "in_place_operators.hpp").read_text()
    found = re.search(rf"{name} =\n((?:\s*\"[^\"]*\"\n?)+)", text)
    return set(" ".join(re.findall(r'"([^"]*)"', found[1])).split())


def views():
    text = (READER / "operator.hpp").read_text()
    return set(re.findall(r'"(\w+)"', text.split("names{")[1].split("};")[0]))


def tensors(tree):
    return [each for each in tree_leaves(tree) if isinstance(each, torch.Tensor) and each.layout is torch.strided]


def calls():
    """(name, operator, input, arguments, keywords) of each sample."""
    for info in op_db:
        name = (info.aten_name or info.name).split(".")[-1]
        function = getattr(torch.ops.aten, name, None)
        for dtype in DTYPES if function is not None else ():
            if dtype not in info.dtypes:
                continue
            for sample in list(info.sample_inputs("cpu", dtype))[:12]:
                yield name, function, sample.input, sample.args, sample.kwargs


def shares_memory(results, given):
    addresses = [each.untyped_storage()._cdata for each in results if each.numel()]
    return len(set(addresses)) < len(addresses) or any(
        each.untyped_storage()._cdata in addresses for each in given if each.numel())


def main():
    warnings.simplefilter("ignore")
    torch.set_grad_enabled(False)
    computing, keeping = words("computing"), words("keeping")
    aliasing = words("names") | views() | OUTSIDE
    compared, problems = collections.Counter(), set()
    for name, function, given, arguments, keywords in calls():
        try:
            results = tensors(function(given, *arguments, **keywords))
        except Exception:  # Of other arguments than the function in Python.
            continue
        if name not in aliasing and shares_memory(results, tensors((given, arguments, keywords))):
            problems.add(f"{name}: its result shares memory")
        if name not in computing | keeping or not isinstance(given, torch.Tensor) or name in NOT_COMPARED:
            continue
        for other in OTHERS if name in computing else OTHERS[:1]:
            rest = (arguments, keywords) if other is None else tree_map(
                lambda each: each.to(other) if isinstance(each, torch.Tensor) else each, (arguments, keywords))
            if name in computing and any(torch.result_type(given, each) != given.dtype for each in tensors(rest)):
                continue  # Refused, as the function would give another type.
            changed = given.clone()
            try:
                getattr(torch.ops.aten, f"{name}_")(changed, *rest[0], **rest[1])
            except Exception:  # In-place operators refuse more.
                continue
            compared[name] += 1
            try:
                torch.testing.assert_close(function(given, *rest[0], **rest[1]), changed, equal_nan=True)
            except AssertionError as failure:
                problems.add(f"{name}: {str(failure).splitlines()[0]} ({given.dtype}, {other})")
    for problem in sorted(problems):
        print(problem)
    print(f"{sum(compared.values())} calls of {len(compared)} in-place operators, {len(problems)} problems")
    sys.exit(bool(problems) or len(compared) < 80)


if __name__ == "__main__":
    main()
