# SPDX-License-Identifier: MIT
"""Runs a package by libtorch's own loader, in a process of its own, as a wrong library may crash it.

    run_package.py PACKAGE INPUTS OUTPUTS

INPUTS and OUTPUTS are files of torch.save with a list of tensors.
"""

import ctypes
import sys
from pathlib import Path

import torch

# The library is not linked with libtorch (COMPILE_OPTIONS of export_models.py): it finds its functions among all.
ctypes.CDLL(str(Path(torch.__file__).parent / "lib/libtorch_cpu.so"), mode=ctypes.RTLD_GLOBAL)
package, inputs, outputs = sys.argv[1:]
# PyTorch: AOTIModelPackageLoader of the model `model`, on one thread, with one runner, on any device.
loader = torch._C._aoti.AOTIModelPackageLoader(package, "model", False, 1, -1)
torch.save(loader.run(torch.load(inputs)), outputs)
