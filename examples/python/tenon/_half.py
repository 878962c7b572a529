# SPDX-License-Identifier: MIT
"""The ahead-of-time half of a backend, and its compile specs; neither torch nor executorch is imported."""

import os
from collections.abc import Sequence

from . import _aot, _entry_points, _prefix


def load_half(backend_id: str, files: Sequence[str]) -> _aot.Backend:
    """Finds the backend as every host does, and loads its plugin.

    `files` come first; without them a package that offers the id by an entry point "tenon.plugins" does.
    Then come TENON_PLUGIN_FILES, TENON_PLUGIN_PATH and installed plugins.

    Raises tenon.Error: NotFound when no plugin has the id, NotSupported when that plugin cannot compile.
    """
    offered = None if files else _entry_points.plugin_file(backend_id)
    installed = _prefix.plugin_folder()
    return _aot.Backend(backend_id, list(files) if offered is None else [offered],
                        "" if installed is None else os.fspath(installed))


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
