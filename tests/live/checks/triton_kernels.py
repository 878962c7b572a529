# SPDX-License-Identifier: MIT
"""Runs the kernels of exported CUDA programs on the CPU: those that Inductor wrote with Triton's interpreter, and the
plugin's own as a library (tests/gpu/cuda_kernels_on_cpu). Import it before Triton is imported."""

import ast
import ctypes
import json
import linecache
import os
import struct
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

os.environ["TRITON_INTERPRET"] = "1"

import numpy as np
import torch
import triton.language as tl
from torch._inductor.runtime import triton_helpers
from triton.runtime import interpreter

from launch_server import Launch

# Types of parameters in Triton's signatures, with NumPy's and Triton's.
NUMBERS: dict[str, tuple[Any, Any]] = {
    "i1": (np.bool_, tl.int1), "i8": (np.int8, tl.int8), "i16": (np.int16, tl.int16),
    "i32": (np.int32, tl.int32), "i64": (np.int64, tl.int64), "u32": (np.uint32, tl.uint32),
    "u64": (np.uint64, tl.uint64), "fp32": (np.float32, tl.float32), "fp64": (np.float64, tl.float64),
}
POINTERS = {
    "*i1": torch.bool, "*i8": torch.int8, "*u8": torch.uint8, "*i16": torch.int16, "*i32": torch.int32,
    "*i64": torch.int64, "*fp16": torch.float16, "*bf16": torch.bfloat16, "*fp32": torch.float32,
    "*fp64": torch.float64,
}


class Memory:
    """The blocks of a device that one launch may use, and which of their bytes it reads and writes."""

    def __init__(self, launch: Launch) -> None:
        self.launch = launch
        self.arrays = {address: np.frombuffer(block, np.uint8) for address, block in launch.blocks.items()}
        # In the order of their places here.
        self.places = sorted(self.arrays.items(), key=lambda entry: entry[1].ctypes.data)
        self.begins = np.array([array.ctypes.data for _, array in self.places], dtype=np.uint64)
        self.ends = np.array([array.ctypes.data + array.nbytes for _, array in self.places], dtype=np.uint64)
        self.is_read = {address: np.zeros(array.nbytes, bool) for address, array in self.arrays.items()}
        self.is_written = {address: np.zeros(array.nbytes, bool) for address, array in self.arrays.items()}

    def find(self, address: int) -> tuple[np.ndarray, int] | None:
        """The block of an address of the device, and the offset in it."""
        found = self.launch.find(address)
        return (self.arrays[found[0]], found[1]) if found else None

    def use(self, pointers: np.ndarray, mask: np.ndarray, nbytes: int, reads: bool, writes: bool) -> None:
        """Notes which elements are loaded or stored. Raises when one is not in a block, or not aligned."""
        used = np.broadcast_to(pointers, mask.shape)[mask].astype(np.uint64)
        if used.size == 0:
            return
        at = np.searchsorted(self.begins, used, side="right").astype(np.int64) - 1
        outside = (at < 0) | (used + np.uint64(nbytes) > self.ends[np.maximum(at, 0)])
        if outside.any() or (used % np.uint64(nbytes)).any():
            raise IndexError(f"{np.count_nonzero(outside)} of {used.size} elements of {nbytes} bytes are outside of "
                             "the blocks that the launch was given, or elements are not aligned")
        for number in np.unique(at):
            address, _ = self.places[number]
            first = (used[at == number] - self.begins[number]).astype(np.int64)
            every = np.unique(first[:, None] + np.arange(nbytes))
            if reads:
                self.is_read[address][every] |= ~self.is_written[address][every]
            if writes:
                self.is_written[address][every] = True


def as_mask(mask: np.ndarray) -> np.ndarray:
    """As bool: the interpreter of Triton 3.9 gives a comparison of scalars their dtype when it becomes a block's."""
    return mask.astype(bool, copy=False)


