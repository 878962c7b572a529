# SPDX-License-Identifier: MIT
"""Compiles a model for CpuAotiBackend: compile_cpu.py FOLDER"""
import pathlib
import sys

import numpy
import torch

import tenon.aoti

folder = pathlib.Path(sys.argv[1])
network = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.ReLU(inplace=True), torch.nn.Linear(32, 4)).eval()
x = torch.randn(2, 16)
# [compile]
compiled = tenon.aoti.compile(network, (x,), folder / "model.pte")
y = compiled(x)
# [compile]
numpy.save(folder / "x.npy", x.numpy())
numpy.save(folder / "expected.npy", network(x).detach().numpy())
torch.testing.assert_close(y, network(x), rtol=1e-4, atol=1e-5)
