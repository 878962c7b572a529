# SPDX-License-Identifier: MIT
"""The nodes that a plugin does not take: run by eager, or compiled by Inductor."""

import operator

from torch._guards import TracingContext, tracing
from torch.fx import GraphModule, Interpreter
from torch.fx.experimental.proxy_tensor import make_fx
from torch.fx.passes.utils.fuser_utils import fuse_as_graphmodule
from torch.fx.traceback import preserve_node_meta

from . import _graph


def compile_rest(gm: GraphModule, options, fake_mode):
    """The function that runs a graph whose partitions are callables."""
    if options.rest == "inductor":
        for number, nodes in enumerate(_runs(gm)):
            _replace_by_inductor(gm, nodes, number, options, fake_mode)
        _graph.drop_unused(gm)
    return _graph.with_copies(gm).forward


def _runs(gm):
    """The calls between the calls of partitions. Elements of their results are in none, and neither are calls with
    constants, which are no arguments that Inductor takes."""
    runs, run = [], {}
    for node in gm.graph.nodes:
        has_constant = any(each.op == "get_attr" for each in node.all_input_nodes)
        if node.op == "call_module" or (node.op == "call_function" and has_constant):
            runs, run = [*runs, run], {}  # Otherwise a run could need what needs the run.
        elif node.op == "call_function" and not (
                node.target is operator.getitem and node.args[0].op == "call_module"):
            run[node] = None
    return [run for run in (*runs, run) if any(not _graph.is_symbolic(node) for node in run)]


def _replace_by_inductor(gm, nodes, number, options, fake_mode):
    from torch._inductor import config, list_mode_options
    from torch._inductor.compile_fx import compile_fx_inner
    from torch._inductor.decomposition import select_decomp_table
    from torch._inductor.virtualized import V

    sub, inputs, outputs = fuse_as_graphmodule(gm, list(nodes), "Rest", nodes, always_return_tuple=True)
    given = [each.meta["val"] for each in inputs]
    with fake_mode, preserve_node_meta():  # Inductor knows what its own decompositions leave.
        sub = make_fx(Interpreter(_graph.with_copies(sub)).run, decomposition_table=select_decomp_table())(*given)
    results = sub.graph.output_node()
    for outer, inner in zip(outputs, results.args[0]):
        outer.meta["val"] = inner.meta["val"]
    results.meta["user_visible_output_idxs"] = list(range(len(results.args[0])))
    mode = {} if options.mode == "default" else list_mode_options(options.mode)
    # A context of its own: the whole graph's context is for the strides of its results.
    with config.patch(mode), V.set_fake_mode(fake_mode), tracing(TracingContext(fake_mode)):
        compiled = compile_fx_inner(sub, given, is_inference=True)
    part = _graph.Part(nodes, sub, list(inputs), list(outputs))
    _graph.replace(gm, part, f"rest_{number}", lambda *arguments: compiled(list(arguments)), list(inputs), {})