class CheckedInterpreter:
    """Triton's functions for memory, after a look at the addresses."""

    def __init__(self, real: Any) -> None:
        self.real = real
        self.memory: Memory | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self.real, name)

    def use(self, pointers: Any, mask: Any, nbytes: int, reads: bool = False, writes: bool = False) -> None:
        """Looks at addresses."""
        assert self.memory is not None
        self.memory.use(pointers, mask, nbytes, reads, writes)

    def load(self, pointers: Any, mask: Any, other: Any, dtype: Any) -> Any:
        """As the interpreter's."""
        mask = as_mask(mask)
        self.use(pointers, mask, np.dtype(dtype).itemsize, reads=True)
        return self.real.load(pointers, mask, other, dtype)

    def store(self, pointers: Any, value: Any, mask: Any) -> Any:
        """As the interpreter's."""
        mask = as_mask(mask)
        self.use(pointers, mask, value.dtype.itemsize, writes=True)
        return self.real.store(pointers, value, mask)

    def atomic_rmw(self, operation: Any, pointers: Any, value: Any, mask: Any, order: Any) -> Any:
        """As the interpreter's."""
        mask = as_mask(mask)
        self.use(pointers, mask, value.dtype.itemsize, reads=True, writes=True)
        return self.real.atomic_rmw(operation, pointers, value, mask, order)

    def atomic_cas(self, pointers: Any, expected: Any, value: Any, order: Any) -> Any:
        """As the interpreter's."""
        self.use(pointers, np.ones(pointers.shape, dtype=bool), value.dtype.itemsize, reads=True, writes=True)
        return self.real.atomic_cas(pointers, expected, value, order)


def and_of_masks(builder: Any, left: Any, right: Any) -> Any:
    """As the interpreter's, where one is such a comparison as well."""
    if any(np.issubdtype(each.data.dtype, np.floating) for each in (left, right)):
        left, right = (interpreter.TensorHandle(as_mask(each.data), tl.int1) for each in (left, right))
    return real_and(builder, left, right)


def cast(builder: Any, value: Any, dtype: Any) -> Any:
    """As the interpreter's, which keeps bfloat16 as its bits: it takes an integer for them, and cuts a float32 off where a
    GPU rounds to the nearest."""
    if dtype.scalar != tl.bfloat16 or value.dtype.scalar == tl.bfloat16:
        return real_cast(builder, value, dtype)
    if not value.dtype.scalar.is_floating():
        value = real_cast(builder, value, tl.float32)
    if value.dtype.scalar != tl.float32:
        return real_cast(builder, value, dtype)
    rounded = torch.from_numpy(np.array(value.data)).to(torch.bfloat16).view(torch.int16).numpy().view(np.uint16)
    return interpreter.TensorHandle(rounded, tl.bfloat16)


def dot(builder: Any, left: Any, right: Any, *rest: Any) -> Any:
    """As the interpreter's, which multiplies the bits of bfloat16."""
    left, right = (real_cast(builder, each, tl.float32) if each.dtype.scalar == tl.bfloat16 else each for each in (left, right))
    return real_dot(builder, left, right, *rest)


real_dot = interpreter.InterpreterBuilder.create_dot
interpreter.InterpreterBuilder.create_dot = dot
real_cast = interpreter.InterpreterBuilder.cast_impl
interpreter.InterpreterBuilder.cast_impl = cast
real_and = interpreter.InterpreterBuilder.create_and
interpreter.InterpreterBuilder.create_and = and_of_masks
checked = CheckedInterpreter(interpreter._interpreter)
interpreter._interpreter = checked


class Libdevice:
    """CUDA's library of device functions, which the interpreter does not have, by PyTorch's."""

    OTHER_NAMES = {"fabs": "abs", "rint": "round", "pow": "pow"}

    def __getattr__(self, name: str) -> Callable[..., Any]:
        function = getattr(torch, self.OTHER_NAMES.get(name, name), None)
        if function is None:
            raise NotImplementedError(f"libdevice.{name} has no counterpart here")

        def call(*arguments: Any) -> Any:
            first = arguments[0]
            arrays = [torch.from_numpy(np.ascontiguousarray(each.handle.data)) for each in arguments]
            out = function(*arrays).numpy()
            if out.dtype == np.bool_:
                out = out.astype(np.int32)
                return tl.tensor(interpreter.TensorHandle(out, tl.int32), first.type.with_element_ty(tl.int32)
                                 if first.type.is_block() else tl.int32)
            return tl.tensor(interpreter.TensorHandle(out, first.dtype), first.type)

        return call


