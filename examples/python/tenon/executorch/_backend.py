# SPDX-License-Identifier: MIT
"""Plugins in ExecuTorch's exporter: its Partitioner and BackendDetails, of a plugin's functions."""

import os
from collections.abc import Callable, Mapping, Sequence

import torch
from executorch.exir._serialize._named_data_store import NamedDataStore
from executorch.exir.backend.backend_details import BackendDetails, PreprocessResult
from executorch.exir.backend.compile_spec_schema import CompileSpec
from executorch.exir.backend.partitioner import DelegationSpec, Partitioner, PartitionResult
from executorch.exir.scalar_type import ScalarType
from executorch.exir.tensor_layout import TensorLayout
from torch.export import ExportedProgram

from .. import _aot, _paths
from .._error import Error
from .._half import load_half_or_export, option_bytes, to_bytes
from .._progress import Progress
from ._edge import describe, not_supported, whole_operators
from ._operators import name_of

_ALREADY_REGISTERED = 0x16

# ExecuTorch finds a class by its name among the subclasses of BackendDetails, which refers to them
# weakly: they are kept here, with the plugin's half of each.
_backends: dict[str, tuple[_aot.Backend | _aot.AotiExport, tuple[str, ...], type[BackendDetails]]] = {}


def backend(backend_id: str, *,
            plugins: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] = ()) -> type[BackendDetails]:
    """The ahead-of-time half of a plugin's backend, as a final class for ExecuTorch's `to_backend`.

    `plugins` are files to look in first; without them, an installed package that offers the id by an
    entry point "tenon.plugins" comes first. Then come TENON_PLUGIN_FILES, TENON_PLUGIN_PATH and installed
    plugins. The plugin is loaded. One id has one class: the same call returns it again.

    Raises tenon.Error: NotFound when no plugin has the id, NotSupported when that plugin cannot
    compile, RegistrationAlreadyRegistered when another class or another call took the id.
    """
    files = tuple(os.path.abspath(plugin) for plugin in _paths.files("plugins", plugins))
    if backend_id in _backends:
        _, known, cls = _backends[backend_id]
        if files and files != known:
            raise Error(_ALREADY_REGISTERED, "RegistrationAlreadyRegistered",
                        f"backend {backend_id} was made with plugins {list(known)}, "
                        f"found {list(files)}")
        return cls
    for other in BackendDetails.__subclasses__():
        if other.__name__ == backend_id:
            raise Error(_ALREADY_REGISTERED, "RegistrationAlreadyRegistered",
                        f"backend {backend_id} is {other.__module__}.{other.__qualname__} already")
    native = load_half_or_export(backend_id, files)
    if isinstance(native, _aot.AotiExport):
        from . import _aoti

        cls = _aoti.make_class(backend_id, native)
    else:
        cls = _make_class(native)
    _backends[backend_id] = (native, files, cls)
    return cls


def partitioner(backend_id: str, *, options: Mapping[str, object] | None = None,
                compile_specs: Sequence[CompileSpec] = (),
                plugins: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] = ()) -> Partitioner:
    """A Partitioner that gives a plugin's backend the nodes that the plugin chooses. For a backend of AOTInductor's models
    it is ExecuTorch's AotiPartitioner; its option "level" is the one of `tenon.aoti.compile`.

    `options` become compile specs, in their order and before `compile_specs`: text, numbers as text,
    True and False as "1" and "0", bytes as they are (`tenon-compile --spec KEY=VALUE`). `plugins` as in
    `backend`, which this calls.
    """
    backend(backend_id, plugins=plugins)
    options = dict(options or {})
    if isinstance(_backends[backend_id][0], _aot.AotiExport):
        from . import _aoti

        return _aoti.make_partitioner(backend_id, options, compile_specs)
    specs = [CompileSpec(key, option_bytes(key, value)) for key, value in options.items()]
    return PluginPartitioner(backend_id, options, [*specs, *compile_specs])


