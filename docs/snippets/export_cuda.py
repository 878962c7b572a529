# SPDX-License-Identifier: MIT
"""Exports a model for CudaBackend: export_cuda.py FOLDER"""
import sys

import torch
from executorch.backends.cuda.cuda_backend import CudaBackend
from executorch.backends.cuda.cuda_partitioner import CudaPartitioner
from executorch.exir import EdgeCompileConfig, ExecutorchBackendConfig, to_edge_transform_and_lower

folder = sys.argv[1]
network = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.ReLU(), torch.nn.Linear(32, 4)).eval()
# [export]
specs = [CudaBackend.generate_method_name_compile_spec("forward")]
with torch.no_grad():
    program = to_edge_transform_and_lower(
        torch.export.export(network, (torch.randn(2, 16),)),
        partitioner=[CudaPartitioner(specs)],
        compile_config=EdgeCompileConfig(_check_ir_validity=False),
    ).to_executorch(ExecutorchBackendConfig(extract_delegate_segments=True))
program.write_tensor_data_to_file(folder)  # aoti_cuda_blob.ptd, the weights
program.save(f"{folder}/model.pte")
# [export]
