# SPDX-License-Identifier: MIT
"""Exports a model for CpuAotiBackend by ExecuTorch's exporter: export_cpu.py MODEL.pte INPUT.npy EXPECTED.npy"""
import sys

import numpy
import torch
from executorch.exir import EdgeCompileConfig, ExecutorchBackendConfig, to_edge_transform_and_lower

import tenon.executorch

model_file, input_file, expected_file = sys.argv[1:]
network = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.ReLU(), torch.nn.Linear(32, 4)).eval()
x = torch.randn(2, 16)
# [export]
with torch.no_grad():
    program = to_edge_transform_and_lower(
        torch.export.export(network, (x,)),
        partitioner=[tenon.executorch.partitioner("CpuAotiBackend")],
        compile_config=EdgeCompileConfig(_check_ir_validity=False),
    ).to_executorch(ExecutorchBackendConfig(extract_delegate_segments=True))
    # [export]
    expected = network(x)
program.save(model_file)
numpy.save(input_file, x.numpy())
numpy.save(expected_file, expected.numpy())
