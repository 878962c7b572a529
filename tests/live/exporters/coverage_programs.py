#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Records what PyTorch computes for one call of each operator in each dtype.

The conformance kit asks a backend about each of them (tenon-conformance --coverage). A line is one
operator: its arguments, and for each dtype in which PyTorch has it the inputs and the first result,
as little-endian bytes in hexadecimal. Operators whose result is random, depends on uninitialised
memory, or has a size that depends on values are left out.

usage: coverage_programs.py OUT
"""

import json
import sys
from pathlib import Path
from typing import Any

import torch

DTYPES = ["float32", "float64", "float16", "bfloat16", "int64", "int32", "int16", "int8", "uint8",
          "bool"]
# ExecuTorch's and PyTorch's numbers of dtypes.
NUMBERS = {"uint8": 0, "int8": 1, "int16": 2, "int32": 3, "int64": 4, "float16": 5, "float32": 6,
           "float64": 7, "bool": 11, "bfloat16": 15}


class T:
    """A tensor of the dtype in question: its sizes, and which numbers it has."""

    def __init__(self, *sizes: int, kind: str = "mixed", dtype: str | None = None):
        self.sizes, self.kind, self.dtype = sizes, kind, dtype

    def make(self, dtype: str, salt: int) -> torch.Tensor:
        dtype = self.dtype or dtype
        count = 1
        for size in self.sizes:
            count *= size
        numbers = [(i * 7 + salt * 5) % 17 for i in range(count)]
        if self.kind == "index":
            values = torch.tensor([n % 2 for n in numbers], dtype=torch.int64)
        elif dtype == "bool":
            values = torch.tensor([n % 3 == 0 for n in numbers])
        else:
            real = torch.tensor(numbers, dtype=torch.float64) * 0.25 - 2
            if self.kind == "positive":
                real = real.abs() + 0.5
            elif self.kind == "unit":
                real = real / 4
            elif self.kind == "above_one":
                real = real.abs() + 1
            whole = dtype in ("int64", "int32", "int16", "int8", "uint8")
            if whole:
                real = (real * 4).round()
                if dtype == "uint8":
                    real = real.abs()
                if self.kind in ("positive", "above_one"):
                    real = real.abs() + 1
            values = real.to(getattr(torch, dtype))
        return values.reshape(self.sizes)


def calls() -> dict[str, tuple[Any, ...]]:
    """Arguments by operator, without its defaults."""
    x, y, positive, unit = T(2, 3), T(2, 3), T(2, 3, kind="positive"), T(2, 3, kind="unit")
    out: dict[str, tuple[Any, ...]] = {}
    for name in ("abs atan ceil cos erf exp expm1 floor isinf isnan logical_not neg relu round "
                 "sigmoid sign sin sinh cosh asinh tan tanh trunc bitwise_not clone alias gelu elu "
                 "hardtanh leaky_relu relu6 detach silu t contiguous hardswish hardsigmoid").split():
        out[f"aten.{name}.default"] = (x,)
    for name in ("log", "log10", "log1p", "log2", "rsqrt", "sqrt", "reciprocal"):
        out[f"aten.{name}.default"] = (positive,)
    for name in ("acos", "asin", "atanh"):
        out[f"aten.{name}.default"] = (unit,)
    out["aten.acosh.default"] = (T(2, 3, kind="above_one"),)
    for name in ("add.Tensor sub.Tensor mul.Tensor eq.Tensor ne.Tensor lt.Tensor le.Tensor "
                 "gt.Tensor ge.Tensor bitwise_and.Tensor bitwise_or.Tensor bitwise_xor.Tensor "
                 "maximum.default minimum.default logical_and.default logical_or.default "
                 "logical_xor.default").split():
        out[f"aten.{name}"] = (x, T(2, 3))
    for name in ("div.Tensor", "remainder.Tensor", "fmod.Tensor", "atan2.default"):
        out[f"aten.{name}"] = (x, positive)
    out["aten.pow.Tensor_Tensor"] = (positive, T(2, 3, kind="unit"))
    out["aten.div.Tensor_mode"] = (x, positive, {"rounding_mode": "floor"})
    for name in ("add mul sub div eq ne lt le gt ge bitwise_and bitwise_or bitwise_xor "
                 "remainder fmod").split():
        out[f"aten.{name}.Scalar"] = (x, 2)
    out["aten.pow.Tensor_Scalar"] = (x, 2)
    out["aten.pow.Scalar"] = (2, unit)
    out["aten.where.self"] = (T(2, 3, dtype="bool"), x, y)
    out["aten.clamp.default"] = (x, -1, 1)
    out["aten.clamp.Tensor"] = (x, unit, positive)
    for name in ("sum.default", "mean.default", "any.default", "prod.default", "sum.dim_IntList",
                 "mean.dim", "any.dims", "amax.default", "amin.default", "var.correction"):
        whole = name in ("sum.default", "mean.default", "any.default", "prod.default")
        out[f"aten.{name}"] = (x,) if whole else (x, [1])
    for name in ("any.dim", "prod.dim_int", "argmax.default", "argmin.default", "cumsum.default",
                 "max.dim", "min.dim", "softmax.int", "log_softmax.int", "sort.default"):
        out[f"aten.{name}"] = (x, 1)
    out["aten._softmax.default"] = out["aten._log_softmax.default"] = (x, 1, False)
    out["aten.topk.default"] = (x, 2)
    out["aten.view.default"] = out["aten.reshape.default"] = (x, [3, 2])
    out["aten._unsafe_view.default"] = (x, [6])
    out["aten.flatten.using_ints"] = (x,)
    out["aten.permute.default"] = (x, [1, 0])
    out["aten.transpose.int"] = (x, 0, 1)
    out["aten.unsqueeze.default"] = (x, 1)
    out["aten.squeeze.dim"] = (T(2, 1, 3), 1)
    out["aten.squeeze.dims"] = (T(2, 1, 3), [1])
    out["aten.expand.default"] = (T(1, 3), [2, 3])
    out["aten.cat.default"] = ([x, T(1, 3)],)
    out["aten.stack.default"] = ([x, T(2, 3)],)
    out["aten.slice.Tensor"] = (T(4, 3), 0, 1, 3)
    out["aten.slice_scatter.default"] = (T(4, 3), x, 0, 1, 3)
    out["aten.select.int"] = (x, 0, 1)
    out["aten.select_scatter.default"] = (x, T(3), 0, 1)
    out["aten.constant_pad_nd.default"] = (x, [1, 1], 1)
    out["aten.flip.default"] = (x, [1])
    out["aten.repeat.default"] = (x, [2, 1])
    out["aten.diagonal.default"] = (x,)
    out["aten.as_strided.default"] = (x, [3, 2], [1, 3])
    out["aten.copy.default"] = (x, T(2, 3))
    index = T(2, kind="index", dtype="int64")
    out["aten.index_select.default"] = (x, 0, index)
    out["aten.embedding.default"] = (T(4, 3), index)
    out["aten.gather.default"] = (x, 1, T(2, 2, kind="index", dtype="int64"))
    out["aten.scatter.src"] = (x, 0, T(1, 3, kind="index", dtype="int64"), T(1, 3))
    out["aten.scatter.value"] = (x, 0, T(1, 3, kind="index", dtype="int64"), 1)
    out["aten.full_like.default"] = (x, 1)
    out["aten.mm.default"] = out["aten.matmul.default"] = (x, T(3, 4))
    out["aten.bmm.default"] = (T(2, 2, 3), T(2, 3, 2))
    out["aten.addmm.default"] = (T(4), x, T(3, 4))
    out["aten.linear.default"] = (x, T(4, 3), T(4))
    image, weight, channels = T(1, 2, 4, 4), T(3, 2, 3, 3), T(2)
    out["aten.convolution.default"] = (image, weight, T(3), [1, 1], [1, 1], [1, 1], False, [0, 0],
                                       1)
    out["aten.conv2d.default"] = (image, weight, T(3), [1, 1], [1, 1])
    for name in ("max_pool2d.default", "max_pool2d_with_indices.default", "avg_pool2d.default"):
        out[f"aten.{name}"] = (image, [2, 2], [2, 2])
    out["aten.adaptive_avg_pool2d.default"] = (image, [2, 2])
    out["aten._adaptive_avg_pool2d.default"] = (image, [2, 2])
    out["aten.avg_pool1d.default"] = (T(1, 2, 4), [2])
    out["aten.reflection_pad2d.default"] = (image, [1, 1, 1, 1])
    out["aten.replication_pad2d.default"] = (image, [1, 1, 1, 1])
    out["aten.pixel_shuffle.default"] = (T(1, 4, 2, 2), 2)
    out["aten.upsample_nearest2d.vec"] = (image, [8, 8], None)
    out["aten.upsample_bilinear2d.vec"] = (image, [8, 8], False, None)
    out["aten.grid_sampler_2d.default"] = (image, T(1, 2, 2, 2, kind="unit"), 0, 0, False)
    out["aten.layer_norm.default"] = (x, [3], T(3), T(3))
    out["aten.native_layer_norm.default"] = (x, [3], T(3), T(3), 1e-5)
    out["aten.native_group_norm.default"] = (image, channels, channels, 1, 2, 16, 1, 1e-5)
    spread = T(2, kind="positive")
    out["aten._native_batch_norm_legit_no_training.default"] = (
        image, channels, channels, channels, spread, 0.1, 1e-5)
    out["aten.batch_norm.default"] = (image, channels, channels, channels, spread, False, 0.1,
                                      1e-5, False)
    out["aten.dropout.default"] = (x, 0.5, False)
    return out


def overload(name: str) -> torch._ops.OpOverload:
    packet, variant = name.removeprefix("aten.").split(".")
    return getattr(getattr(torch.ops.aten, packet), variant)


def hexadecimal(tensor: torch.Tensor) -> str:
    dense = tensor.detach().contiguous()
    return bytes(dense.reshape(-1).view(torch.uint8).tolist()).hex() if dense.numel() else ""


def dtype_name(tensor: torch.Tensor) -> str:
    return str(tensor.dtype).removeprefix("torch.")


def record(name: str, arguments: tuple[Any, ...]) -> dict[str, Any] | None:
    """One line; nothing when PyTorch has the operator in no dtype."""
    operator = overload(name)
    named = [argument.name for argument in operator._schema.arguments]
    positional = [one for one in arguments if not isinstance(one, dict)]
    keywords = next((one for one in arguments if isinstance(one, dict)), {})
    tensors: list[T] = []

    def described(value: Any) -> Any:
        if isinstance(value, T):
            tensors.append(value)
            return {"tensor": len(tensors) - 1}
        if isinstance(value, list) and value and isinstance(value[0], T):
            return {"tensors": [described(one)["tensor"] for one in value]}
        return value

    line: dict[str, Any] = {
        "operator": name,
        "core": torch.Tag.core in operator.tags,
        "arguments": [[argument, described(value)]
                      for argument, value in [*zip(named, positional), *keywords.items()]],
        "sizes": [list(one.sizes) for one in tensors],
        "dtypes": {},
    }
    for dtype in DTYPES:
        made = [one.make(dtype, salt + 1) for salt, one in enumerate(tensors)]
        following = iter(made)

        def real(value: Any) -> Any:
            if isinstance(value, T):
                return next(following)
            if isinstance(value, list) and value and isinstance(value[0], T):
                return [next(following) for _ in value]
            return value

        values = [real(value) for value in positional]
        try:
            result = operator(*values, **keywords)
        except (RuntimeError, NotImplementedError, IndexError):
            continue
        first = result[0] if isinstance(result, (tuple, list)) else result
        others = result[1:] if isinstance(result, (tuple, list)) else ()
        line["dtypes"][dtype] = {
            "types": [NUMBERS[dtype_name(one)] for one in made],
            "inputs": [hexadecimal(one) for one in made],
            "type": NUMBERS[dtype_name(first)],
            "sizes": list(first.shape),
            "expected": hexadecimal(first),
            "others": [[NUMBERS[dtype_name(one)], list(one.shape)] for one in others],
        }
    return line if line["dtypes"] else None


def main() -> None:
    lines = [line for name, arguments in sorted(calls().items())
             if (line := record(name, arguments))]
    # A raw string of C++ has at most 64 KiB for some compilers; each line is one of its own.
    text = "\n".join('R"(' + json.dumps(line, separators=(",", ":")) + ')",' for line in lines)
    head = (f"// SPDX-License-Identifier: MIT\n// Written by tests/live/exporters/coverage_programs.py with "
            f"torch {torch.__version__}: {len(lines)} operators.\n")
    Path(sys.argv[1]).write_text(head + text + "\n", encoding="ascii")
    cells = sum(len(line["dtypes"]) for line in lines)
    print(f"{len(lines)} operators, {sum(line['core'] for line in lines)} of them core, "
          f"{cells} programs")


if __name__ == "__main__":
    main()
