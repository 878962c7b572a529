# SPDX-License-Identifier: MIT
"""The prefix that the wheel was installed into, as a rule a virtual environment: it has what any
installation of Tenon has (bin, include, lib, share)."""

from __future__ import annotations

import functools
import pathlib

_ABI_MAJOR = 1
_PLUGINS = pathlib.PurePosixPath("share/tenon") / f"plugins-{_ABI_MAJOR}"


@functools.cache
def prefix() -> pathlib.Path | None:
    """The directory above the package that holds Tenon's plugins; None in a build directory.

    The package is in PREFIX/lib/python3.X/site-packages of an environment, or directly in what
    `pip install --target` was given.
    """
    package = pathlib.Path(__file__).resolve().parent
    for folder in list(package.parents)[:5]:
        if (folder / _PLUGINS).is_dir():
            return folder
    return None


def plugin_folder() -> pathlib.Path | None:
    """The directory of installed plugins in the prefix; None in a build directory."""
    found = prefix()
    return found / _PLUGINS if found else None
