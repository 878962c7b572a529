# SPDX-License-Identifier: MIT
"""Stock ExecuTorch runs a program with a plugin: run_plugin.py PLUGIN.so MODEL.pte INPUT.npy..."""
import sys

import numpy
import tenon.executorch
import torch
from executorch.runtime import Runtime

plugin, model, *inputs = sys.argv[1:]
print("registered:", tenon.executorch.register_plugins(plugin))
with tenon.executorch.errors():
    method = Runtime.get().load_program(model).load_method("forward")
    for output in method.execute([torch.from_numpy(numpy.load(path)) for path in inputs]):
        print(output)