class InductorKernel:
    """One kernel that export_cuda.py kept the source of."""

    def __init__(self, source: Path) -> None:
        self.facts = json.loads(source.with_suffix(".json").read_text())
        tree = ast.parse(source.read_text())
        # Without Inductor's decorators, which ask for a GPU and choose among configurations.
        for node in tree.body:
            if isinstance(node, ast.FunctionDef):
                node.decorator_list = [each for each in node.decorator_list
                                       if "triton_heuristics" not in ast.unparse(each)]
        tree.body = [node for node in tree.body if "set_driver_to_gpu" not in ast.unparse(node)]
        text = ast.unparse(tree) + "\n"
        # Triton asks for the lines of a function by the name of its file, which needs no file.
        name = f"<{source.name}>"
        linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
        module = ModuleType(source.stem)
        module.__file__ = name
        exec(compile(text, name, "exec"), module.__dict__)
        module.__dict__["libdevice"] = Libdevice()
        self.function = module.__dict__[self.facts["function"]]

    def run(self, memory: Memory) -> None:
        """Runs each program of the grid in turn. Raises when the launch is not what the kernel was compiled for."""
        facts, launch = self.facts, memory.launch
        for name, found, expected in (
                ("threads of a block", launch.block, [32 * facts["num_warps"], 1, 1]),
                ("bytes of shared memory", launch.shared_bytes, facts["shared_bytes"])):
            if found != expected:
                raise ValueError(f"{name}: expected {expected}, found {found}")
        checked.memory = memory
        # Values that a mask discards may be anything.
        with np.errstate(all="ignore"):
            self.function[tuple(launch.grid)](
                **self.arguments(launch.parameters, memory), **facts["constants"])

    def arguments(self, parameters: list[bytes], memory: Memory) -> dict[str, Any]:
        """Arguments of the function by name. The parameters that follow are pointers to scratch memory."""
        signature = self.facts["signature"]
        names = [name for name, kind in signature.items()
                 if kind != "constexpr" and name not in self.facts["constants"]]
        scratch = parameters[len(names):]
        if len(parameters) < len(names) or any(any(each) for each in scratch):
            raise ValueError(f"parameters: expected {len(names)} and no scratch memory, found {len(parameters)}")
        out = {}
        for name, raw in zip(names, parameters):
            out[name] = argument(name, signature[name], raw, memory)
            if name in self.facts["divisible_by_16"] and int.from_bytes(raw, "little") % 16 != 0:
                raise ValueError(f"{name}: expected a multiple of 16, found {int.from_bytes(raw, 'little')}")
        return out


def argument(name: str, kind: str, raw: bytes, memory: Memory) -> Any:
    """One argument out of the bytes of a parameter."""
    if kind in POINTERS:
        found = memory.find(int.from_bytes(raw, "little")) if len(raw) == 8 else None
        if found is None:
            raise ValueError(f"{name}: expected an address of the device, found {raw.hex()}")
        block, offset = found
        dtype = POINTERS[kind]
        usable = (block.nbytes - offset) // dtype.itemsize * dtype.itemsize
        return torch.from_numpy(block[offset:offset + usable]).view(dtype)
    if kind not in NUMBERS:
        raise NotImplementedError(f"{name}: a parameter of type {kind}")
    of_numpy, of_triton = NUMBERS[kind]
    if len(raw) != np.dtype(of_numpy).itemsize:
        raise ValueError(f"{name}: expected a parameter of type {kind}, found {len(raw)} bytes")
    return tl.tensor(interpreter.TensorHandle(np.frombuffer(raw, of_numpy), of_triton), of_triton)


class OwnKernels:
    """The plugin's kernels, compiled for the CPU."""

    def __init__(self, library: Path) -> None:
        self.run_kernel = ctypes.CDLL(str(library)).tenon_run_cuda_kernel

    def run(self, memory: Memory) -> None:
        """Runs a launch, with the addresses of the device in its parameters replaced."""
        launch = memory.launch
        parameters = [ctypes.create_string_buffer(raw, len(raw)) for raw in launch.parameters]
        for number, at, address in launch.words():
            begin, offset = launch.find(address) or (0, 0)
            struct.pack_into("<Q", parameters[number], at, memory.arrays[begin].ctypes.data + offset)
        pointers = (ctypes.c_void_p * len(parameters))(*(ctypes.addressof(each) for each in parameters))
        sizes = [(ctypes.c_uint * 3)(*each) for each in (launch.grid, launch.block)]
        if self.run_kernel(launch.kernel.encode(), *sizes, pointers) != 0:
            raise ValueError("the kernel is unknown, or its threads do not meet")


triton_helpers.libdevice = Libdevice()
