# SPDX-License-Identifier: MIT
"""Special values in each operator, by plugins and by eager PyTorch: special_values.py BUILD [PLUGIN=BACKEND]...

The calls are in tests/fixtures/graph_backend/special_values.py. Each plugin compiles all of them as one graph, behind
`tenon.dynamo`. Fails when a result differs from eager's for another reason than the table there gives, when one does not
differ although the table says so, or when a plugin leaves a call to eager.
"""

import os
import pathlib
import sys

BUILD = pathlib.Path(sys.argv[1]).resolve()
SOURCE = pathlib.Path(__file__).resolve().parents[3]
sys.path[:0] = [str(BUILD / "examples/python"), str(SOURCE / "tests/fixtures/graph_backend")]
for name in [name for name in os.environ if name.startswith("TENON_")]:
    del os.environ[name]

import special_values
import torch

import tenon.dynamo
from tenon.dynamo import _report

RTOL, ATOL = 1e-5, 2e-6  # As the tests of the recorded values.
BACKENDS = BUILD / "examples/backends"
PLUGINS = {"GraphBackend": BACKENDS / "graph_backend/graph_backend.so", "OpenClBackend": BACKENDS / "opencl/opencl.so"}


def check(backend, plugin, calls, tensors, expected):
    """The number of calls that are wrong."""
    def all_of_them(*given):  # Copies, as eager would make views of inputs itself.
        return [call(given).clone() for call in calls.values()]

    torch._dynamo.reset()
    with torch.no_grad(), _report.collected() as graphs:
        function = torch.compile(all_of_them, backend=tenon.dynamo.tenon,
                                 options={"backend": backend, "plugins": [str(plugin)]})
        found = function(*tensors)
    wrong = 0
    for name, a, b in zip(calls, found, expected):
        differs = a.shape != b.shape or not torch.allclose(a.float(), b.float(), rtol=RTOL, atol=ATOL, equal_nan=True)
        reason = special_values.DIFFERENT.get(name)
        if differs == (reason is not None):
            continue
        wrong += 1
        print(f"{backend}: {name}: {'differs' if differs else 'does not differ, though ' + reason}: "
              f"found {a.flatten()[:16].tolist()}, eager {b.flatten()[:16].tolist()}")
    left = sorted({each.operator for graph in graphs for each in graph.left})
    if left:
        print(f"{backend}: left to eager: {', '.join(left)}")
    print(f"{backend}: {len(calls)} calls, {len(special_values.DIFFERENT)} with a reason to differ, {wrong} wrong")
    return wrong + len(left)


def main():
    plugins = dict(reversed(word.split("=", 1)) for word in sys.argv[2:]) or {
        backend: path for backend, path in PLUGINS.items() if path.is_file()}
    calls, tensors = special_values.read_calls()
    with torch.no_grad():
        expected = [call(tensors) for call in calls.values()]
    sys.exit(any([check(backend, path, calls, tensors, expected) for backend, path in plugins.items()]))


main()
