# SPDX-License-Identifier: MIT
"""What `torch.compile(..., options=..., mode=...)` may say; torch is not imported."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping, Sequence

from .. import _entry_points, _paths
from .._error import Error
from .._half import option_bytes

MODES = ("default", "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs", "explain")
RESTS = ("eager", "inductor")
_INVALID_ARGUMENT = (0x12, "InvalidArgument")


@dataclasses.dataclass(frozen=True)
class Options:
    """The options of one `torch.compile`, checked. `parse` makes it."""

    backend: str
    """The id of the plugin's backend."""
    compile_specs: tuple[tuple[str, bytes], ...] = ()
    """What the backend gets when it chooses nodes; it decides which are stored with its blobs."""
    plugins: tuple[str, ...] = ()
    """Files to look in first."""
    delegate: tuple[tuple[str, object], ...] = ()
    """Options of the delegates, when they load."""
    rest: str = "eager"
    """What runs the nodes that the backend does not take: "eager" or "inductor"."""
    strict: bool = False
    """A graph of which a node is left, or that wants gradients, is refused."""
    freeze: bool = False
    """Parameters and buffers are constants of the graph, until PyTorch counts a change of them. PyTorch does not count
    writes through `tensor.data` and `tensor.numpy()`: they are not seen. Without it parameters and buffers are inputs."""
    store: str | None = None
    """The directory in which compiled programs are kept; "": the user's; None: nothing is kept."""
    largest_size: int | None = None
    """The upper bound of a dynamic size that has none. Above it a partition is run by eager."""
    weights_limit: int = 8
    """For how many contents of the parameters a graph is compiled. After that eager runs it."""
    mode: str = "default"
    """How Inductor compiles the rest; "explain" compiles nothing, prints what would be taken, and runs eager.
    `torch.compile` takes either `mode=` or `options=`."""


def _refuse(text: str) -> Error:
    return Error(*_INVALID_ARGUMENT, text)


def _typed(name: str, value: object, kinds: type | tuple[type, ...], expected: str) -> object:
    if not isinstance(value, kinds) or (isinstance(value, bool) and kinds is int):
        raise TypeError(f"options[{name!r}]: expected {expected}, found {type(value).__name__}")
    return value


def _positive(name: str, value: object) -> int:
    number = _typed(name, value, int, "a number")
    if number < 1:
        raise _refuse(f"options[{name!r}]: expected a positive number, found {number}")
    return number


def _mapping(name: str, value: object) -> Mapping[str, object]:
    return _typed(name, value, Mapping, "a dict")


def _files(value: object) -> tuple[str, ...]:
    if not isinstance(value, (str, os.PathLike, Sequence)):
        raise TypeError(f"options['plugins']: expected a file or a list of files, found {type(value).__name__}")
    return tuple(os.path.abspath(each) for each in _paths.files("options['plugins']", value))


def _store(value: object) -> str | None:
    if value is None or value is False:
        return None
    return "" if value is True else os.fspath(value)


_READERS = {
    "backend": lambda value: _typed("backend", value, str, "the id of a backend"),
    "compile_specs": lambda value: tuple(
        (key, option_bytes(key, each)) for key, each in _mapping("compile_specs", value).items()),
    "plugins": _files,
    "delegate": lambda value: tuple(_mapping("delegate", value).items()),
    "rest": lambda value: _typed("rest", value, str, '"eager" or "inductor"'),
    "strict": lambda value: _typed("strict", value, bool, "a bool"),
    "freeze": lambda value: _typed("freeze", value, bool, "a bool"),
    "store": _store,
    "largest_size": lambda value: None if value is None else _positive("largest_size", value),
    "weights_limit": lambda value: _positive("weights_limit", value),
    "mode": lambda value: _typed("mode", value, str, "a text"),
}


def parse(options: Mapping[str, object] | None, mode: str | None = None,
          backend: str | None = None) -> Options:
    """Checks what a user gave. `backend` is the id that `torch.compile` named; None for "tenon".

    Raises tenon.Error, InvalidArgument, for a name or a value that is unknown, and TypeError for a value of
    a wrong type.
    """
    given = dict(_typed("", options or {}, Mapping, "a dict"))
    unknown = sorted(set(given) - set(_READERS))
    if unknown:
        raise _refuse(f"options: expected {', '.join(_READERS)}, found {', '.join(map(repr, unknown))}; "
                      "what is for the backend is in options['compile_specs']")
    read = {name: _READERS[name](value) for name, value in given.items()}
    if backend is not None and read.setdefault("backend", backend) != backend:
        raise _refuse(f"options['backend']: expected '{backend}' as in torch.compile(backend='{backend}'), "
                      f"found '{read['backend']}'")
    if "backend" not in read:
        offered = ", ".join(_entry_points.offered())
        raise _refuse("options: expected the id of a backend, as in options={'backend': 'GraphBackend'}; "
                      f"installed packages offer: {offered or 'none'}")
    if mode is not None:
        read["mode"] = mode
    out = Options(**read)
    if out.rest not in RESTS:
        raise _refuse(f"options['rest']: expected {' or '.join(RESTS)}, found '{out.rest}'")
    if out.mode not in MODES:
        raise _refuse(f"mode: expected {', '.join(MODES)}, found '{out.mode}'")
    return out
