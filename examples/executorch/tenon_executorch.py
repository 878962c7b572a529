# SPDX-License-Identifier: MIT
"""Plugins of Tenon in the stock Python of ExecuTorch.

    import tenon_executorch
    from executorch.runtime import Runtime

    tenon_executorch.register_plugins("/path/to/plugin.so")
    with tenon_executorch.errors():
        Runtime.get().load_program("model.pte").load_method("forward").execute(inputs)

ExecuTorch cannot unregister a backend: it stays registered until the process ends.

The shared library libtenon_executorch.so is looked for in the directory of this file, or at the path
in TENON_EXECUTORCH_LIBRARY. One build of it serves one minor version of ExecuTorch; for another one
the import of this module raises a TenonError.
"""

import contextlib
import ctypes
import json
import os
import pathlib
import warnings

import executorch.runtime  # Loads ExecuTorch's library, which ours is linked with, first.
import executorch.version

__all__ = ["TenonError", "TenonWarning", "errors", "register_plugins", "registered"]


class TenonError(RuntimeError):
    """A failure with its text. `number` and `name` are ExecuTorch's: 0x30, "DelegateInvalid..."."""

    def __init__(self, number, name, text):
        super().__init__(f"{name} (0x{number:02x}): {text}")
        self.number = number
        self.name = name
        self.text = text


class TenonWarning(RuntimeWarning):
    """A backend that was not registered, as ExecuTorch has its id already."""


_NOT_SUPPORTED = 0x10


def _load():
    default = pathlib.Path(__file__).resolve().with_name("libtenon_executorch.so")
    path = os.environ.get("TENON_EXECUTORCH_LIBRARY") or str(default)
    found = executorch.version.__version__
    try:
        library = ctypes.CDLL(path)
    except OSError as failure:
        # A bridge for another version may ask for functions that this one does not have.
        raise TenonError(_NOT_SUPPORTED, "NotSupported",
                         f"{path} cannot be loaded with ExecuTorch {found}: {failure}") from None
    text = ctypes.POINTER(ctypes.c_char_p)
    library.tenon_executorch_built_for.restype = ctypes.c_char_p
    library.tenon_executorch_register.argtypes = [
        ctypes.c_char_p, ctypes.POINTER(ctypes.c_char_p), ctypes.c_size_t]
    library.tenon_executorch_register.restype = ctypes.c_uint32
    library.tenon_executorch_refused.restype = ctypes.c_char_p
    library.tenon_executorch_registered.restype = ctypes.c_char_p
    library.tenon_executorch_last_error.argtypes = [text, text]
    library.tenon_executorch_last_error.restype = ctypes.c_uint32
    library.tenon_executorch_clear_error.restype = None
    built_for = library.tenon_executorch_built_for().decode()
    if found.split(".")[:2] != built_for.split("."):
        raise TenonError(_NOT_SUPPORTED, "NotSupported",
                         f"{path} was compiled for ExecuTorch {built_for}, but this is ExecuTorch "
                         f"{found}: use one that was compiled for this minor version")
    return library


_library = _load()


def _last_error():
    """The last error of this thread as an exception, or None."""
    name, text = ctypes.c_char_p(), ctypes.c_char_p()
    number = _library.tenon_executorch_last_error(ctypes.byref(name), ctypes.byref(text))
    return TenonError(number, name.value.decode(), text.value.decode()) if number else None


def registered():
    """The registered backends: a list of dicts with "id", "plugin" (its file) and "version"."""
    return json.loads(_library.tenon_executorch_registered().decode())


def register_plugins(path=None, ids=None):
    """Registers the backends of the plugin in the file `path`, or of all plugins that are found.

    Found are those of TENON_PLUGIN_FILES, of the folders in TENON_PLUGIN_PATH and of the folder of
    installed plugins. Returns the ids. Not while another thread loads programs, as ExecuTorch's
    table has no lock.

    `ids` names the backends to register: all of them or none, and a TenonError says why not.
    Without it, a backend whose id ExecuTorch has already is left out, with a TenonWarning that says
    how to avoid it; it is a TenonError if no other is left.
    """
    if isinstance(ids, (str, bytes)):
        raise TypeError(f"ids: expected a list of ids, found the text {ids!r}")
    if ids is not None and not (ids := list(ids)):
        return []
    wanted = [id.encode() for id in ids or []]
    before = len(registered())
    _library.tenon_executorch_clear_error()
    number = _library.tenon_executorch_register(
        None if path is None else os.fsencode(path), (ctypes.c_char_p * len(wanted))(*wanted),
        len(wanted))
    if number:
        raise _last_error() or TenonError(number, "MemoryAllocationFailed", "out of memory")
    done = [each["id"] for each in registered()[before:]]
    for each in json.loads(_library.tenon_executorch_refused().decode()):
        warnings.warn(each["reason"], TenonWarning, stacklevel=2)
    return done


@contextlib.contextmanager
def errors():
    """Turns a RuntimeError of ExecuTorch, which has a number at most, into the TenonError behind it.

    Errors that are not of a plugin pass unchanged. For the thread that runs it.
    """
    _library.tenon_executorch_clear_error()
    try:
        yield
    except RuntimeError as failure:
        reason = None if isinstance(failure, TenonError) else _last_error()
        if reason is None:
            raise
        raise reason from failure
