# SPDX-License-Identifier: MIT
"""Tenon's plugins in stock ExecuTorch: ahead of time and at run time.

    import tenon.executorch

    program = to_edge_transform_and_lower(
        torch.export.export(model, inputs),
        partitioner=[tenon.executorch.partitioner("GraphBackend", options={"weights": "named"})],
    ).to_executorch()

Needs torch and executorch.
"""

from ._backend import PluginPartitioner, backend, partitioner

__all__ = ["PluginPartitioner", "backend", "partitioner"]
