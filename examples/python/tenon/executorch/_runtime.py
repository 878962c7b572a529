# SPDX-License-Identifier: MIT
"""Plugins in ExecuTorch's runtime: `register_plugins` for executorch.runtime."""

import contextlib
import ctypes
import functools
import json
import os
import pathlib
import warnings
from collections.abc import Iterable, Iterator

from .. import _entry_points, _paths, _prefix
from .._error import Error

_NOT_SUPPORTED = (0x10, "NotSupported")


class NotRegisteredWarning(RuntimeWarning):
    """A backend that was not registered, as ExecuTorch has its id already."""


@functools.cache
def _bridge() -> ctypes.CDLL:
    """The library that registers plugins in ExecuTorch. It must never be unloaded, and is not."""
    import executorch.runtime  # Loads ExecuTorch's library, which the bridge is linked with, first.
    from executorch.version import __version__ as found
    default = pathlib.Path(__file__).resolve().with_name("libtenon_executorch.so")
    path = os.environ.get("TENON_EXECUTORCH_LIBRARY") or str(default)
    try:
        library = ctypes.CDLL(path)
    except OSError as failure:
        # A bridge for another version may ask for functions that this one does not have.
        raise Error(*_NOT_SUPPORTED,
                    f"{path} cannot be loaded with ExecuTorch {found}: {failure}") from None
    text = ctypes.POINTER(ctypes.c_char_p)
    library.tenon_executorch_built_for.restype = ctypes.c_char_p
    library.tenon_executorch_set_installed.argtypes = [ctypes.c_char_p]
    library.tenon_executorch_set_installed.restype = None
    library.tenon_executorch_set_worker.argtypes = [ctypes.c_char_p]
    library.tenon_executorch_set_worker.restype = None
    library.tenon_executorch_register.argtypes = [ctypes.c_char_p, text, ctypes.c_size_t]
    library.tenon_executorch_register.restype = ctypes.c_uint32
    library.tenon_executorch_refused.restype = ctypes.c_char_p
    library.tenon_executorch_registered.restype = ctypes.c_char_p
    library.tenon_executorch_last_error.argtypes = [text, text]
    library.tenon_executorch_last_error.restype = ctypes.c_uint32
    library.tenon_executorch_clear_error.restype = None
    built_for = library.tenon_executorch_built_for().decode()
    if found.split(".")[:2] != built_for.split("."):
        raise Error(*_NOT_SUPPORTED,
                    f"{path} was compiled for ExecuTorch {built_for}, but this is ExecuTorch "
                    f"{found}: use a library for this minor version")
    return library


def _last_error() -> Error | None:
    """The last error of this thread."""
    name, text = ctypes.c_char_p(), ctypes.c_char_p()
    number = _bridge().tenon_executorch_last_error(ctypes.byref(name), ctypes.byref(text))
    return Error(number, name.value.decode(), text.value.decode()) if number else None


def registered() -> list[dict[str, str]]:
    """The registered backends: "id", "plugin" (its file) and "version" of each."""
    return json.loads(_bridge().tenon_executorch_registered().decode())


def register_plugins(path: str | os.PathLike[str] | None = None,
                     ids: Iterable[str] | None = None) -> list[str]:
    """Registers the backends of the plugin in the file `path`, or of all plugins that are found.

    Found are the plugins of TENON_PLUGIN_FILES, of the directories in TENON_PLUGIN_PATH, of the directory of installed
    plugins, and those that installed packages offer by entry points of group "tenon.plugins". Returns the ids. A
    backend stays registered until the process ends. Do not call it while another thread loads programs, as ExecuTorch's
    table has no lock.

    `ids` names the backends to register: all of a plugin, or of those that are found, or none.
    Without it, a backend whose id ExecuTorch has already is left out, with a NotRegisteredWarning
    that says how to avoid it; it is an error if no other is left.

    Raises tenon.Error, which says why nothing was registered: NotSupported with another minor version
    of ExecuTorch than the one that the bridge was compiled for.
    """
    if isinstance(ids, (str, bytes)):
        raise TypeError(f"ids: expected a list of ids, found the text {ids!r}")
    wanted = None if ids is None else list(ids)
    if wanted == []:
        return []
    if path is not None:
        return _register(path, wanted)
    folder = _prefix.plugin_folder()
    _bridge().tenon_executorch_set_installed(None if folder is None else os.fsencode(folder))
    known = {each["id"] for each in registered()}
    offered = [id for id in _entry_points.offered()
               if (id not in known if wanted is None else id in wanted)]
    files = {id: _entry_points.plugin_file(id) for id in offered}  # Fails before anything is done.
    others = None if wanted is None else [id for id in wanted if id not in files]
    done = [] if others == [] else _register(None, others)
    for id, file in files.items():
        if id not in done:
            done += _register(file, [id])
    return done


def _register(path: str | os.PathLike[str] | None, ids: list[str] | None) -> list[str]:
    bridge = _bridge()
    wanted = [id.encode() for id in ids or []]
    before = len(registered())
    bridge.tenon_executorch_clear_error()
    bridge.tenon_executorch_set_worker(os.fsencode(_paths.worker()) or None)
    number = bridge.tenon_executorch_register(
        None if path is None else os.fsencode(path), (ctypes.c_char_p * len(wanted))(*wanted),
        len(wanted))
    if number:
        raise _last_error() or Error(number, "MemoryAllocationFailed", "out of memory")
    done = [each["id"] for each in registered()[before:]]
    for each in json.loads(bridge.tenon_executorch_refused().decode()):
        warnings.warn(each["reason"], NotRegisteredWarning, stacklevel=3)
    return done


@contextlib.contextmanager
def errors() -> Iterator[None]:
    """Turns a RuntimeError of ExecuTorch, which has a number at most, into the tenon.Error behind it.

    Errors that are not of a plugin pass unchanged. For the thread that runs it.
    """
    _bridge().tenon_executorch_clear_error()
    try:
        yield
    except RuntimeError as failure:
        reason = None if isinstance(failure, Error) else _last_error()
        if reason is None:
            raise
        raise reason from failure
