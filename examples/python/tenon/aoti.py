# SPDX-License-Identifier: MIT
"""Models that PyTorch's AOTInductor compiles.

    compiled = tenon.aoti.compile(model, (x,), "model.pte")
    y = compiled(x)

    with tenon.aoti.describe_calls():  # For operators of torch.library in another export.
        torch._inductor.aoti_compile_and_package(program, package_path="model.pt2")

Needs torch and a C++ compiler; tested with torch 2.15.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch

    from ._aoti import Compiled

__all__ = ["compile", "describe_calls"]


def compile(model: torch.nn.Module | torch.export.ExportedProgram, example_inputs: Iterable[Any],
            path: str | os.PathLike[str], *, backend: str = "CpuAotiBackend", dynamic: Any = None,
            level: str | None = None, options: Mapping[str, object] | None = None,
            plugins: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] = ()) -> Compiled:
    """Exports a PyTorch module, has AOTInductor compile it, and writes the program.

    model: a torch.nn.Module, or an ExportedProgram, which is compiled as it is.
    example_inputs: a tuple of arguments for tracing the module.
    path: the `.pte` file to write.
    backend: the id of the backend, which knows the settings that AOTInductor needs.
    dynamic: which sizes change: `dynamic_shapes` of torch.export.export. Each needs an upper bound.
    level: the processors that can run the program: "x86-64-v3" (AVX2, the default on x86-64), "x86-64-v4" (AVX-512),
        "x86-64", "armv8-a" (the default on arm64), or "native": those like this one.
    options: more settings of `torch._inductor.config`, such as {"max_autotune": True}.
    plugins: plugin files, or one, to look for the backend in first.

    Returns what runs like the module. Raises `Error`: NotFound for an unknown id and without a C++ compiler,
    NotSupported for a model that torch cannot export or that changes its inputs, and for functions of PyTorch that the
    backend does not have; ModuleNotFoundError without torch.
    """
    from . import _aoti

    return _aoti.compile(model, example_inputs, path, backend=backend, dynamic=dynamic, level=level, options=options,
                         plugins=plugins)


@contextlib.contextmanager
def describe_calls() -> Iterator[None]:
    """Models that are compiled inside of it can run operators with kernels of plugins.

    For operators without a C shim, such as operators of `torch.library`, this adds to the model what a kernel needs
    before the first run. PyTorch's own runtimes ignore the addition.

    A size needs an upper bound, or loading fails: give `torch.export.Dim` a `max`, or `torch._check` the result of
    the operator's fake. For one thread at a time, because it replaces a function of PyTorch's compiler.
    """
    import torch
    from torch._inductor import ir
    from torch._inductor.virtualized import V

    original = ir.FallbackKernel.export_extern_kernel_node

    def export_and_describe(kernel):
        exported = original(kernel)
        if V.graph.aot_mode and isinstance(kernel.op_overload, torch._ops.OpOverload):
            node = V.extern_kernel_nodes[-1].node
            node.metadata["tenon"] = json.dumps(_facts(kernel, node))
        return exported

    ir.FallbackKernel.export_extern_kernel_node = export_and_describe
    try:
        yield
    finally:
        ir.FallbackKernel.export_extern_kernel_node = original


def _facts(kernel, node):
    """The facts that reference_backends/cpu_kernels/operators/read_found_call.hpp describes."""
    arguments = kernel.op_overload._schema.arguments
    args, kwargs = kernel.unflatten_args(kernel.inputs, kernel.constant_args)
    given = {argument.name for argument in node.inputs}
    tensors = []
    for index, argument in enumerate(arguments):
        if argument.name in given:
            # A default that the exporter wrote down is in neither, and no default is a tensor.
            positional = args[index] if index < len(args) else None
            value = kwargs.get(argument.name, positional)
            is_written = argument.alias_info is not None and argument.alias_info.is_write
            tensors += [_tensor(one, is_written=is_written) for one in _tensors_in(value)]
    outputs = kernel.codegen_outputs() if len(node.outputs) == 1 else kernel.outputs
    if node.outputs:
        tensors += [_tensor(one, is_result=True) for one in _tensors_in(outputs)]
    facts = {
        "arguments": [argument.name for argument in arguments],
        "defaults": [{"name": argument.name, "arg": _fixed(argument.default_value)}
                     for argument in arguments if argument.name not in given],
        "tensors": tensors,
    }
    out = _out_overload(kernel.op_overload)
    return facts | ({"out": out} if out else {})


def _tensors_in(value):
    """The tensors of an argument or of results, lists one element after the other."""
    from torch._inductor import ir

    if isinstance(value, (list, tuple)):
        return [one for element in value for one in _tensors_in(element)]
    return [value] if isinstance(value, ir.IRNode) else []


# Numbers of c10::ScalarType.
_SCALAR_TYPES = {
    "uint8": 0, "int8": 1, "int16": 2, "int32": 3, "int64": 4, "float16": 5, "float32": 6, "float64": 7,
    "complex32": 8, "complex64": 9, "complex128": 10, "bool": 11, "bfloat16": 15, "float8_e5m2": 23,
    "float8_e4m3fn": 24, "float8_e5m2fnuz": 25, "float8_e4m3fnuz": 26, "uint16": 27, "uint32": 28, "uint64": 29,
}


def _tensor(node, is_written=False, is_result=False):
    sizes = list(node.get_size())
    order = _dim_order(sizes, list(node.get_stride()))
    if order is None and not is_result:  # An argument is copied.
        order = list(range(len(sizes)))
    return {
        "dtype": _SCALAR_TYPES.get(str(node.get_dtype()).removeprefix("torch.")),
        "sizes": [_upper_bound(size) for size in sizes],
        "dim_order": order,
        "dynamic": [bool(getattr(size, "free_symbols", None)) for size in sizes],
        "written": is_written,
    }


def _upper_bound(size):
    from torch._inductor.virtualized import V
    from torch.utils._sympy.numbers import int_oo

    if not getattr(size, "free_symbols", None):
        return int(size)
    upper = V.graph.sizevars.shape_env.bound_sympy(size).upper
    return None if upper == int_oo or upper >= 2**62 else int(upper)


def _dim_order(sizes, strides):
    """Dimensions from the outermost to the innermost, or None when elements have gaps between them."""
    from torch._inductor.virtualized import V

    known_equal = V.graph.sizevars.statically_known_equals
    orders = itertools.permutations(range(len(sizes))) if len(sizes) <= 5 else [range(len(sizes))]
    for order in orders:
        expected, fits = 1, True
        for dim in reversed(order):
            fits = fits and (known_equal(sizes[dim], 1) or known_equal(strides[dim], expected))
            expected = expected * sizes[dim]
        if fits:
            return list(order)
    return None


def _fixed(value):
    """An argument that a call leaves out, in the form of torch.export."""
    if value is None:
        return {"as_none": True}
    names = {bool: "bool", int: "int", float: "float", str: "string"}
    is_list = isinstance(value, (list, tuple))
    types = {type(element) for element in value} if is_list else {type(value)}
    name = names.get(types.pop(), "unknown") if len(types) == 1 else "int" if is_list and not value else "unknown"
    return {f"as_{name}{'s' if is_list else ''}": list(value) if is_list else
            value if name != "unknown" else str(value)}


def _out_overload(op):
    """The name of the overload with the same arguments, and one more to write to for each result."""
    arguments, returns = op._schema.arguments, op._schema.returns
    for name in op.overloadpacket.overloads():
        other = getattr(op.overloadpacket, name)
        rest = other._schema.arguments[len(arguments):]
        same = other._schema.arguments[:len(arguments)]
        if returns and len(rest) == len(returns) and all(
                argument.alias_info is not None and argument.alias_info.is_write for argument in rest) and [
                (argument.name, str(argument.type)) for argument in same] == [
                (argument.name, str(argument.type)) for argument in arguments]:
            return other.name()
    return None
