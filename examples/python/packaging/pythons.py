# SPDX-License-Identifier: MIT
"""Interpreters of Python: which are at hand, and which of them builds which wheel."""

import dataclasses
import glob
import json
import os
import pathlib
import shutil
import subprocess

SYSTEM = "/usr/bin/python3"
OLDEST = (3, 10)
# nanobind has the stable ABI from this version on: one wheel serves it and all later ones.
STABLE = (3, 12)
_FACTS = """
import json, os, platform, sys, sysconfig
print(json.dumps({
    "version": sys.version_info[:3], "implementation": platform.python_implementation(),
    "free_threaded": bool(sysconfig.get_config_var("Py_GIL_DISABLED")),
    "headers": os.path.exists(os.path.join(sysconfig.get_paths()["include"], "Python.h"))}))
"""


class Refused(Exception):
    """An interpreter that no wheel can be made for."""


@dataclasses.dataclass(frozen=True)
class Python:
    """An interpreter: how it is run, and what it says of itself."""

    path: str
    version: tuple
    free_threaded: bool = False
    headers: bool = True

    @property
    def name(self):
        return ".".join(map(str, self.version[:2]))

    @property
    def tag(self):
        """Of the wheel that serves it, as meson-python writes it: cp311-cp311."""
        version = f"cp{self.version[0]}{self.version[1]}"
        return f"{version}-abi3" if self.is_stable else f"{version}-{version}"

    @property
    def is_stable(self):
        """Whether its wheel is by the stable ABI."""
        return self.version[:2] >= STABLE


def read(path):
    """The interpreter `path`."""
    try:
        printed = subprocess.run([path, "-I", "-c", _FACTS], check=True, text=True, stdout=subprocess.PIPE,
                                 stderr=subprocess.DEVNULL).stdout
        facts = json.loads(printed)
    except (OSError, subprocess.CalledProcessError, ValueError) as failure:
        raise Refused(f"{path}: is no Python that runs: {failure}") from failure
    if facts["implementation"] != "CPython":
        raise Refused(f"{path}: expected CPython, found {facts['implementation']}")
    python = Python(os.fspath(path), tuple(facts["version"]), facts["free_threaded"], facts["headers"])
    if python.version[:2] < OLDEST:
        raise Refused(f"{path}: expected Python {'.'.join(map(str, OLDEST))} or later, found {python.name}")
    if python.free_threaded:
        raise Refused(f"{path}: expected a Python with the GIL, by which the extension module is safe in threads; "
                      f"found {python.name} without one (free-threaded)")
    return python


def _places():
    """Where interpreters are: the system's, those on PATH, and pyenv's."""
    yield SYSTEM
    for minor in range(OLDEST[1], 30):
        yield shutil.which(f"python3.{minor}")
    root = pathlib.Path(os.environ.get("PYENV_ROOT") or pathlib.Path.home() / ".pyenv")
    yield from sorted(glob.glob(f"{root}/versions/*/bin/python3"))


def at_hand(places=None):
    """One interpreter of each version that wheels can be built and tested with, the oldest first."""
    found = {}
    for path in _places() if places is None else places:
        if path and os.access(path, os.X_OK):
            try:
                python = read(path)
            except Refused:
                continue
            if python.headers:
                found.setdefault(python.version[:2], python)
    return [found[version] for version in sorted(found)]


def builders(pythons):
    """The interpreters that build the wheels for all of `pythons`: the oldest one of the stable ABI, and each that is
    older."""
    chosen = {}
    for python in sorted(pythons, key=lambda each: each.version):
        chosen.setdefault(python.tag if not python.is_stable else STABLE, python)
    for python in chosen.values():
        if not python.headers:
            raise Refused(f"{python.path}: has no Python.h, which building the wheel for {python.name} needs")
    return list(chosen.values())


def tag_of(wheel):
    """Its version of Python and its ABI, as `Python.tag` has them."""
    return "-".join(wheel.name.split("-")[2:4])


def wheel_for(python, wheels):
    """The wheel of `wheels` that pip would install into `python`, or None."""
    for wheel in wheels:
        version, abi = tag_of(wheel).split("-")
        if tag_of(wheel) == python.tag or (abi == "abi3" and (3, int(version[3:])) <= python.version[:2]):
            return wheel
    return None
