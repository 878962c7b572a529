# SPDX-License-Identifier: MIT
"""`merge_variants` and `strip_variants`: what tenon-compile does with programs."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from . import _aot

Model = str | os.PathLike[str] | bytes


def _source(value: Model, what: str) -> str | bytes:
    """A path as a text, or bytes."""
    if isinstance(value, (str, os.PathLike)):
        return os.fspath(value)
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value)
    raise TypeError(f"{what}: expected a path or bytes, found {type(value).__name__}")


def merge_variants(program: str | os.PathLike[str],
                   variants: Sequence[Model | tuple[str, Model]]) -> None:
    """Joins programs for one model into one whose methods have a variant of each (docs/hosts/variants.md).

    program: the `.pte` file to write. It appears when it is complete, or not at all.
    variants: programs, paths or bytes such as `ExecutorchProgramManager.buffer`; with a name of the
        variant as `(name, program)`, else it has the ids of its backends. The first is the one that
        every runtime runs, and the least wanted; the others are in the order in which they are wanted.

    Raises `Error`: InvalidArgument for programs that are not for one model, or have equal names.
    """
    given = []
    for i, one in enumerate(variants):
        name, model = one if isinstance(one, tuple) else ("", one)
        priority = len(variants) - i if i else 0
        given.append((name, _source(model, f"variants[{i}]"), priority))
    _aot.merge_variants(os.fspath(program), given)


def strip_variants(model: Model, program: str | os.PathLike[str],
                   keep: Mapping[str, str] | None = None) -> None:
    """Writes a program with one variant of each method, and without the data of the others.

    model: the program with variants, a path or bytes.
    program: the `.pte` file to write.
    keep: names of variants by method; a method that is not named keeps its default.
    """
    _aot.strip_variants(_source(model, "model"), os.fspath(program), dict(keep or {}))


merge_variants.__module__ = "tenon"
strip_variants.__module__ = "tenon"
