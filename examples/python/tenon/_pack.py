# SPDX-License-Identifier: MIT
"""`pack`: what tenon-pack does."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from . import _aot


def _source(value: str | os.PathLike[str] | bytes, what: str) -> str | bytes:
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


def pack(blob: str | os.PathLike[str] | bytes, backend: str, program: str | os.PathLike[str], *,
         inputs: Sequence[str], outputs: Sequence[str],
         specs: Mapping[str, str | bytes] | None = None,
         data: Mapping[str, str | os.PathLike[str] | bytes] | None = None,
         method: str = "forward") -> None:
    """Writes a program of one blob of a runtime that exists: a method with one call of one delegate
    (tenon-pack).

    blob: what the backend's `init` gets; the path of a file, or bytes.
    backend: the backend's id.
    program: the `.pte` file to write. It appears when it is complete, or not at all.
    inputs, outputs: texts such as "Float:8,16" and "Half:1,512:dynamic": ExecuTorch's name of the
        dtype, sizes with commas between them, none for a scalar; with "dynamic" they are the largest.
    specs: compile specs by key. A text is stored as UTF-8, without a NUL.
    data: named data by key, paths or bytes; it is stored in the program.
    method: the method's name.

    Raises `Error`: AccessFailed for a file that cannot be read or written, InvalidArgument and
    NotSupported for what no program can hold.
    """
    encoded: list[tuple[str, str | bytes]] = [
        (key, value.encode() if isinstance(value, str) else _source(value, f"specs[{key!r}]"))
        for key, value in (specs or {}).items()]
    named = [(key, _source(value, f"data[{key!r}]")) for key, value in (data or {}).items()]
    _aot.pack(_source(blob, "blob"), backend, os.fspath(program), _texts(inputs, "inputs"),
              _texts(outputs, "outputs"), encoded, named, method)


pack.__module__ = "tenon"
