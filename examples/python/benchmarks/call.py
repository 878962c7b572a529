# SPDX-License-Identifier: MIT
"""What one call from Python costs with two small tensors: Tenon, ExecuTorch's and ONNX's runtimes.

    call.py BUILD [--seconds 10]

One MLP, (a + b) -> 16 -> relu -> 8 with inputs of 1x16, in one interleaved run: in each round each
runtime is called 200 times; the least time of all rounds is printed. Tenon and executorch.runtime
run the same program, which XNNPACK executes in both (Tenon's is the stock library in a plugin).
Outputs are compared with PyTorch's first. The last line is a backend that does nothing, with one
input: what Python and the host cost by themselves.

Needs torch, executorch, onnx, onnxruntime and NumPy; tenon is found in BUILD/examples/python.
"""

import argparse
import pathlib
import statistics
import sys
import tempfile
import time
import warnings

parser = argparse.ArgumentParser(usage=__doc__)
parser.add_argument("build", type=pathlib.Path)
parser.add_argument("--seconds", type=float, default=10)
options = parser.parse_args()
sys.path.insert(0, str(options.build / "examples/python"))
warnings.simplefilter("ignore")

import numpy as np  # noqa: E402
import onnx  # noqa: E402
import onnxruntime  # noqa: E402
import torch  # noqa: E402
from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner  # noqa: E402
from executorch.exir import to_edge_transform_and_lower  # noqa: E402
from executorch.runtime import Runtime  # noqa: E402

import tenon  # noqa: E402

CALLS = 200
torch.set_num_threads(1)
torch.manual_seed(0)


class Mlp(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = torch.nn.Linear(16, 16), torch.nn.Linear(16, 8)

    def forward(self, a, b):
        return self.second(torch.relu(self.first(a + b)))


def onnx_mlp(model):
    node, value = onnx.helper.make_node, onnx.helper.make_tensor_value_info
    number = onnx.TensorProto.FLOAT
    nodes = [node("Add", ["a", "b"], ["s"]),
             node("Gemm", ["s", "first.weight", "first.bias"], ["h"], transB=1),
             node("Relu", ["h"], ["r"]),
             node("Gemm", ["r", "second.weight", "second.bias"], ["y"], transB=1)]
    weights = [onnx.numpy_helper.from_array(tensor.numpy(), name)
               for name, tensor in model.state_dict().items()]
    graph = onnx.helper.make_graph(nodes, "mlp", [value("a", number, [1, 16]), value("b", number, [1, 16])],
                                   [value("y", number, [1, 8])], weights)
    made = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)])
    made.ir_version = 9
    return made.SerializeToString()


model = Mlp().eval()
a, b = torch.randn(1, 16), torch.randn(1, 16)
expected = model(a, b).detach().numpy()
exported = torch.export.export(model, (a, b))
program = to_edge_transform_and_lower(exported, partitioner=[XnnpackPartitioner()]).to_executorch().buffer
folder = pathlib.Path(tempfile.mkdtemp(prefix="tenon-call-"))
(folder / "model.pte").write_bytes(program)

plugins = options.build / "examples/backends/executorch"
ours = tenon.load(folder / "model.pte", plugins=[plugins / "xnnpack.so"])["forward"]
theirs_program = Runtime.get().load_program(str(folder / "model.pte"))
theirs = theirs_program.load_method("forward")
threads = onnxruntime.SessionOptions()
threads.intra_op_num_threads = 1
session = onnxruntime.InferenceSession(onnx_mlp(model), threads, providers=["CPUExecutionProvider"])
x, y = a.numpy(), b.numpy()
feed = {"a": x, "b": y}
noop = tenon.load(pathlib.Path(__file__).parents[3] / "tests/fixtures/bench/noop_call_1.pte",
                  plugins=[options.build / "tests/noop.so"])["forward"]
four = np.zeros(4, np.float32)

runs = {
    "tenon, NumPy in": lambda: ours(x, y),
    "tenon, NumPy in, borrow": lambda: ours(x, y, borrow=True),
    "tenon, torch in": lambda: ours(a, b),
    "executorch.runtime, torch in": lambda: theirs.execute((a, b)),
    "onnxruntime, NumPy in": lambda: session.run(None, feed),
    "tenon, a backend that does nothing": lambda: noop(four),
}
for name, run in runs.items():
    if "nothing" in name:
        continue
    [output] = [run()] if name.startswith("tenon") else run()
    np.testing.assert_allclose(np.asarray(output), expected, rtol=1e-4, atol=1e-5)

times = {name: [] for name in runs}
end = time.monotonic() + options.seconds
while time.monotonic() < end:
    for name, run in runs.items():
        start = time.perf_counter_ns()
        for _ in range(CALLS):
            run()
        times[name].append((time.perf_counter_ns() - start) / CALLS)
for name, found in times.items():
    print(f"{name:36} least {min(found):8.0f} ns   median {statistics.median(found):8.0f} ns")
better = min(min(times["executorch.runtime, torch in"]), min(times["onnxruntime, NumPy in"]))
print(f"tenon / the better of the two: {min(times['tenon, NumPy in']) / better:.2f} with NumPy, "
      f"{min(times['tenon, torch in']) / better:.2f} with torch "
      f"(torch {torch.__version__}, onnxruntime {onnxruntime.__version__}, {len(times[name])} rounds)")
