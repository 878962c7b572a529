# SPDX-License-Identifier: MIT
"""Where the installed package keeps its files."""

import os

TYPE_CHECKING = False  # As `typing` has it, whose import takes longer than all of this package.
if TYPE_CHECKING:
    from _collections_abc import Iterable

PACKAGE = os.path.dirname(os.path.abspath(__file__))


def files(what: str, given: "str | os.PathLike[str] | Iterable[str | os.PathLike[str]]") -> "list[str]":
    """The paths of one file or of several, as texts."""
    if isinstance(given, (str, os.PathLike)):
        return [os.fspath(given)]
    if not isinstance(given, bytes):  # Which is a sequence, of numbers.
        paths = list(given)
        if all(isinstance(each, (str, os.PathLike)) for each in paths):
            return [os.fspath(each) for each in paths]
        given = next(each for each in paths if not isinstance(each, (str, os.PathLike)))
    raise TypeError(f"{what}: expected the path of a file, or a sequence of paths, found {type(given).__name__}")


def plugin_paths() -> "list[str]":
    """The directory of installed plugins, of the wheel and of other packages; none in a build
    directory."""
    from . import _prefix  # Its imports take longer than all of this package.

    folder = _prefix.plugin_folder()
    return [] if folder is None else [str(folder)]


def worker() -> str:
    """The program of workers in the prefix; empty in a build directory, and when TENON_WORKER names it."""
    if os.environ.get("TENON_WORKER"):
        return ""
    from . import _prefix

    found = _prefix.prefix()
    return "" if found is None else str(found / "libexec/tenon/tenon-worker")
