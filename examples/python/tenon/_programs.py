# SPDX-License-Identifier: MIT
"""The native programs that the wheel brings, such as tenon-run."""

from __future__ import annotations

import os
import pathlib
import shutil

from . import _prefix

_BEGIN = "tenon-"


def installed() -> dict[str, pathlib.Path]:
    """The programs next to this package by their names without "tenon-", sorted; none in a build directory."""
    prefix = _prefix.prefix()
    folder = prefix / "bin" if prefix else None
    if folder is None or not folder.is_dir():
        return {}
    return {path.name.removeprefix(_BEGIN): path for path in sorted(folder.iterdir())
            if path.name.startswith(_BEGIN) and os.access(path, os.X_OK) and path.is_file()}


def find(name: str) -> pathlib.Path | None:
    """The program tenon-NAME: the one of this package, or else of PATH; None without either."""
    path = installed().get(name)
    if path is not None:
        return path
    on_path = shutil.which(_BEGIN + name) if name.isidentifier() else None
    return pathlib.Path(on_path) if on_path else None


def places() -> str:
    """Where `find` looks, for errors."""
    prefix = _prefix.prefix()
    return f"neither in {prefix / 'bin'} nor on PATH" if prefix else "not on PATH"
