# SPDX-License-Identifier: MIT
"""The arguments of a call of an exported module, checked and in the order of its program."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch.export.graph_signature import ConstantArgument, InputKind, TensorArgument
from torch.utils import _pytree

if TYPE_CHECKING:
    from torch.export import ExportedProgram


class Arguments:
    """What `torch.export` recorded of a module's arguments.

    A call binds them as PyTorch's own call of an exported module does. It also takes by name what the module was traced
    with by position.
    """

    def __init__(self, exported: ExportedProgram) -> None:
        self._spec = exported.call_spec.in_spec
        positional, keywords = self._spec.children()
        self._count: int = positional.num_children
        self._keywords: list[str] = list(keywords.context or ())
        self._inputs = [spec.arg for spec in exported.graph_signature.input_specs if spec.kind == InputKind.USER_INPUT]
        # Programs of archives from before PyTorch 2.7 have no names of positional arguments.
        signature = exported.module_call_graph[0].signature if exported.module_call_graph else None
        names = getattr(signature, "forward_arg_names", None) or []
        self._names: list[str] = list(names[:self._count])

    def inputs_of(self, given: Sequence[Any], keywords: Mapping[str, Any]) -> list[Any]:
        """The inputs of the program: tensors, dense and without lazy conjugation or negation, and numbers.

        Raises TypeError for names, counts and types of arguments that the module does not have, and ValueError for another
        structure, and for a constant that is not the traced one.
        """
        leaves = self._spec.flatten_up_to(self._bound(given, keywords))
        return [each for number, leaf in enumerate(leaves) for each in self._input(number, leaf)]

    def _bound(self, given: Sequence[Any], keywords: Mapping[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        taken = list(given)
        left = dict(keywords)
        if len(taken) > self._count:
            raise TypeError(f"expected {self._count} positional arguments, found {len(taken)}")
        for name in self._names[len(taken):]:
            if name not in left:
                break
            taken.append(left.pop(name))
        unknown = [repr(name) for name in left if name not in self._keywords]
        if unknown:
            expected = ", ".join([*self._names, *self._keywords]) or "none"
            raise TypeError(f"expected the arguments {expected}, found {', '.join(unknown)}"
                            + (", which has a value already" if set(left) & set(self._names) else ""))
        missing = self._names[len(taken):] + [name for name in self._keywords if name not in left]
        if missing or len(taken) < self._count:
            raise TypeError(f"missing arguments: {', '.join(missing) or self._count - len(taken)}; the module was traced "
                            "with them")
        return tuple(taken), {name: left[name] for name in self._keywords}

    def _input(self, number: int, leaf: Any) -> list[Any]:
        expected = self._inputs[number]
        if isinstance(expected, TensorArgument):
            if not isinstance(leaf, torch.Tensor):
                raise TypeError(f"argument {self._path(number)}: expected a tensor, found {type(leaf).__name__}")
            return [leaf.detach().contiguous().resolve_conj().resolve_neg()]
        if isinstance(expected, ConstantArgument):
            # Texts of floats, as NaN is equal to none and -0.0 to 0.0.
            same = type(leaf) is type(expected.value) and (
                repr(leaf) == repr(expected.value) if isinstance(leaf, float) else leaf == expected.value)
            if not same:
                raise ValueError(f"argument {self._path(number)}: expected {expected.value!r}, which the module was traced "
                                 f"with, found {leaf!r}")
            return []
        if not isinstance(leaf, (int, float)):  # A number that may change.
            raise TypeError(f"argument {self._path(number)}: expected a number, found {type(leaf).__name__}")
        return [leaf]

    def _path(self, number: int) -> str:
        """ "x" or "x['mask']" for an argument."""
        tree = _pytree.tree_unflatten(range(self._spec.num_leaves), self._spec)
        path = next(keys for keys, leaf in _pytree.tree_flatten_with_path(tree)[0] if leaf == number)
        side, first = path[0].idx, path[1]
        name = first.key if side == 1 else self._names[first.idx] if self._names else str(first.idx)
        return f"{name}{_pytree.keystr(path[2:])}"
