# SPDX-License-Identifier: MIT
"""Tenon's plugins in stock ExecuTorch: ahead of time and at run time.

    import tenon.executorch

    program = to_edge_transform_and_lower(
        torch.export.export(model, inputs),
        partitioner=[tenon.executorch.partitioner("GraphBackend", options={"weights": "named"})],
    ).to_executorch()

    tenon.executorch.register_plugins("/path/to/plugin.so")
    with tenon.executorch.errors():
        Runtime.get().load_program(program.buffer).load_method("forward").execute(inputs)

Ahead of time (`partitioner`, `backend`) needs torch and executorch; at run time (`register_plugins`,
`registered`, `errors`) what `executorch.runtime` needs, and a build of the bridge for the minor version
of ExecuTorch that is there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ._runtime import NotRegisteredWarning, errors, register_plugins, registered

if TYPE_CHECKING:
    from ._backend import PluginPartitioner, backend, partitioner

_AHEAD_OF_TIME = ("PluginPartitioner", "backend", "partitioner")

__all__ = ["NotRegisteredWarning", "PluginPartitioner", "backend", "errors", "partitioner",
           "register_plugins", "registered"]


def _loaded_late(name: str) -> object:
    # Takes seconds to import, and is not needed to run programs.
    if name in _AHEAD_OF_TIME:
        from . import _backend
        return getattr(_backend, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


if not TYPE_CHECKING:  # With it a checker takes any name for one of the module.
    __getattr__ = _loaded_late


def __dir__() -> list[str]:
    return __all__
