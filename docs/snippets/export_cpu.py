# SPDX-License-Identifier: MIT
"""Exports a model for CpuAotiBackend by ExecuTorch's exporter: export_cpu.py MODEL.pte INPUT.npy EXPECTED.npy"""
import sys

import numpy
import torch
from executorch.backends.aoti.aoti_backend import AotiBackend
from executorch.backends.aoti.aoti_partitioner import AotiPartitioner
from executorch.exir import EdgeCompileConfig, ExecutorchBackendConfig, to_edge_transform_and_lower
from executorch.exir.backend.backend_details import BackendDetails

# Functions of PyTorch's C interface that the model may call, for a linear layer.
KERNELS = {"aoti_torch_cpu_addmm_out": None, "aoti_torch_cpu_mm_out": None}


class CpuAotiBackend(AotiBackend, BackendDetails):
    """The name of the class is the id in the program."""

    @classmethod
    def get_device_name(cls):
        return "cpu"

    @classmethod
    def get_supported_fallback_kernels(cls):
        return KERNELS

    @classmethod
    def get_decomposition_table(cls):
        return {}

    @classmethod
    def get_custom_passes(cls, compile_specs):
        return []

    @classmethod
    def save_data_externally(cls):
        return False

    @classmethod
    def get_aoti_compile_options(cls, compile_specs):
        return {
            "aot_inductor.link_libtorch": False,
            "aot_inductor.package": True,
            "aot_inductor.package_constants_in_so": False,
            "aot_inductor.package_constants_on_disk_format": "binary_blob",
            "cpp.vec_isa_ok": True,
            "cpp.march": "x86-64-v3",  # not this machine's
            "cpp.simdlen": 256,
        }


model_file, input_file, expected_file = sys.argv[1:]
network = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.ReLU(), torch.nn.Linear(32, 4)).eval()
x = torch.randn(2, 16)
specs = [CpuAotiBackend.generate_method_name_compile_spec("forward")]
with torch.no_grad():
    program = to_edge_transform_and_lower(
        torch.export.export(network, (x,)),
        partitioner=[AotiPartitioner(CpuAotiBackend.__name__, specs)],
        compile_config=EdgeCompileConfig(_check_ir_validity=False),
    ).to_executorch(ExecutorchBackendConfig(extract_delegate_segments=True))
    expected = network(x)
program.save(model_file)
numpy.save(input_file, x.numpy())
numpy.save(expected_file, expected.numpy())
