# SPDX-License-Identifier: MIT
"""What a call through torch.compile costs with two small tensors: bench_torch_compile.py BUILD [--seconds 10]

One MLP, (a + b) -> 16 -> relu -> 8 with inputs of 1x16, in torch.no_grad(): eager, and compiled by `aot_eager`, by
Inductor, and by `tenon` with GraphBackend, once with constants for weights and once with inputs. In each round each is
called 200 times; the least time of all rounds is printed, and its ratio to eager's. A line for the plugin's program
without torch.compile shows what Dynamo, its guards and AOTAutograd cost. Outputs are compared with eager's first.
"""

import argparse
import pathlib
import sys
import time

parser = argparse.ArgumentParser(usage=__doc__)
parser.add_argument("build", type=pathlib.Path)
parser.add_argument("--seconds", type=float, default=10)
arguments = parser.parse_args()
sys.path.insert(0, str(arguments.build.resolve() / "examples/python"))

import torch  # noqa: E402

import tenon.dynamo  # noqa: E402
from tenon.dynamo import _runner  # noqa: E402

CALLS = 200
PLUGIN = str(arguments.build.resolve() / "examples/backends/graph_backend/graph_backend.so")
torch.set_num_threads(1)
torch.manual_seed(0)


class Mlp(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = torch.nn.Linear(16, 16), torch.nn.Linear(16, 8)

    def forward(self, a, b):
        return self.second(torch.relu(self.first(a + b)))


def compiled(model, **more):
    return torch.compile(model, backend=tenon.dynamo.tenon,
                         options={"backend": "GraphBackend", "plugins": [PLUGIN], **more})


def main():
    model = Mlp().eval()
    inputs = torch.randn(1, 16), torch.randn(1, 16)
    runners = []
    made = _runner.Runner.__init__

    def note(self, *given, **named):
        made(self, *given, **named)
        runners.append(self)

    _runner.Runner.__init__ = note
    functions = {
        "eager": model,
        "aot_eager": torch.compile(model, backend="aot_eager"),
        "inductor": torch.compile(model, backend="inductor"),
        "tenon, weights as inputs": compiled(model),
        "tenon, constants": compiled(model, freeze=True),
    }
    with torch.no_grad():
        expected = model(*inputs)
        for name, function in functions.items():
            torch.testing.assert_close(function(*inputs), expected)
        functions["the partition of `tenon, constants` alone"] = runners[1]
        functions["its method alone, outputs left as arrays"] = lambda *given: runners[1]._methods[0].execute(given)
        least = dict.fromkeys(functions, float("inf"))
        end = time.monotonic() + arguments.seconds
        while time.monotonic() < end:
            for name, function in functions.items():
                begun = time.perf_counter_ns()
                for _ in range(CALLS):
                    function(*inputs)
                least[name] = min(least[name], (time.perf_counter_ns() - begun) / CALLS)
    for name, nanoseconds in least.items():
        print(f"{name:45} {nanoseconds:8.0f} ns  {nanoseconds / least['eager']:.2f}")


main()
