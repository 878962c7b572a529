# SPDX-License-Identifier: MIT
"""`pack`, and `merge_variants` and `strip_variants`: what tenon-pack does, and tenon-compile with programs."""

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


def _texts(values: Sequence[str], what: str) -> list[str]:
    if isinstance(values, str):
        raise TypeError(f"{what}: expected a list of texts, found one text")
    return list(values)


def pack(blob: Model, backend: str, program: str | os.PathLike[str], *,
         inputs: Sequence[str], outputs: Sequence[str],
         specs: Mapping[str, str | bytes] | None = None,
         data: Mapping[str, Model] | None = None,
         method: str = "forward") -> None:
    """Writes a program of one blob: a method with one call of one delegate, as tenon-pack does.

    blob: the bytes for the backend's `init`, or their file.
    backend: the backend's id.
    program: the `.pte` file to write.
    inputs, outputs: texts such as "Float:8,16" and "Half:1,512:dynamic": ExecuTorch's dtype and sizes, none for a
        scalar; with "dynamic" they are the largest.
    specs: compile specs by key. A text is stored as UTF-8, without a NUL.
    data: named data by key, paths or bytes, stored in the program.
    method: the method's name.

    Raises `Error`: AccessFailed for files, InvalidArgument and NotSupported for what no program can hold.
    """
    encoded: list[tuple[str, str | bytes]] = [
        (key, value.encode() if isinstance(value, str) else _source(value, f"specs[{key!r}]"))
        for key, value in (specs or {}).items()]
    named = [(key, _source(value, f"data[{key!r}]")) for key, value in (data or {}).items()]
    _aot.pack(_source(blob, "blob"), backend, os.fspath(program), _texts(inputs, "inputs"),
              _texts(outputs, "outputs"), encoded, named, method)


def merge_variants(program: str | os.PathLike[str],
                   variants: Sequence[Model | tuple[str, Model]]) -> None:
    """Joins programs of one model into a program whose methods have variants (docs/hosts/variants.md).

    program: the `.pte` file to write.
    variants: programs as paths, bytes, or `(name, program)`; a variant's default name is its backends' ids. The
        first runs in every runtime and is the least wanted; the others follow, the most wanted first.

    Raises `Error`: InvalidArgument for programs of different models, or equal names.
    """
    given = []
    for i, one in enumerate(variants):
        name, model = one if isinstance(one, tuple) else ("", one)
        priority = len(variants) - i if i else 0
        given.append((name, _source(model, f"variants[{i}]"), priority))
    _aot.merge_variants(os.fspath(program), given)


def strip_variants(model: Model, program: str | os.PathLike[str],
                   keep: Mapping[str, str] | None = None) -> None:
    """Writes a program with one variant of each method.

    model: the program with variants, a path or bytes.
    program: the `.pte` file to write.
    keep: names of variants by method; other methods keep their default.
    """
    _aot.strip_variants(_source(model, "model"), os.fspath(program), dict(keep or {}))


for _each in (pack, merge_variants, strip_variants):
    _each.__module__ = "tenon"
