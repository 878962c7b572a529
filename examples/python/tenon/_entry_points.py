# SPDX-License-Identifier: MIT
"""Plugins that installed Python packages offer by entry points of the group `tenon.plugins`.

The name of an entry point is the id of a backend. Its object is the path of the plugin's file, or a
function that returns the path:

    [project.entry-points."tenon.plugins"]
    AcmeBackend = "acme:plugin"

Entry points are read from the metadata of packages: nothing is imported until a backend is used.
"""

from __future__ import annotations

import dataclasses
import functools
import importlib
import os
import pathlib
from typing import Any

from ._error import Error

GROUP = "tenon.plugins"
_ACCESS_FAILED = (0x22, "AccessFailed")
_REGISTERED_TWICE = (0x16, "RegistrationAlreadyRegistered")


@dataclasses.dataclass(frozen=True)
class Offer:
    """One entry point, not loaded."""

    id: str
    """The backend's id."""
    distribution: str
    """The name of the package that was installed, as pip has it."""
    version: str
    """The version of that package."""
    value: str
    """The object, as `module:attribute`."""

    def __str__(self) -> str:
        return f"{self.distribution} {self.version} ({self.value})"


@functools.cache
def offered() -> dict[str, list[Offer]]:
    """The entry points of all installed packages: a dict from ids to lists of `Offer`.

    Read once in a process. More than one `Offer` for an id is an error where the backend is used.
    """
    # Takes longer than all of `import tenon`.
    metadata = importlib.import_module("importlib.metadata")
    offers: dict[str, list[Offer]] = {}
    for distribution in metadata.distributions():
        for entry in distribution.entry_points:
            if entry.group != GROUP:
                continue
            about = distribution.metadata
            offer = Offer(entry.name, about["Name"], about["Version"], entry.value)
            known = offers.setdefault(entry.name, [])
            # A directory may be on the path twice.
            if offer not in known:
                known.append(offer)
    return {id: offers[id] for id in sorted(offers)}


@functools.cache
def plugin_file(id: str) -> str | None:
    """The absolute path of the plugin that a package offers for the backend `id`; None without one.

    The first call for an id imports the package. Raises `tenon.Error`: RegistrationAlreadyRegistered
    when two packages offer the id, AccessFailed when the object cannot be loaded or is not the path
    of a file.
    """
    offers = offered().get(id)
    if not offers:
        return None
    if len(offers) > 1:
        raise Error(*_REGISTERED_TWICE,
                    f"backend '{id}' is offered by " + " and by ".join(map(str, offers)) +
                    f" (entry points {GROUP}): uninstall all but one")
    [offer] = offers
    try:
        found = _load(offer.value)
        path: str = os.fspath(found() if callable(found) else found)
    except Exception as failure:  # Whatever the package's own code raises.
        raise Error(*_ACCESS_FAILED,
                    f"backend '{id}': the entry point of {offer} cannot be loaded: "
                    f"{type(failure).__name__}: {failure}") from failure
    if not os.path.isabs(path) or not pathlib.Path(path).is_file():
        raise Error(*_ACCESS_FAILED,
                    f"backend '{id}': the entry point of {offer} gives '{path}', expected the "
                    "absolute path of a file")
    return path


def _load(value: str) -> Any:
    module, _, attributes = value.partition(":")
    return functools.reduce(getattr, filter(None, attributes.split(".")),
                            importlib.import_module(module.strip()))
