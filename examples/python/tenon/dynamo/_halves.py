# SPDX-License-Identifier: MIT
"""What compiles the partitions of a graph: a plugin's ahead-of-time half, or AOTInductor for the backends that run its
models."""

import contextlib
import ctypes
import functools
import hashlib
import json
import os
import pathlib
import tempfile
from collections.abc import Iterator

import torch
from torch._guards import TracingContext, tracing
from torch.fx import GraphModule

from .. import _aot, _aoti
from .._error import Error
from .._half import load_half_or_export
from .._tenon import __version__
from ..executorch._edge import Description
from . import _graph


@functools.cache
def find(backend_id: str, plugins: tuple[str, ...]) -> "PluginHalf | AotiHalf":
    """Raises tenon.Error as `load_half` does."""
    found = load_half_or_export(backend_id, plugins)
    return AotiHalf(backend_id, found) if isinstance(found, _aot.AotiExport) else PluginHalf(found)


@functools.cache
def _store(directory: str) -> _aot.ProgramStore:
    return _aot.ProgramStore(directory)


class PluginHalf:
    """A backend that chooses nodes, and compiles them."""

    takes_all = False

    def __init__(self, backend: _aot.Backend) -> None:
        self._backend = backend

    def kept(self, described: Description) -> set[str]:
        """Operators that stay whole."""
        return set(self._backend.ops_to_not_decompose(described.program))

    def tags(self, described: Description, options) -> dict[int, str]:
        """The partition of each node that is taken, by number of the node."""
        return self._backend.partition(described.program, list(options.compile_specs))[1]

    def compile(self, described: Description, options, graph, inputs, weights):
        """(program, whether it is new, lines about it, data files)."""
        store = None if options.store is None else _store(options.store)
        program, is_new, lines, files, _ = _aot.compile(
            described.program, [(self._backend, list(options.compile_specs))], True, store)
        return program, is_new, lines, [content for _, content in files]


class AotiHalf:
    """A backend that runs what AOTInductor compiles: it takes each node that a description has."""

    takes_all = True

    def __init__(self, backend_id: str, export: _aot.AotiExport) -> None:
        self._id, self._export = backend_id, export

    def tags(self, described: Description, options) -> dict[int, str]:
        """A partition ends at a node that is left: without gaps each is a program of its own."""
        if options.compile_specs:
            raise Error(0x12, "InvalidArgument", f"options['compile_specs']: backend {self._id} has none; "
                        "options['mode'] is Inductor's")
        out, part = {}, 0
        for number in range(len(described.nodes)):
            if number in described.opaque:
                part += 1
            else:
                out[number] = f"aoti_{part}"
        return out

    def compile(self, described: Description, options, graph, inputs, weights):
        """As PluginHalf's; `inputs` are fake tensors as the program gets them, `weights` tensors by their placeholders'
        names."""
        from torch._inductor import list_mode_options

        _aoti.require_compiler()
        mode = {} if options.mode == "default" else list_mode_options(options.mode)
        settings = _aoti.settings_of(self._export, "native", mode)
        module = _with_constants(graph, weights)
        path = None if options.store is None else _place(options.store, _key(described, settings, module, inputs))
        if path is not None and path.exists():
            return path.read_bytes(), False, ["AOTInductor"], []
        fake_mode = torch._guards.detect_fake_mode(inputs)
        with tempfile.TemporaryDirectory(prefix="tenon-aoti-") as folder, torch.no_grad():
            with tracing(TracingContext(fake_mode)), _real_constants(fake_mode):
                library, blob = _aoti.compile_library(module, inputs, {}, settings, folder)
            program, features = self._export.pack(described.program, library, blob, None, None)
        if path is not None:
            _write(path, program)
        return program, True, [f"AOTInductor, CPU features {features or 'not known'}"], []


@contextlib.contextmanager
def _real_constants(fake_mode) -> Iterator[None]:
    """TorchDynamo's mode refuses tensors that are not fake, as frozen weights."""
    before, fake_mode.allow_non_fake_inputs = fake_mode.allow_non_fake_inputs, True
    try:
        yield
    finally:
        fake_mode.allow_non_fake_inputs = before


def _with_constants(graph: GraphModule, weights: dict[str, torch.Tensor]) -> GraphModule:
    """The graph with attributes in the place of the weights' placeholders."""
    gm = _graph.with_copies(_graph.copy_of(graph))
    for node in _graph.placeholders(gm):
        if node.name in weights:
            attribute = f"weight_{node.name}"
            gm.register_buffer(attribute, weights[node.name].detach())
            with gm.graph.inserting_before(node):
                constant = gm.graph.get_attr(attribute)
            constant.meta = dict(node.meta)
            node.replace_all_uses_with(constant)
            gm.graph.erase_node(node)
    gm.recompile()
    return gm


def _key(described: Description, settings: dict, module: GraphModule, inputs) -> str:
    """Of all that decides about the program, the processor among it."""
    found = hashlib.sha256()

    def add(*texts: object) -> None:
        for text in texts:
            found.update(f"{text}\0".encode())

    add(__version__, torch.__version__, json.dumps(settings, sort_keys=True, default=str), _processor())
    add(str(described.program), module.code)
    for each in inputs:
        add(each.dtype, each.shape, each.stride())
    for name, tensor in sorted(module.state_dict().items()):
        add(name, tensor.dtype, tuple(tensor.shape), tensor.stride())
        plain = tensor.detach().contiguous()
        found.update((ctypes.c_char * plain.nbytes).from_address(plain.data_ptr()) if plain.nbytes else b"")
    return found.hexdigest()


@functools.cache
def _processor() -> str:
    try:
        lines = pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    found = {line for line in lines if line.startswith(("model name", "flags", "Features"))}
    return "".join(sorted(found)) or torch.backends.cpu.get_cpu_capability()


def _place(directory: str, key: str) -> pathlib.Path:
    """The file of a program. Programs have native code: the folder is this user's alone."""
    caches = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    folder = pathlib.Path(directory or os.path.join(caches, "tenon"), "aoti")
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    return folder / f"{key}.pte"


def _write(path: pathlib.Path, program: bytes) -> None:
    """At once for those that read it meanwhile. A store that fails costs time alone."""
    try:
        with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as file:
            file.write(program)
        os.replace(file.name, path)
    except OSError:
        pass
