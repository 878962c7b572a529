# SPDX-License-Identifier: MIT
"""`plugins`, `doctor` and `inspect`: what tenon-list, -doctor and -inspect print, as dataclasses."""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from . import _paths, _program, _tenon


def _of(kind: type, facts: dict[str, Any] | None) -> Any:
    """A dataclass of JSON; `_nested` of the class says which members are others."""
    if facts is None:
        return None
    nested = getattr(kind, "_nested", {})
    names = {field.name for field in dataclasses.fields(kind)}
    members = {}
    for name, value in facts.items():
        if name not in names:
            continue
        if name in nested:
            inner = globals()[nested[name]]
            value = [_of(inner, each) for each in value] if isinstance(value, list) else _of(inner, value)
        members[name] = value
    return kind(**members)


@dataclass(frozen=True)
class Failure:
    """An error in a report."""

    name: str
    code: int
    text: str


@dataclass(frozen=True)
class PluginRecord:
    """A plugin's record, read without loading it."""

    name: str
    version: str | None
    vendor: str | None
    sdk_version: str | None
    abi: str


@dataclass(frozen=True)
class Backend:
    """A backend that was found. state: "known" or "loaded", or why it cannot be used."""

    id: str
    state: str
    reason: str | None
    hidden_as: str | None
    priority: int
    tags: list[str]
    cpu_features: list[str]
    description: str | None
    payload_versions: dict[str, int] | None
    runs_embedded_code: bool
    offers_kernels: bool
    origin: str
    path: str | None
    plugin: PluginRecord | None
    _nested = {"plugin": "PluginRecord"}


@dataclass(frozen=True)
class ServedBy:
    """The plugin that serves a delegate."""

    origin: str
    place: str
    plugin: str | None
    version: str | None
    runs_embedded_code: bool


@dataclass(frozen=True)
class Delegate:
    """A delegate of a program. problems: why it cannot run here."""

    index: int
    backend: str
    blob_size: int
    compile_specs: list[dict[str, Any]]
    served_by: ServedBy | None
    look_up_error: Failure | None
    not_found: dict[str, Any] | None
    unavailable: Failure | None
    check_blob_error: Failure | None
    check_blob: dict[str, str] | None
    missing_data: list[str]
    estimate: dict[str, Any] | None
    problems: list[str]
    _nested = {"served_by": "ServedBy", "look_up_error": "Failure", "unavailable": "Failure",
               "check_blob_error": "Failure"}


@dataclass(frozen=True)
class Variant:
    """A variant of a method. refused: why it cannot run here; else verdict is "optimal" or "usable"."""

    name: str
    priority: int
    needs: list[str]
    chosen: bool
    refused: Failure | None
    verdict: str | None
    reason: str
    _nested = {"refused": "Failure"}


@dataclass(frozen=True)
class MethodDiagnosis:
    """A method of a program: the variant that a host would load, or the default one."""

    name: str
    can_run: bool
    variants: list[Variant]
    delegates: list[Delegate]
    operators: list[dict[str, str]]
    missing_operators: list[dict[str, str]]
    missing_tensors: list[str]
    device_buffers: list[dict[str, Any]]
    memory: list[dict[str, Any]]
    proofs: list[dict[str, Any]]
    _nested = {"variants": "Variant", "delegates": "Delegate"}


@dataclass(frozen=True)
class Diagnosis:
    """The result of `doctor`. summary: one line. unloads: whether plugins leave memory."""

    program: str
    summary: str
    unloads: bool
    methods: list[MethodDiagnosis]
    _nested = {"methods": "MethodDiagnosis"}

    @property
    def can_run(self) -> bool:
        """Whether nothing speaks against running all methods here."""
        return all(method.can_run for method in self.methods)


@dataclass(frozen=True)
class BackendRecord:
    """A backend in a plugin's record."""

    id: str
    description: str | None
    tags: list[str]
    cpu_features: list[str]
    priority: int
    min_payload_version: int
    max_payload_version: int
    runs_embedded_code: bool
    offers_kernels: bool


@dataclass(frozen=True)
class Record:
    """The record of a plugin file."""

    name: str
    version: str | None
    vendor: str | None
    sdk_version: str | None
    abi: str
    min_host_abi: str
    backends: list[BackendRecord]
    _nested = {"backends": "BackendRecord"}


@dataclass(frozen=True)
class Lint:
    """A check of the library file. verdict: "pass", "information", "warning" or "fail"."""

    id: str
    title: str
    verdict: str
    text: str


@dataclass(frozen=True)
class LoadedBackend:
    """A backend of a loaded plugin."""

    id: str
    open_error: Failure | None
    unavailable: Failure | None
    devices_error: Failure | None
    devices: list[dict[str, Any]]
    options: list[dict[str, Any]]
    extensions: list[str]
    aoti_export: dict[str, Any] | None
    operators_error: Failure | None
    operators: list[str]
    _nested = {"open_error": "Failure", "unavailable": "Failure", "devices_error": "Failure",
               "operators_error": "Failure"}


@dataclass(frozen=True)
class Loaded:
    """The result of loading a plugin."""

    error: Failure | None
    backends: list[LoadedBackend]
    _nested = {"error": "Failure", "backends": "LoadedBackend"}


@dataclass(frozen=True)
class Plugin:
    """The result of `inspect`. loaded: None unless it was loaded."""

    path: str
    record: Record | None
    abi_error: Failure | None
    library: dict[str, Any] | None
    lint: list[Lint]
    loaded: Loaded | None
    _nested = {"record": "Record", "abi_error": "Failure", "lint": "Lint", "loaded": "Loaded"}


def plugins(*, tags: list[str] | tuple[str, ...] = (), all: bool = False) -> list[Backend]:
    """The known backends, sorted by id, as tenon-list shows them. Loads no plugin.

    tags: only backends with all of these.
    all: also backends that are hidden by default: debug, experimental, shadowed, disabled.
    """
    text = _tenon.plugins_json(_program.default_registry(), list(tags))
    found = [_of(Backend, each) for each in json.loads(text)["backends"]]
    return [each for each in found if all or each.hidden_as is None]


def doctor(path: str | os.PathLike[str], *, method: str | None = None,
           plugins: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] = (),
           data: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] = (), prove: bool = False) -> Diagnosis:
    """Reports which plugin serves each delegate of a program, or why none does, as tenon-doctor does.

    prove: also runs the golden cases of each variant that can run here; otherwise nothing is initialised or run.

    Loads plugins. Raises `Error` for damaged files or an unknown method.
    """
    text = _tenon.doctor_json(_program.default_registry(), os.fspath(path), method,
                              _paths.files("plugins", plugins), _paths.files("data", data), prove)
    found: Diagnosis = _of(Diagnosis, json.loads(text))
    return found


def inspect(path: str | os.PathLike[str], *, load: bool = False) -> Plugin:
    """Describes a plugin file: its record and the checks of the library, as tenon-inspect does.

    load: also loads it, and asks its backends for devices, options and operators.

    Raises `Error` when the file is no plugin.
    """
    found: Plugin = _of(Plugin, json.loads(_tenon.inspect_json(os.fspath(path), load)))
    return found


for _each in (Backend, Delegate, Diagnosis, Failure, MethodDiagnosis, Plugin, Record, doctor, inspect,
              plugins):
    _each.__module__ = "tenon"