class PluginPartitioner(Partitioner):
    """Made by `partitioner`."""

    def __init__(self, backend_id: str, options: Mapping[str, object],
                 compile_specs: Sequence[CompileSpec]) -> None:
        super().__init__(options)
        self.backend_id = backend_id
        self.compile_specs = list(compile_specs)

    @property
    def _native(self) -> _aot.Backend:
        native = _backends[self.backend_id][0]
        assert isinstance(native, _aot.Backend)
        return native

    def partition(self, exported_program: ExportedProgram) -> PartitionResult:
        """Tags the nodes, and the weights that their delegates keep. Nothing else is changed."""
        described = describe(exported_program, "forward", whole=False)
        with Progress(self.backend_id) as progress:
            progress.step(f"chooses among {len(described.nodes)} nodes")
            specs, node_tags, value_tags = self._native.partition(described.program,
                                                                  _pairs(self.compile_specs))
        for number, tag in node_tags.items():
            node = described.nodes[number]
            if number in described.opaque:
                raise not_supported(
                    f"backend {self.backend_id}: partition: node '{node.name}' "
                    f"({name_of(node.target)}): {described.opaque[number]} cannot be described to a "
                    "plugin")
            node.meta["delegation_tag"] = tag
            for user in node.users:
                if isinstance(node.meta.get("val"), (list, tuple)):  # Elements of the result.
                    user.meta["delegation_tag"] = tag
        for number, tag in value_tags.items():
            described.stored[number].meta["delegation_tag"] = tag
        tags = {tag: DelegationSpec(self.backend_id, [CompileSpec(*pair) for pair in pairs])
                for tag, pairs in specs.items()}
        return PartitionResult(tagged_exported_program=exported_program, partition_tags=tags)

    def ops_to_not_decompose(
        self, ep: ExportedProgram
    ) -> tuple[list[torch._ops.OpOverload], Callable[[torch.fx.Node], bool] | None]:
        """The operators that the plugin wants whole and of which it takes each call in `ep`."""
        return whole_operators(self._native, _pairs(self.compile_specs),
                               describe(ep, "forward", whole=False)), None


def _make_class(native: _aot.Backend) -> type[BackendDetails]:
    def preprocess(edge_program: ExportedProgram,
                   compile_specs: list[CompileSpec]) -> PreprocessResult:
        return _preprocess(native, [("forward", edge_program, compile_specs)])[0]

    def preprocess_multimethod(
            cls, edge_programs: dict[str, list[ExportedProgram]],
            compile_specs: dict[str, list[list[CompileSpec]]]) -> dict[str, list[PreprocessResult]]:
        parts = []
        for method, programs in edge_programs.items():
            specs = compile_specs.get(method)
            if specs is None or len(specs) != len(programs):
                found = "none" if specs is None else len(specs)
                raise Error(0x12, "InvalidArgument", f"method '{method}' has {len(programs)} "
                            f"partitions, expected as many lists of compile specs, found {found}")
            parts += [(method, *part) for part in zip(programs, specs)]
        results = iter(_preprocess(native, parts))
        return {method: [next(results) for _ in programs]
                for method, programs in edge_programs.items()}

    def copy_exported_program_for_preprocess(
            cls, edge_program: ExportedProgram,
            compile_specs: list[CompileSpec]) -> ExportedProgram:
        """The program itself: a plugin gets a description, and weights that it cannot write."""
        return edge_program

    return type(native.id, (BackendDetails,), {
        "__module__": __name__,
        "__doc__": f"Backend {native.id} of a Tenon plugin. Made by tenon.executorch.backend.",
        "preprocess": staticmethod(preprocess),
        "preprocess_multimethod": classmethod(preprocess_multimethod),
        "copy_exported_program_for_preprocess": classmethod(copy_exported_program_for_preprocess),
    })


def _preprocess(native: _aot.Backend,
                parts: list[tuple[str, ExportedProgram, list[CompileSpec]]]) -> list[PreprocessResult]:
    """Compiles all parts in one call, so that they may share data."""
    given = [(describe(program, method, whole=True).program, _pairs(specs))
             for method, program, specs in parts]
    out = []
    with Progress(native.id) as progress:
        progress.step(f"compiles {len(parts)} partition{'' if len(parts) == 1 else 's'}")
        compiled = native.preprocess(given)
    for blob, debug_handles, named_data, info in compiled:
        store = NamedDataStore()
        for key, data, alignment, tag, layout in named_data:
            store.add_named_data(key, data, alignment, tag, _layout(layout))
        out.append(PreprocessResult(processed_bytes=blob, debug_handle_map=debug_handles,
                                    data_store_output=store.get_named_data_store_output(),
                                    _delegate_info_meta=info or None))
    return out


def _layout(layout: tuple[int, list[int], list[int]] | None) -> TensorLayout | None:
    if layout is None:
        return None
    scalar_type, sizes, dim_order = layout
    return TensorLayout(ScalarType(scalar_type), sizes, dim_order)


def _pairs(specs: Sequence[CompileSpec]) -> list[tuple[str, bytes]]:
    return [(spec.key, to_bytes(f"compile spec {spec.key!r}", spec.value)) for spec in specs]

