# SPDX-License-Identifier: MIT
"""Runs ExecuTorch programs with backends that are Tenon plugins; PyTorch is not needed.

    import tenon

    method = tenon.load("model.pte", data=["weights.ptd"])["forward"]
    y = method(x)           # x: anything that speaks DLPack or the buffer protocol
    numpy.asarray(y)        # y: an Array, which does so as well

`load` opens a program, `plugins` lists the backends that are installed, `doctor` reports whether a
program can run here and why not, `inspect` describes a plugin, `compile` makes a program of a module of PyTorch
(this alone needs torch), `pack` one of one blob,
`merge_variants` one program for several devices, and `strip_variants` one for a single device again.
Every failure is an `Error` with
ExecuTorch's number and name; an argument of a wrong Python type is a TypeError.
"""

from ._error import Error
from ._program import (
    Method,
    MethodMeta,
    Program,
    TensorInfo,
    Value,
    execute_async,
    load,
    register_backend,
)
from ._tenon import Array, Conversation, Conversations, Intermediate, Sequence, Session, ThreadPool, Trace, __version__

__all__ = [
    "Array",
    "Compiled",
    "Conversation",
    "Conversations",
    "Error",
    "Intermediate",
    "Method",
    "MethodMeta",
    "Program",
    "Sequence",
    "Session",
    "TensorInfo",
    "ThreadPool",
    "Trace",
    "Value",
    "compile",
    "doctor",
    "execute_async",
    "inspect",
    "load",
    "merge_variants",
    "pack",
    "plugins",
    "register_backend",
    "strip_variants",
]

TYPE_CHECKING = False  # As `typing` has it, whose import takes longer than all of this package.
if TYPE_CHECKING:
    from ._compile import Compiled, compile
    from ._reports import doctor, inspect, plugins
    from ._write import merge_variants, pack, strip_variants

# What these modules are made of takes longer to import than all else.
_LATE = {
    "_compile": ("Compiled", "compile"),
    "_reports": ("doctor", "inspect", "plugins"),
    "_write": ("merge_variants", "pack", "strip_variants"),
}


def _loaded_late(name: str) -> object:
    for module, names in _LATE.items():
        if name in names:
            import importlib

            found = importlib.import_module(f"{__name__}.{module}")
            globals().update({each: getattr(found, each) for each in names})
            return globals()[name]
    raise AttributeError(f"module 'tenon' has no attribute {name!r}")


if not TYPE_CHECKING:  # With it a checker takes any name for one of the module.
    __getattr__ = _loaded_late


def __dir__() -> list[str]:
    return sorted(set(globals()) | set(__all__))
