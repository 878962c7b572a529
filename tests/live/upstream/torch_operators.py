# SPDX-License-Identifier: MIT
"""PyTorch's own cases for its operators, with a plugin in torch.compile: torch_operators.py BUILD [--every N] [--from K]

The samples of `op_db`, which PyTorch's test/inductor/test_torchinductor_opinfo.py gives to Inductor, in float32 on the CPU: the
first two of each operator run with GraphBackend behind `tenon.dynamo` and are compared with eager. Cases that fail are run
once more by `aot_eager`, which compiles nothing: what fails there as well is no case for a backend. Prints totals and reasons.

Needs expecttest, hypothesis and sortedcontainers, which PyTorch's helpers for tests import.
"""

import argparse
import collections
import itertools
import pathlib
import sys
import warnings

parser = argparse.ArgumentParser(usage=__doc__)
parser.add_argument("build", type=pathlib.Path)
parser.add_argument("--every", type=int, default=1)
parser.add_argument("--from", type=int, default=0, dest="first")
arguments = parser.parse_args()
BUILD = arguments.build.resolve()
sys.path.insert(0, str(BUILD / "examples/python"))
sys.argv = sys.argv[:1]
warnings.simplefilter("ignore")

import torch  # noqa: E402
from torch.testing._internal.common_methods_invocations import op_db  # noqa: E402

import tenon.dynamo  # noqa: E402
from tenon.dynamo import _report  # noqa: E402

PLUGIN = str(BUILD / "examples/backends/graph_backend/graph_backend.so")
OPTIONS = {"backend": "GraphBackend", "plugins": [PLUGIN]}
SAMPLES = 2


def differs(operator, sample, backend, options):
    """None when a compiled operator gives eager's result, else a text."""
    def function(*given, **named):
        return operator.op(*given, **named)

    torch._dynamo.reset()
    try:
        torch.manual_seed(0)
        expected = function(sample.input, *sample.args, **sample.kwargs)
    except Exception as failure:
        return f"eager: {failure}"
    try:
        torch.manual_seed(0)
        found = torch.compile(function, backend=backend, options=options)(sample.input, *sample.args, **sample.kwargs)
        torch.testing.assert_close(found, expected, equal_nan=True, rtol=1e-4, atol=1e-5)
        flat = torch.utils._pytree.tree_leaves
        for a, b in zip(flat(found), flat(expected)):
            if isinstance(a, torch.Tensor) and a.layout is torch.strided and a.stride() != b.stride():
                return f"strides {a.stride()}, eager has {b.stride()}"
    except Exception as failure:
        return f"{type(failure).__name__}: {failure}".strip()
    return None


def main():
    with _report.collected() as graphs:
        run(graphs)


def run(graphs):
    cases = passed = both = 0
    failures = collections.defaultdict(list)
    for operator in op_db[arguments.first::arguments.every]:
        if torch.float32 not in operator.dtypes:
            continue
        with torch.no_grad():
            samples = operator.sample_inputs("cpu", torch.float32, requires_grad=False)
            for number, sample in enumerate(itertools.islice(samples, SAMPLES)):
                cases += 1
                failure = differs(operator, sample, tenon.dynamo.tenon, OPTIONS)
                if failure is None:
                    passed += 1
                elif differs(operator, sample, "aot_eager", None) is not None:
                    both += 1
                else:
                    failures[failure.split("\n")[0][:200]].append(f"{operator.name}#{number}")
    taken = sum(len(graph.nodes) - len(graph.left) for graph in graphs)
    print(f"{cases} cases: {passed} pass, {both} fail with aot_eager as well, {sum(map(len, failures.values()))} fail here")
    print(f"{len(graphs)} graphs, {sum(bool(graph.partitions) for graph in graphs)} with a partition; {taken} of "
          f"{sum(len(graph.nodes) for graph in graphs)} nodes taken")
    for reason, names in failures.items():
        print(f"{len(names)}: {', '.join(names[:8])}: {reason}")


main()
