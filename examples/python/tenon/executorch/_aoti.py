# SPDX-License-Identifier: MIT
"""ExecuTorch's exporter for backends that run what AOTInductor compiles: its AotiBackend, of a plugin's facts."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from executorch.backends.aoti.aoti_backend import AotiBackend
from executorch.backends.aoti.aoti_partitioner import AotiPartitioner
from executorch.exir.backend.backend_details import BackendDetails
from executorch.exir.backend.compile_spec_schema import CompileSpec

from .. import _aot, _aoti
from .._half import option_bytes
from ._edge import not_supported


def make_class(backend_id: str, export: _aot.AotiExport) -> type[BackendDetails]:
    """The class by whose name programs find the backend."""
    table = _decompositions(backend_id, export)

    def options(cls: type, compile_specs: list[CompileSpec]) -> dict[str, Any]:
        level = next((spec.value.decode() for spec in compile_specs if spec.key == "level"), None)
        return _aoti.settings_of(export, level, None)

    members = {
        "get_device_name": lambda cls: export.device_name,
        "get_supported_fallback_kernels": lambda cls: dict.fromkeys(export.fallback_kernels),
        "get_decomposition_table": lambda cls: table,
        "get_custom_passes": lambda cls, compile_specs: [],
        "get_aoti_compile_options": options,
    }
    return type(backend_id, (AotiBackend, BackendDetails), {
        "__module__": __name__,
        "__doc__": f"Backend {backend_id} of a Tenon plugin. Made by tenon.executorch.backend.",
        **{name: classmethod(function) for name, function in members.items()},
    })


def _decompositions(backend_id: str, export: _aot.AotiExport) -> dict[Any, Any]:
    """The table of `run_decompositions`; "" is PyTorch's own decomposition of an operator."""
    wanted = json.loads(export.decompositions)
    replaced = [name for name, other in wanted.items() if other]
    if replaced:
        raise not_supported(f"backend {backend_id}: it replaces {', '.join(replaced)}, which its own exporter in ExecuTorch "
                            "does")
    operators = []
    for name in wanted:
        space, operator, overload = name.split(".")
        operators.append(getattr(getattr(getattr(torch.ops, space), operator), overload))
    return torch._decomp.get_decompositions(operators)


def make_partitioner(backend_id: str, options: Mapping[str, object],
                     compile_specs: Sequence[CompileSpec]) -> AotiPartitioner:
    """ExecuTorch's own, which gives the backend each node that no other has."""
    _aoti.level_of(str(options.get("level") or "") or None)
    specs = [CompileSpec(key, option_bytes(key, value)) for key, value in options.items()]
    if not any(spec.key == "method_name" for spec in compile_specs):
        specs.append(AotiBackend.generate_method_name_compile_spec("forward"))
    return AotiPartitioner(backend_id, [*specs, *compile_specs])
