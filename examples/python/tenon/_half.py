# SPDX-License-Identifier: MIT
"""The ahead-of-time half of a backend, and its compile specs; neither torch nor executorch is imported."""

import os
from collections.abc import Sequence

from . import _aot, _entry_points, _prefix
from ._error import Error


def load_half(backend_id: str, files: Sequence[str]) -> _aot.Backend:
    """Finds the backend as every host does, and loads its plugin.

    `files` come first; without them a package that offers the id by an entry point "tenon.plugins" does.
    Then come TENON_PLUGIN_FILES, TENON_PLUGIN_PATH and installed plugins.

    Raises tenon.Error: NotFound when no plugin has the id, NotSupported when that plugin cannot compile.
    """
    return _aot.Backend(backend_id, *_places(backend_id, files))


def load_half_or_export(backend_id: str, files: Sequence[str]) -> "_aot.Backend | _aot.AotiExport":
    """The ahead-of-time half of a backend; for models of AOTInductor the facts that an exporter needs.

    Raises tenon.Error as `load_half`.
    """
    try:
        return load_half(backend_id, files)
    except Error as no_half:
        if no_half.name != "NotSupported":
            raise
        try:
            return load_aoti_export(backend_id, files)
        except Error:
            raise no_half from None


def load_aoti_export(backend_id: str, files: Sequence[str]) -> _aot.AotiExport:
    """The facts that an exporter needs of a backend for models of AOTInductor, found as in `load_half`.

    Raises tenon.Error: NotFound when no plugin has the id, NotSupported when that plugin does not run such models.
    """
    return _aot.AotiExport(backend_id, *_places(backend_id, files))


def _places(backend_id: str, files: Sequence[str]) -> tuple[list[str], str]:
    """The plugin files to look in first, and the directory of installed plugins."""
    offered = None if files else _entry_points.plugin_file(backend_id)
    installed = _prefix.plugin_folder()
    return list(files) if offered is None else [offered], "" if installed is None else os.fspath(installed)


def to_bytes(what: str, value: object) -> bytes:
    """Some of ExecuTorch's users give text, where CompileSpec says bytes."""
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value)
    raise TypeError(f"{what}: expected text or bytes, found {type(value).__name__}")


def option_bytes(key: str, value: object) -> bytes:
    """The bytes of a compile spec: text, numbers as text, True and False as "1" and "0", bytes as they are."""
    if isinstance(value, bool):
        return b"1" if value else b"0"
    return to_bytes(f"option {key!r}", str(value) if isinstance(value, (int, float)) else value)
