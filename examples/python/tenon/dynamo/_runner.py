# SPDX-License-Identifier: MIT
"""Runs one partition: tensors of torch in and out, by DLPack."""

import torch
from torch._dynamo.utils import counters
from torch.autograd import profiler

from .. import _program
from .._error import Error

_from_dlpack = torch._C._from_dlpack
_has_exchange_api = hasattr(torch.Tensor, "__dlpack_c_exchange_api__")


class Runner:
    """A compiled partition. Any thread may call it: each call has a method of its own.

    data: the files that the backend stores data in, as bytes.
    inputs: the fake tensors that it was compiled for.
    orders: the order of dimensions of each input in the program.
    checked: numbers of the inputs whose tensors may be in another order, or have gaps.
    exact: by number of an output that is in the plain order, the order that the graph promises.
    label: what a profile shows.
    eager: runs the partition without the plugin, when a size is above `largest_size`.
    """

    def __init__(self, program, backend_id, *, data, plugins, delegate, inputs, orders, checked, exact, label, eager,
                 largest_size):
        options = {backend_id: dict(delegate)} if delegate else None
        self._program = _program.load(program, data=data, plugins=plugins, options=options)
        # The first is loaded now, so that a blob that cannot be used fails in the compilation.
        self._methods = [self._program.load_method("forward")]
        self._orders, self._checked, self._exact = orders, checked, exact
        # PyTorch's exchange API, which Tenon reads tensors by, ignores these bits; Dynamo guards them.
        self._resolved = [i for i, each in enumerate(inputs) if each.is_neg() or each.is_conj()]
        # Without that API a tensor that requires gradients has no DLPack capsule.
        self._detached = [] if _has_exchange_api else [i for i, each in enumerate(inputs) if each.requires_grad]
        self._is_prepared = not (self._checked or self._resolved or self._detached)
        self._label, self._eager = label, eager
        is_dynamic = any(isinstance(size, torch.SymInt) for each in inputs for size in each.shape)
        self._largest_size = largest_size if is_dynamic else None

    def __call__(self, *tensors):
        if profiler._is_profiler_enabled:
            with profiler.record_function(self._label):
                return self._run(tensors)
        return self._run(tensors)

    def _run(self, tensors):
        if not self._is_prepared:
            tensors = self._prepare(tensors)
        methods = self._methods
        try:
            method = methods.pop()
        except IndexError:  # Other threads run them all.
            method = self._program.load_method("forward")
        try:
            outputs = method.execute(tensors)
        except Error as failure:
            if self._is_above(tensors):
                counters["tenon"]["runs above largest_size"] += 1
                return self._eager(*tensors)
            outputs = self._run_in_order(method, tensors, failure)
        finally:
            methods.append(method)
        made = [_from_dlpack(each.__dlpack__()) for each in outputs]
        for i, order in self._exact:
            made[i] = in_order(made[i], order)
        return made

    def _prepare(self, tensors):
        tensors = list(tensors)
        for i in self._detached:
            tensors[i] = tensors[i].detach()
        for i in self._resolved:
            tensors[i] = tensors[i].resolve_neg().resolve_conj()
        for i in self._checked:
            tensors[i] = in_order(tensors[i], self._orders[i])
        return tensors

    def _is_above(self, tensors):
        largest = self._largest_size
        return largest is not None and any(size > largest for each in tensors for size in each.shape)

    def _run_in_order(self, method, tensors, failure):
        """Once more: the strides of a result of eager at times differ from its fake's."""
        ordered = [in_order(each, order) for each, order in zip(tensors, self._orders)]
        if all(a is b for a, b in zip(ordered, tensors)):
            raise failure
        return method.execute(ordered)


def in_order(tensor, order):
    """The tensor with dense elements in that order of dimensions: itself, or a copy."""
    permuted = tensor.permute(order)
    if permuted.is_contiguous():
        return tensor
    inverse = sorted(range(len(order)), key=order.__getitem__)
    return permuted.contiguous().permute(inverse)
