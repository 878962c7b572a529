# SPDX-License-Identifier: MIT
"""The OpenVINO plugin in stock Python: python openvino_python.py BUILD CASES

Runs the cases CASES/tenon_* of export_openvino.py with `executorch.runtime` and compares with eager
PyTorch within the conformance kit's default limits for float32. The wheel's own delegate has the id
OpenvinoBackend, so that of the plugin is left out and the programs name TenonOpenvino.
"""

import json
import os
import pathlib
import sys
import tempfile
import threading

import numpy
import torch
from executorch.runtime import Runtime

BUILD, CASES = (pathlib.Path(argument).resolve() for argument in sys.argv[1:])
NMSE, PEAK = 1e-7, 1e-3


def register():
    """Finds the plugin in a directory of its own, as ids are left out of those that are found."""
    sys.path.insert(0, str(BUILD / "examples/python"))
    import tenon.executorch
    with tempfile.TemporaryDirectory(prefix="tenon-test-") as folder:
        (pathlib.Path(folder) / "openvino.so").symlink_to(BUILD / "examples/backends/openvino/openvino.so")
        os.environ |= {"TENON_PLUGIN_PATH": folder, "TENON_DISABLE": "OpenvinoBackend"}
        assert tenon.executorch.register_plugins() == ["TenonOpenvino"]
    assert Runtime.get().backend_registry.is_available("TenonOpenvino")
    return tenon.executorch


def run_case(bridge, folder):
    """Runs a case in a method of its own; returns the largest error of each kind."""
    case = json.loads((folder / "case.json").read_text(encoding="utf-8"))
    worst = numpy.zeros(2)
    with bridge.errors():
        method = Runtime.get().load_program(folder / "model.pte").load_method("forward")
        for run in case["runs"]:
            inputs = [torch.from_numpy(numpy.load(folder / name)) for name in run["inputs"]]
            outputs = method.execute(inputs)
            for found, name in zip(outputs, run["expected"], strict=True):
                expected = numpy.load(folder / name).astype("float64")
                error = found.numpy().astype("float64") - expected
                worst = numpy.maximum(worst, [(error**2).sum() / (expected**2).sum(),
                                              abs(error).max() / abs(expected).max()])
    return worst


def main():
    bridge = register()
    folders = sorted(path.parent for path in CASES.glob("tenon_*/case.json"))
    assert folders, f"no cases in {CASES}; run export_openvino.py"
    for folder in folders:
        nmse, peak = run_case(bridge, folder)
        print(f"{folder.name}: nmse {nmse:.2g}, peak {peak:.2g}", flush=True)
        assert nmse <= NMSE and peak <= PEAK, folder
    small = [folder for folder in folders if "mlp" in folder.name]
    threads = [threading.Thread(target=run_case, args=(bridge, folder)) for folder in small * 3]
    failures = []
    threading.excepthook = lambda raised: failures.append(raised.exc_value)
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures, failures
    print(f"{len(folders)} programs in stock Python, {len(threads)} threads")


if __name__ == "__main__":
    main()
