# SPDX-License-Identifier: MIT
"""Where the installed package keeps its files."""

import os

PACKAGE = os.path.dirname(os.path.abspath(__file__))


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
