# SPDX-License-Identifier: MIT
"""`tenon.aoti.compile`: a module of PyTorch, compiled by AOTInductor and packed as `tenon-compile --aoti` does."""

from __future__ import annotations

import json
import os
import platform
import re
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from . import _aot, _paths, _program, aoti
from ._compile import Traced
from ._error import Error
from ._half import load_aoti_export
from ._progress import Progress

if TYPE_CHECKING:
    import torch

_NOT_SUPPORTED = (0x10, "NotSupported")
_NOT_FOUND = (0x20, "NotFound")

# Processors, and the bits of their vectors as Inductor has them; 1: it writes scalar code.
LEVELS = {"x86-64": 1, "x86-64-v3": 256, "x86-64-v4": 512, "armv8-a": 128}
_PORTABLE = {"x86_64": "x86-64-v3", "aarch64": "armv8-a"}


class Compiled(Traced):
    """A program that AOTInductor compiled: runs like the module.

    exported: the ExportedProgram.
    path: the program's file.
    cpu_features: what the code needs of a processor, "avx2,fma"; None when it is not known.
    """

    path: str
    cpu_features: str | None

    def __init__(self, exported: torch.export.ExportedProgram, path: str, cpu_features: str | None,
                 plugins: tuple[str, ...]) -> None:
        super().__init__(exported)
        self.path, self.cpu_features, self._plugins = path, cpu_features, plugins

    def _load(self) -> _program.Method:
        return _program.load(self.path, plugins=self._plugins)["forward"]

    def __repr__(self) -> str:
        return f"<tenon.aoti.Compiled {self.path}: CPU features {self.cpu_features or 'not known'}>"


def compile(model: torch.nn.Module | torch.export.ExportedProgram, example_inputs: Iterable[Any],
            path: str | os.PathLike[str], *, backend: str, dynamic: Any, level: str | None,
            options: Mapping[str, object] | None,
            plugins: str | os.PathLike[str] | Sequence[str | os.PathLike[str]]) -> Compiled:
    """The body of `tenon.aoti.compile`, which documents it."""
    require_torch()
    import torch

    from .executorch._edge import describe

    files = tuple(os.path.abspath(each) for each in _paths.files("plugins", plugins))
    export = load_aoti_export(backend, files)
    settings = settings_of(export, level, options)
    require_compiler()
    with Progress("tenon.aoti.compile") as progress, torch.no_grad():
        program = model
        if not isinstance(model, torch.export.ExportedProgram):
            progress.step("torch.export")
            program = _exported(model, tuple(example_inputs), dynamic)
        progress.step("signature")
        # Changes of inputs are in the signature of a functional graph alone.
        functional = program.run_decompositions({})
        for name in functional.graph_signature.user_inputs_to_mutate.values():
            raise Error(*_NOT_SUPPORTED, f"input '{name}' is changed by the model; return the new content instead")
        described = describe(functional, "forward", whole=False)
        progress.step("AOTInductor")
        given, keywords = program.example_inputs
        with tempfile.TemporaryDirectory(prefix="tenon-aoti-") as folder:
            module = _with_tensors_alone(program.module(check_guards=False))
            library, weights = compile_library(module, given, keywords, settings, folder)
            progress.step("pack")
            _, features = export.pack(described.program, library, weights, level_of(level), os.fspath(path))
    compiled = Compiled(program, os.fspath(path), features, files)
    require_functions(backend, compiled)
    return compiled


def require_torch() -> None:
    try:
        import torch  # noqa: F401
    except ImportError as failure:
        raise ModuleNotFoundError(f"tenon.aoti.compile needs PyTorch (pip install torch): {failure}",
                                  name="torch") from failure


def require_compiler() -> None:
    """AOTInductor compiles C++. Raises NotFound where no compiler is."""
    from torch._inductor.cpp_builder import get_cpp_compiler
    from torch._inductor.exc import InvalidCxxCompiler

    try:
        get_cpp_compiler()
    except InvalidCxxCompiler:
        raise Error(*_NOT_FOUND, "AOTInductor needs a C++ compiler, and found none: install one (Debian: g++), or "
                    "name it with the variable CXX") from None


def _exported(model: torch.nn.Module, inputs: tuple[Any, ...], dynamic: Any) -> torch.export.ExportedProgram:
    import torch

    try:
        return torch.export.export(model, inputs, dynamic_shapes=dynamic)
    except Exception as failure:
        raise _not_supported(f"torch.export cannot export {type(model).__name__}", failure) from failure


def _not_supported(what: str, failure: Exception) -> Error:
    first = next((line for line in str(failure).splitlines() if line.strip()), "")
    return Error(*_NOT_SUPPORTED, f"{what}: {type(failure).__name__}: {first.strip()}")


def level_of(level: str | None) -> str | None:
    """The level of processors; None: this machine's alone."""
    if level == "native":
        return None
    level = level or _PORTABLE.get(platform.machine())
    if level is not None and level not in LEVELS:
        raise Error(0x12, "InvalidArgument", f"level: expected native, {', '.join(LEVELS)}, found {level!r}")
    return level


def settings_of(export: _aot.AotiExport, level: str | None, options: Mapping[str, object] | None) -> dict[str, Any]:
    """Inductor's settings: the backend's, the level's, and the user's, which win."""
    found = json.loads(export.compile_options)
    chosen = level_of(level)
    if chosen is not None:
        found |= {"cpp.march": chosen, "cpp.simdlen": LEVELS[chosen]}
    return found | dict(options or {}) | {"aot_inductor.package": True}


def _with_tensors_alone(module: torch.fx.GraphModule) -> torch.fx.GraphModule:
    """Drops results that are None or constants: a program has none of them."""
    import torch

    node = module.graph.output_node()
    node.args = (tuple(each for each in node.args[0] if isinstance(each, torch.fx.Node)),)
    return module


def compile_library(module: torch.fx.GraphModule, given: Sequence[Any], keywords: Mapping[str, Any],
                    settings: dict[str, Any], folder: str) -> tuple[str, str | None]:
    """Compiles a graph into `folder`: the library, and its weights; None where it has none of its own."""
    import torch

    options = settings | {"aot_inductor.output_path": folder}
    try:
        with aoti.describe_calls():
            files = torch._inductor.aot_compile(module, tuple(given), dict(keywords), options=options)
    except Exception as failure:
        raise _not_supported("AOTInductor cannot compile the model", failure) from failure
    found = [each for each in files if isinstance(each, str)]
    [library] = [each for each in found if each.endswith(".so")]
    return library, next((each for each in found if each.endswith("_weights.blob") and os.path.getsize(each)), None)


def require_functions(backend: str, compiled: Traced) -> None:
    """Loads the program where the backend is; raises NotSupported for functions that it does not have."""
    try:
        compiled._loaded()
    except Error as failure:
        # Other failures, also for the processor alone, are about this machine, where the program need not run.
        if failure.name == "OperatorMissing" and not re.search(r"missing here: \d+ CPU feature", failure.text):
            raise Error(*_NOT_SUPPORTED, f"backend {backend} cannot run what AOTInductor compiled: "
                        f"{failure.text}") from None


Compiled.__module__ = "tenon.aoti"
