# SPDX-License-Identifier: MIT
"""Exports a model and compiles it by AOTInductor, for tenon-compile --aoti: export_package.py FOLDER"""
import pathlib
import sys

import numpy
import torch

folder = pathlib.Path(sys.argv[1])
network = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.ReLU(), torch.nn.Linear(32, 4)).eval()
x = torch.randn(2, 16)
# [export]
with torch.no_grad():
    program = torch.export.export(network, (x,))
    torch.export.save(program, folder / "model.pt2")
    torch._inductor.aoti_compile_and_package(
        program,
        package_path=str(folder / "compiled.pt2"),
        inductor_configs={
            "aot_inductor.link_libtorch": False,
            "aot_inductor.package_constants_in_so": False,
            "aot_inductor.package_constants_on_disk_format": "binary_blob",
            "cpp.vec_isa_ok": True,
            "cpp.march": "x86-64-v3",  # not this machine's
            "cpp.simdlen": 256,
        },
    )
    # [export]
    numpy.save(folder / "expected.npy", network(x).numpy())
numpy.save(folder / "x.npy", x.numpy())
