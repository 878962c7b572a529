# SPDX-License-Identifier: MIT
"""ExecuTorch's exporter with a plugin's backend: lower_with_plugin.py PLUGIN.so BACKEND MODEL.pte"""
import sys

import tenon.executorch
import torch
from executorch.exir import to_edge_transform_and_lower

plugin, backend, model = sys.argv[1:]
network = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.ReLU(), torch.nn.Linear(32, 4)).eval()
exported = torch.export.export(network, (torch.randn(2, 16),))
program = to_edge_transform_and_lower(
    exported, partitioner=[tenon.executorch.partitioner(backend, plugins=[plugin])]
).to_executorch()
with open(model, "wb") as file:
    program.write_to_file(file)
