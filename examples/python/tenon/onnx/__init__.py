# SPDX-License-Identifier: MIT
"""Tenon's plugins in stock ONNX Runtime: models that hold a plugin's blob, and sessions that run them.

    import onnxruntime
    import tenon.onnx

    tenon.onnx.pack("model.bin", "AcmeBackend", "model.onnx",
                    inputs={"x": "Float:8,16"}, outputs={"y": "Float:8,4"})

    tenon.onnx.compile("network.onnx", backend="AcmeBackend").save("model.onnx")

    options = onnxruntime.SessionOptions()
    options.add_provider_for_devices(tenon.onnx.register("AcmeBackend"), {})
    onnxruntime.InferenceSession("model.onnx", options).run(None, {"x": x})

Ahead of time `pack` and `node` need the package onnx, and `compile` torch as well; at run time `register` needs onnxruntime 1.23
or later.
"""

from ._compile import Compiled, compile
from ._model import node, pack
from ._runtime import library, register

__all__ = ["Compiled", "compile", "library", "node", "pack", "register"]

for _each in (Compiled, compile, library, node, pack, register):
    _each.__module__ = "tenon.onnx"
