# SPDX-License-Identifier: MIT
"""ONNX operators that are one function of PyTorch, and the nodes of them that are: what `compile` can give to a backend."""

from __future__ import annotations

import dataclasses
import math
import typing
from collections.abc import Callable, Mapping

if typing.TYPE_CHECKING:
    import numpy
    import onnx
    import torch


class Unsupported(Exception):
    """Why a node stays with ONNX Runtime."""


@dataclasses.dataclass
class Call:
    """One node: its attributes, the constants among its inputs by their places, and the sizes of the first input."""

    node: onnx.NodeProto
    attributes: dict[str, typing.Any]
    constants: Mapping[int, numpy.ndarray]
    sizes: list[int | str]

    def get(self, name: str, default: typing.Any) -> typing.Any:
        return self.attributes.get(name, default)

    def expect(self, **values: object) -> None:
        """Attributes that no function here has, but for these values."""
        for name, value in values.items():
            if (found := self.attributes.get(name, value)) != value:
                raise Unsupported(f"{name} is {found}")

    def constant(self, place: int) -> list[typing.Any]:
        """An input that is no tensor for PyTorch."""
        if place not in self.constants:
            raise Unsupported(f"input {place} is not a constant")
        return self.constants[place].flatten().tolist()

    def axis(self, default: int) -> int:
        axis: int = self.get("axis", default)
        return axis + len(self.sizes) if axis < 0 else axis


Function = Callable[..., "torch.Tensor"]
Make = Callable[[Call], Function]


def _simple(name: str) -> Make:
    def make(_: Call) -> Function:
        import torch
        function: Function = getattr(torch, name)
        return function
    return make


def _gemm(call: Call) -> Function:
    import torch
    call.expect(alpha=1.0, beta=1.0, transA=0)
    transposed = bool(call.get("transB", 0))

    def function(a: torch.Tensor, b: torch.Tensor, c: torch.Tensor | None = None) -> torch.Tensor:
        if c is not None and c.dim() != 1:
            return a @ (b.t() if transposed else b) + c
        return torch.nn.functional.linear(a, b if transposed else b.t(), c)
    return function


def _window(call: Call, kernel: list[int]) -> tuple[list[int], list[int], list[int]]:
    """Strides, padding and dilations of two dimensions."""
    if len(call.sizes) != 4 or len(kernel) != 2:
        raise Unsupported(f"{len(call.sizes) - 2} dimensions")
    call.expect(auto_pad=b"NOTSET", ceil_mode=0, storage_order=0)
    pads = call.get("pads", [0, 0, 0, 0])
    if pads[:2] != pads[2:]:
        raise Unsupported(f"pads are {pads}")
    return call.get("strides", [1, 1]), pads[:2], call.get("dilations", [1, 1])


def _conv(call: Call) -> Function:
    import torch
    if 1 not in call.constants:
        raise Unsupported("the weights are not constant")
    strides, padding, dilations = _window(call, list(call.constants[1].shape[2:]))
    groups = call.get("group", 1)
    return lambda x, w, b=None: torch.nn.functional.conv2d(x, w, b, strides, padding, dilations, groups)


def _max_pool(call: Call) -> Function:
    import torch
    if len(call.node.output) != 1:
        raise Unsupported("it has indices")
    kernel = call.get("kernel_shape", [])
    strides, padding, dilations = _window(call, kernel)
    return lambda x: torch.nn.functional.max_pool2d(x, kernel, strides, padding, dilations)


def _average_pool(call: Call) -> Function:
    import torch
    kernel = call.get("kernel_shape", [])
    strides, padding, _ = _window(call, kernel)
    call.expect(dilations=[1, 1])
    counts = bool(call.get("count_include_pad", 0))
    return lambda x: torch.nn.functional.avg_pool2d(x, kernel, strides, padding, False, counts)


def _global_average_pool(call: Call) -> Function:
    import torch
    if len(call.sizes) != 4:
        raise Unsupported(f"{len(call.sizes) - 2} dimensions")
    return lambda x: torch.nn.functional.adaptive_avg_pool2d(x, (1, 1))


def _softmax(call: Call) -> Function:
    import torch
    axis = call.axis(-1)
    return lambda x: torch.softmax(x, axis)


def _layer_normalization(call: Call) -> Function:
    import torch
    if len([name for name in call.node.output if name]) != 1 or call.axis(-1) != len(call.sizes) - 1:
        raise Unsupported("its outputs, or its axis")
    size, epsilon = call.sizes[-1], call.get("epsilon", 1e-5)
    if isinstance(size, str):
        raise Unsupported(f"size {size} changes")
    return lambda x, scale, bias=None: torch.nn.functional.layer_norm(x, [size], scale, bias, epsilon)


def _reshape(call: Call) -> Function:
    call.expect(allowzero=0)
    wanted = call.constant(1)

    def function(x: torch.Tensor, _: object = None) -> torch.Tensor:
        return x.reshape([x.shape[i] if size == 0 else size for i, size in enumerate(wanted)])
    return function


def _flatten(call: Call) -> Function:
    axis = call.axis(1)
    if axis != 1 or not call.sizes:
        raise Unsupported(f"axis is {axis}")
    return lambda x: x.flatten(1) if x.dim() > 1 else x.unsqueeze(1)


def _transpose(call: Call) -> Function:
    order = call.get("perm", list(range(len(call.sizes)))[::-1])
    return lambda x: x.permute(order)


def _concat(call: Call) -> Function:
    import torch
    axis = call.axis(0)
    return lambda *tensors: torch.cat(tensors, axis)


def _clip(call: Call) -> Function:
    import torch
    low, high = (call.constant(i)[0] if len(call.node.input) > i and call.node.input[i] else edge
                 for i, edge in ((1, -math.inf), (2, math.inf)))
    return lambda x, *_: torch.clamp(x, low, high)


OPERATORS: dict[str, Make] = {
    "Add": _simple("add"), "AveragePool": _average_pool, "Clip": _clip, "Concat": _concat, "Conv": _conv,
    "Div": _simple("div"), "Flatten": _flatten, "Gemm": _gemm, "GlobalAveragePool": _global_average_pool,
    "LayerNormalization": _layer_normalization, "MatMul": _simple("matmul"), "MaxPool": _max_pool,
    "Mul": _simple("mul"), "Relu": _simple("relu"), "Reshape": _reshape, "Sigmoid": _simple("sigmoid"),
    "Softmax": _softmax, "Sub": _simple("sub"), "Tanh": _simple("tanh"), "Transpose": _transpose,
}
# Inputs that are numbers for PyTorch, by their places.
NUMBERS = {"Reshape": (1,), "Clip": (1, 2)}


def function_of(call: Call) -> Function:
    """The function of a node. Raises Unsupported."""
    make = OPERATORS.get(call.node.op_type)
    if make is None or call.node.domain not in ("", "ai.onnx"):
        raise Unsupported("no function of PyTorch is known for it")
    return make(call)
