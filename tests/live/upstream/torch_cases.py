# SPDX-License-Identifier: MIT
"""PyTorch's own cases with a plugin in torch.compile: torch_cases.py BUILD [operators|modules|examples] [--every N] [--from K]

Of the cases that PyTorch's wheel has, in float32 on the CPU:
  operators  `op_db`, the first two samples of each operator, as PyTorch's test/inductor/test_torchinductor_opinfo.py gives them
             to Inductor
  modules    `module_db`, the first four samples of each class of torch.nn that is deterministic, in evaluation, as
             test/test_modules.py takes them
  examples   `torch._export.db.examples`, models with closures, branches, containers and mutations, as test/export/test_db.py
             takes them; all of them, since TorchDynamo may break a graph where torch.export refuses

Each case runs with GraphBackend behind `tenon.dynamo` and is compared with eager: values and strides. Cases that fail are run
once more by `aot_eager`, which compiles nothing: what fails there as well is no case for a backend. Prints totals and reasons.

Needs expecttest, hypothesis and sortedcontainers, which PyTorch's helpers for tests import.
"""

import argparse
import collections
import contextlib
import copy
import dataclasses
import io
import itertools
import pathlib
import sys
import warnings

parser = argparse.ArgumentParser(usage=__doc__)
parser.add_argument("build", type=pathlib.Path)
parser.add_argument("source", nargs="?", choices=("operators", "modules", "examples"), default="operators")
parser.add_argument("--every", type=int, default=1)
parser.add_argument("--from", type=int, default=0, dest="first")
arguments = parser.parse_args()
BUILD = arguments.build.resolve()
sys.path.insert(0, str(BUILD / "examples/python"))
sys.argv = sys.argv[:1]
warnings.simplefilter("ignore")

import torch  # noqa: E402
from torch.utils import _pytree as pytree  # noqa: E402

import tenon.dynamo  # noqa: E402
from tenon.dynamo import _report  # noqa: E402

PLUGIN = str(BUILD / "examples/backends/graph_backend/graph_backend.so")
OPTIONS = {"backend": "GraphBackend", "plugins": [PLUGIN]}
SAMPLES = {"operators": 2, "modules": 4}
# What is compared by ==; other objects have an identity.
VALUES = (bool, int, str, type(None))


@dataclasses.dataclass
class Case:
    """Something to call, with its arguments. A call may change them, so each gets a copy."""

    name: str
    function: object
    args: tuple = ()
    kwargs: dict = dataclasses.field(default_factory=dict)


def operators():
    from torch.testing._internal.common_methods_invocations import op_db

    for operator in op_db[arguments.first::arguments.every]:
        if torch.float32 not in operator.dtypes:
            continue
        samples = operator.sample_inputs("cpu", torch.float32, requires_grad=False)
        for number, sample in enumerate(itertools.islice(samples, SAMPLES["operators"])):
            # Dynamo traces a function, not the object that PyTorch's table has for some operators.
            yield Case(f"{operator.name}#{number}", lambda *given, op=operator.op, **named: op(*given, **named),
                       (sample.input, *sample.args), sample.kwargs)


def modules():
    from torch.testing._internal.common_modules import module_db

    for info in module_db[arguments.first::arguments.every]:
        if torch.float32 not in info.dtypes:
            continue
        inputs = info.module_inputs_func(info, device="cpu", dtype=torch.float32, requires_grad=False, training=False)
        for number, each in enumerate([one for one in inputs if one.forward_input][:SAMPLES["modules"]]):
            torch.manual_seed(0)
            module = info.module_cls(*each.constructor_input.args, **each.constructor_input.kwargs).eval()
            yield Case(f"{info.name}#{number}", module, each.forward_input.args, each.forward_input.kwargs)


def examples():
    from torch._export.db.examples import all_examples

    for name, example in list(all_examples().items())[arguments.first::arguments.every]:
        yield Case(name, example.model, example.example_args, example.example_kwargs)


def call(case, wrap):
    """The results of a copy of the case, and its arguments afterwards."""
    function, args, kwargs = copy.deepcopy((case.function, case.args, case.kwargs))
    torch.manual_seed(0)
    with contextlib.redirect_stdout(io.StringIO()):
        return wrap(function)(*args, **kwargs), args, kwargs


def differs(case, backend, options):
    """None when a compiled case gives eager's results and changes its arguments as eager does, else a text."""
    torch._dynamo.reset()
    try:
        expected = call(case, lambda function: function)
    except Exception as failure:
        return f"eager: {failure}"
    try:
        found = call(case, lambda function: torch.compile(function, backend=backend, options=options))
        for a, b in zip(pytree.tree_leaves(found), pytree.tree_leaves(expected), strict=True):
            if isinstance(b, torch.Tensor):
                torch.testing.assert_close(a, b, equal_nan=True, rtol=1e-4, atol=1e-5)
            elif isinstance(b, VALUES) and a != b:
                return f"found {a!r}, eager has {b!r}"
        for a, b in zip(pytree.tree_leaves(found[0]), pytree.tree_leaves(expected[0])):
            if isinstance(a, torch.Tensor) and a.layout is torch.strided and a.stride() != b.stride():
                return f"strides {a.stride()}, eager has {b.stride()}"
    except Exception as failure:
        return f"{type(failure).__name__}: {failure}".strip()
    return None


def run(graphs):
    cases = passed = both = 0
    failures = collections.defaultdict(list)
    with torch.no_grad():
        for case in {"operators": operators, "modules": modules, "examples": examples}[arguments.source]():
            cases += 1
            failure = differs(case, tenon.dynamo.tenon, OPTIONS)
            if failure is None:
                passed += 1
            elif differs(case, "aot_eager", None) is not None:
                both += 1
            else:
                failures[failure.split("\n")[0][:200]].append(case.name)
    taken = sum(len(graph.nodes) - len(graph.left) for graph in graphs)
    print(f"{cases} cases: {passed} pass, {both} fail with aot_eager as well, {sum(map(len, failures.values()))} fail here")
    print(f"{len(graphs)} graphs, {sum(bool(graph.partitions) for graph in graphs)} with a partition; {taken} of "
          f"{sum(len(graph.nodes) for graph in graphs)} nodes taken")
    for reason, names in failures.items():
        print(f"{len(names)}: {', '.join(names[:8])}: {reason}")
    return 1 if failures else 0


def main():
    with _report.collected() as graphs:
        return run(graphs)


sys.exit(main())
