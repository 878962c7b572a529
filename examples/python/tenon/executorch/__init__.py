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

from ._runtime import NotRegisteredWarning, errors, register_plugins, registered

_AHEAD_OF_TIME = ("PluginPartitioner", "backend", "partitioner")

__all__ = ["NotRegisteredWarning", "PluginPartitioner", "backend", "errors", "partitioner",
           "register_plugins", "registered"]


def __getattr__(name):
    # Takes seconds to import, and is not needed to run programs.
    if name in _AHEAD_OF_TIME:
        from . import _backend
        return getattr(_backend, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__():
    return __all__
