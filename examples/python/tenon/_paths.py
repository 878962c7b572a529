# SPDX-License-Identifier: MIT
"""Where the installed package keeps its files."""

import os

from . import _prefix

PACKAGE = os.path.dirname(os.path.abspath(__file__))


def plugin_paths() -> "list[str]":
    """The directory of installed plugins, of the wheel and of other packages; none in a build
    directory."""
    folder = _prefix.plugin_folder()
    return [] if folder is None else [str(folder)]
