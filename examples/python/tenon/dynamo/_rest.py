# SPDX-License-Identifier: MIT
"""The nodes that a plugin does not take: run by eager, or compiled by Inductor."""

import operator

import torch
from torch.fx import GraphModule
from torch.fx.passes.fake_tensor_prop import FakeTensorProp
from torch.fx.passes.utils.fuser_utils import fuse_as_graphmodule

from . import _graph

# Results of partitions may be in another order than those of the exporter's operators: what was a view
# there may need a copy.
_COPYING = {
    torch.ops.aten.view.default: torch.ops.aten.reshape.default,
    torch.ops.aten._unsafe_view.default: torch.ops.aten.reshape.default,
}


def compile_rest(gm: GraphModule, options, fake_mode):
    """The function that runs a graph whose partitions are callables."""
    if options.rest == "inductor":
        for number, nodes in enumerate(_runs(gm)):
            _replace_by_inductor(gm, nodes, number, options, fake_mode)
        _graph.drop_unused(gm)
    return run_by_eager(gm)


def run_by_eager(gm: GraphModule):
    """The function of a graph, some of whose tensors are in another order than its operators expect."""
    for node in gm.graph.nodes:
        if node.op == "call_function":
            node.target = _COPYING.get(node.target, node.target)
    gm.recompile()
    return gm.forward


def _runs(gm):
    """The calls between those of partitions, without elements of their results and without constants,
    which are no arguments that Inductor takes."""
    runs, run = [], {}
    for node in gm.graph.nodes:
        if node.op == "call_module":
            runs, run = [*runs, run], {}
        elif node.op == "call_function" and not (
                node.target is operator.getitem and node.args[0].op == "call_module") and not any(
                each.op == "get_attr" for each in node.all_input_nodes):
            run[node] = None
    return [run for run in (*runs, run) if any(not _graph.is_symbolic(node) for node in run)]


def _replace_by_inductor(gm, nodes, number, options, fake_mode):
    from torch._inductor import config, list_mode_options
    from torch._inductor.compile_fx import compile_fx_inner
    from torch._inductor.virtualized import V

    sub, inputs, outputs = fuse_as_graphmodule(gm, list(nodes), "Rest", nodes, always_return_tuple=True)
    given = [each.meta["val"] for each in inputs]
    results = sub.graph.output_node()
    FakeTensorProp(sub, mode=fake_mode).propagate_dont_convert_inputs(*given)
    for outer, inner in zip(outputs, results.args[0]):
        outer.meta["val"] = inner.meta["val"]
    results.meta["user_visible_output_idxs"] = list(range(len(results.args[0])))
    mode = {} if options.mode == "default" else list_mode_options(options.mode)
    with config.patch(mode), V.set_fake_mode(fake_mode):
        compiled = compile_fx_inner(sub, given, is_inference=True)
    part = _graph.Part(nodes, sub, list(inputs), list(outputs))
    _graph.replace(gm, part, f"rest_{number}", lambda *arguments: compiled(list(arguments)), list(inputs), {})
