# SPDX-License-Identifier: MIT
"""Names of operators in the edge dialect, and as a plugin gets them.

A plugin gets the names that PyTorch's own archive has for the same model (docs/aot/pt2.md), so that it
compiles what the stock exporter gives it and what `tenon-compile` reads in one way. The edge dialect
has copies in place of views (`view_copy`), and dim orders in place of memory formats
(`dim_order_ops._clone_dim_order`); all operators of a description make new tensors anyway.
"""

import functools
import inspect

import torch

_CONTIGUOUS, _CHANNELS_LAST, _CHANNELS_LAST_3D = 0, 2, 3  # c10/core/MemoryFormat.h
_OF_DIM_ORDER_OPERATORS = {
    "dim_order_ops._to_dim_order_copy.default": "aten._to_copy.default",
    "dim_order_ops._clone_dim_order.default": "aten.clone.default",
    "dim_order_ops._empty_dim_order.default": "aten.empty.memory_format",
}


class NotDescribed(Exception):
    """A part of a program that a description cannot have; the text names it."""


def overload_of(target):
    """PyTorch's operator behind an operator of the edge dialect.

    The class of that dialect is known by its name: without ExecuTorch, which need not be installed, no
    program has any."""
    return target._op if type(target).__name__ == "EdgeOpOverload" else target


def name_of(target):
    """ "aten.add.Tensor", "_operator.add", "higher_order.cond": as PyTorch's archive has it."""
    target = overload_of(target)
    if isinstance(target, torch._ops.OpOverload):
        return str(target)
    if isinstance(target, torch._ops.HigherOrderOperator):
        return f"higher_order.{target.name()}"
    return f"{target.__module__}.{target.__name__}"


@functools.cache
def _view_of_copy(overload):
    """ "aten.view.default" for aten.view_copy.default; None for what is no copy of a view."""
    namespace, _, name = overload._schema.name.partition("::")
    if namespace != "aten" or not name.endswith("_copy"):
        return None
    packet = getattr(torch.ops.aten, name.removesuffix("_copy"), None)
    overload_name = overload._overloadname
    if packet is None or overload_name not in packet.overloads():
        return None
    view = getattr(packet, overload_name)
    aliases = any(result.alias_info for result in view._schema.returns) or view.is_view
    return str(view) if aliases else None


def _memory_format(dim_order):
    """The number of the memory format that a dim order is."""
    order = list(dim_order)
    rank = len(order)
    if order == list(range(rank)):
        return _CONTIGUOUS
    if order == [0, *range(2, rank), 1] and rank in (4, 5):
        return _CHANNELS_LAST if rank == 4 else _CHANNELS_LAST_3D
    raise NotDescribed(f"dim order {order}, which is no memory format")


class MemoryFormat(int):
    """A memory format by its number, as an argument."""


def call_of(node):
    """The target and the arguments of a call: (name, value, type in the schema or None) each.

    Raises NotDescribed for an operator that changes its arguments.
    """
    target = overload_of(node.target)
    if not isinstance(target, torch._ops.OpOverload):
        # An operator on numbers, whose parameters Python knows.
        names = list(inspect.signature(target).parameters)
        if node.kwargs or len(node.args) > len(names):
            raise NotDescribed(f"a call of {name_of(target)} with these arguments")
        return name_of(target), [(name, value, None) for name, value in zip(names, node.args)]
    if target._schema.is_mutable:
        raise NotDescribed("an operator that changes its arguments")
    arguments = []
    for number, parameter in enumerate(target._schema.arguments):
        if number < len(node.args):
            arguments.append((parameter.name, node.args[number], parameter.type))
        elif parameter.name in node.kwargs:
            arguments.append((parameter.name, node.kwargs[parameter.name], parameter.type))
    name = str(target)
    if name in _OF_DIM_ORDER_OPERATORS:
        arguments = [each for each in arguments if each[0] != "dim_order"] + [
            ("memory_format", MemoryFormat(_memory_format(value)), None)
            for parameter, value, _ in arguments if parameter == "dim_order" and value is not None]
        return _OF_DIM_ORDER_OPERATORS[name], arguments
    return _view_of_copy(target) or name, arguments
