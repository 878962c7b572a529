# SPDX-License-Identifier: MIT
"""Plugins in ONNX Runtime's sessions: `register` and `library`."""

from __future__ import annotations

import ctypes
import functools
import os
import pathlib
import typing

from .. import _paths, _prefix

if typing.TYPE_CHECKING:
    import onnxruntime


def library() -> str:
    """The path of the library that onnxruntime.register_execution_provider_library takes."""
    return os.environ.get("TENON_ONNXRUNTIME_LIBRARY") or str(
        pathlib.Path(__file__).resolve().with_name("libtenon_onnxruntime.so"))


@functools.cache
def _installed() -> ctypes.CDLL:
    """The library, which knows where this package's plugins and workers are."""
    loaded = ctypes.CDLL(library())
    for function, value in (("set_installed", _prefix.plugin_folder()), ("set_worker", _paths.worker())):
        set_path = getattr(loaded, "tenon_onnxruntime_" + function)
        set_path.argtypes = [ctypes.c_char_p]
        set_path.restype = None
        set_path(os.fsencode(value) if value else None)
    return loaded


def register(*backends: str) -> list[onnxruntime.OrtEpDevice]:
    """Registers plugins in ONNX Runtime, and returns the devices for SessionOptions.add_provider_for_devices.

    backends: ids; none: all backends that are found, of which ONNX Runtime takes four.

    Found are the plugins of TENON_PLUGIN_FILES, of the directories in TENON_PLUGIN_PATH, and of the directory of
    installed plugins. onnxruntime.unregister_execution_provider_library("Id,Id") takes the registration back; its name
    is the ids with commas between them, or "tenon".

    Raises what ONNX Runtime raises.
    """
    import onnxruntime

    _installed()
    before = {each.ep_name for each in onnxruntime.get_ep_devices()}
    onnxruntime.register_execution_provider_library(",".join(backends) or "tenon", library())
    return [each for each in onnxruntime.get_ep_devices()
            if (each.ep_name in backends if backends else each.ep_name not in before)]
