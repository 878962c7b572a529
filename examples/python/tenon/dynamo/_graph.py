# SPDX-License-Identifier: MIT
"""Graphs of AOTAutograd as plugins see them: inference alone, functional, in ATen's operators."""

import dataclasses
import math
import operator
import types

import torch
from torch._decomp import core_aten_decompositions
from torch.export.graph_signature import InputKind, OutputKind
from torch.fx import GraphModule, Interpreter, Node
from torch.fx.experimental.proxy_tensor import make_fx
from torch.fx.passes.utils.fuser_utils import fuse_as_graphmodule, topo_sort
from torch.fx.traceback import preserve_node_meta
from torch.utils._sympy.interp import sympy_interp
from torch.utils._sympy.reference import PythonReferenceAnalysis
from torch.utils._sympy.value_ranges import ValueRanges

from ..executorch._edge import dim_order, is_dense

SYMBOLS = (torch.SymInt, torch.SymFloat, torch.SymBool)


class _Sizes(PythonReferenceAnalysis):
    """Arithmetic on sizes, with products in the place of powers, which backends need not know."""

    @staticmethod
    def pow(a, b):
        return math.prod([a] * b) if isinstance(b, int) and 0 < b < 9 else a**b

    pow_by_natural = pow


class NotAlone(Exception):
    """A partition that cannot be a program of its own; the text says why."""


@dataclasses.dataclass
class Weights:
    """The constants of a graph: by the name of its placeholder, their fully-qualified names and tensors."""

    names: dict[str, str]
    tensors: dict[str, torch.Tensor]


def placeholders(gm: GraphModule) -> list[Node]:
    return [node for node in gm.graph.nodes if node.op == "placeholder"]


def values(gm: GraphModule) -> list[object]:
    """The fake inputs of a graph."""
    return [node.meta["val"] for node in placeholders(gm)]


def ranges(fake_mode, largest_size: int | None) -> dict[object, ValueRanges]:
    """The range of each symbol; one without an end ends at `largest_size`."""
    if fake_mode is None or fake_mode.shape_env is None:
        return {}
    found = dict(fake_mode.shape_env.var_to_range)
    if largest_size is None:
        return found
    return {symbol: ValueRanges(each.lower, min(each.upper, max(largest_size, each.lower)))
            for symbol, each in found.items()}


def view(gm: GraphModule, weights: Weights, symbol_ranges: dict[object, ValueRanges],
         plain_inputs=frozenset()):
    """The graph with the members of an ExportedProgram that `tenon.executorch._edge.describe` reads."""
    specs = []
    for node in placeholders(gm):
        name = weights.names.get(node.name)
        specs.append(types.SimpleNamespace(
            kind=InputKind.USER_INPUT if name is None else InputKind.PARAMETER, target=name,
            arg=types.SimpleNamespace(name=node.name)))
    results = gm.graph.output_node().args[0]
    return types.SimpleNamespace(
        graph_module=gm,
        graph_signature=types.SimpleNamespace(
            input_specs=specs,
            output_specs=[types.SimpleNamespace(kind=OutputKind.USER_OUTPUT, target=None)
                          for _ in results]),
        state_dict={weights.names[each]: tensor for each, tensor in weights.tensors.items()},
        constants={}, range_constraints=symbol_ranges, plain_inputs=plain_inputs)


def decompose(gm: GraphModule, fake_mode, kept: set[str]) -> GraphModule:
    """The graph in Core ATen's operators, without those that the plugin wants whole.

    What PyTorch cannot trace once more stays as it is, all of it ATen, and so does a graph whose results
    would have other sizes or strides: some decompositions give what the operator does not promise.
    """
    table = {target: rule for target, rule in core_aten_decompositions().items()
             if str(target) not in kept}
    try:
        with fake_mode, preserve_node_meta():
            out = make_fx(Interpreter(with_copies(copy_of(gm))).run, decomposition_table=table)(*values(gm))
    except Exception:  # Constants that are tensors, and operators without a fake result.
        return gm
    if any(_layout(old) != _layout(new) for old, new in zip(results(gm), results(out))):
        return gm
    for old, new in zip(placeholders(gm), placeholders(out)):
        new.meta.setdefault("desc", old.meta.get("desc"))
    out.graph.eliminate_dead_code()
    out.recompile()
    return out


def results(gm: GraphModule) -> list[object]:
    return list(gm.graph.output_node().args[0])


def _layout(result: object) -> object:
    value = result.meta.get("val") if isinstance(result, Node) else None
    if not isinstance(value, torch.Tensor):
        return None
    return str(value.shape), str(value.stride()), value.dtype  # As texts: to compare symbols would add guards.


def copy_of(gm: GraphModule) -> GraphModule:
    """A graph that may be changed, with the same nodes and constants."""
    copy = torch.fx.Graph()
    copy.output(copy.graph_copy(gm.graph, {}))
    return GraphModule(gm, copy)


# Where a tensor is in another order than the exporter's operators expect, what was a view may need a copy.
_COPYING = {
    torch.ops.aten.view.default: torch.ops.aten.reshape.default,
    torch.ops.aten._unsafe_view.default: torch.ops.aten.reshape.default,
}


def with_copies(gm: GraphModule) -> GraphModule:
    """The graph itself, for tensors that may be in another order than its operators expect."""
    for node in gm.graph.nodes:
        if node.op == "call_function":
            node.target = _COPYING.get(node.target, node.target)
    gm.recompile()
    return gm


def is_symbolic(node: Node) -> bool:
    return isinstance(node.meta.get("val"), (*SYMBOLS, int, float, bool))


def returned_views(gm: GraphModule) -> set[Node]:
    """Views that the graph returns next to what they are views of, and views that only these read.

    They share memory, which results of a partition do not.
    """
    results = gm.graph.output_node()
    returned = set(results.all_input_nodes)
    out: set[Node] = set()
    for node in reversed(gm.graph.nodes):
        if not _is_view(node) or not node.users or any(
                user is not results and user not in out for user in node.users):
            continue
        base = node
        while _is_view(base):
            base = base.args[0]
        is_read_by_view = any(user in out for user in node.users)
        if is_read_by_view or base.op == "placeholder" or base in returned:
            out.add(node)
    return out


def _is_view(node: Node) -> bool:
    return node.op == "call_function" and getattr(node.target, "is_view", False)


def partition_nodes(tags: dict[Node, str], outside: set[Node]) -> list[dict[Node, int | None]]:
    """The nodes of each partition, in the order of their first ones, with the elements of their results.

    Numbers stay outside, so that a partition has tensors alone as results.
    """
    found: dict[str, dict[Node, int | None]] = {}
    for node, tag in tags.items():
        if is_symbolic(node) or node in outside:
            continue
        part = found.setdefault(tag, {})
        part[node] = None
        if isinstance(node.meta.get("val"), (list, tuple)):
            part.update((user, None) for user in node.users if user.target is operator.getitem)
    return list(found.values())


@dataclasses.dataclass
class Part:
    """A partition that was taken out of a graph."""

    nodes: dict[Node, int | None]
    graph: GraphModule
    """Reads and makes tensors alone."""
    inputs: list[Node]
    """Of the whole graph, in the order of the placeholders."""
    outputs: list[Node]
    is_traced_anew: bool = False
    """Whether it computes numbers that were inputs."""


def take_out(gm: GraphModule, nodes: dict[Node, int | None], fake_mode) -> Part:
    """The partition as a graph of its own; `gm` is not changed. Raises NotAlone."""
    try:
        sub, inputs, outputs = fuse_as_graphmodule(gm, topo_sort(list(nodes)), "Partition", nodes,
                                                   always_return_tuple=True)
    except AssertionError as failure:
        raise NotAlone(str(failure)) from None
    for each in inputs:
        if each.op == "get_attr" or isinstance(each.meta.get("val"), (list, tuple)):
            raise NotAlone(f"reads '{each.name}', which is no tensor that a call could pass")
    if not outputs:
        raise NotAlone("has no result that is used")
    traced, kept = _with_tensors_alone(sub, fake_mode)
    return Part(nodes, traced, [inputs[i] for i in kept], list(outputs), traced is not sub)


def replace(gm: GraphModule, part: Part, name: str, function, inputs: list[Node],
            replaced: dict[Node, Node]) -> None:
    """Puts a call of `function` in the place of the partition; `replaced` has the results of all of them."""
    gm.__dict__[name] = function  # What is not among its modules is called without torch.nn.Module.
    last = max(part.nodes)
    with gm.graph.inserting_after(last):
        call = gm.graph.create_node("call_module", name, tuple(replaced.get(each, each) for each in inputs),
                                    name=name)
    call.meta["val"] = tuple(each.meta.get("val") for each in part.outputs)
    with gm.graph.inserting_after(call):
        for i, output in reversed(list(enumerate(part.outputs))):
            element = gm.graph.call_function(operator.getitem, (call, i))
            element.meta = dict(output.meta)
            output.replace_all_uses_with(element)
            replaced[output] = element
    for node in reversed(topo_sort(list(part.nodes))):
        gm.graph.erase_node(node)


def exact_orders(gm: GraphModule, part: Part, laid_out_anew: set[str]) -> list[tuple[int, list[int]]]:
    """The results of a partition that are in another order than in the graph, and have to be as there:
    those that the graph returns, and all where strides are numbers of the graph."""
    inner = part.graph.graph.output_node().args[0]
    all_matter = any("as_strided" in str(node.target) for node in gm.graph.nodes)
    out = []
    for i, (outer, node) in enumerate(zip(part.outputs, inner)):
        if node.name not in laid_out_anew:
            continue
        value = outer.meta["val"]
        order = dim_order(value)
        if (all_matter or any(user.op == "output" for user in outer.users)) and is_dense(value, order):
            out.append((i, order))
    return out


def drop_unused(gm: GraphModule) -> None:
    """Drops calls without users, such as sizes that partitions alone read."""
    for node in reversed(gm.graph.nodes):
        if node.op == "call_function" and not node.users and not node.is_impure():
            gm.graph.erase_node(node)


def _with_tensors_alone(sub: GraphModule, fake_mode) -> tuple[GraphModule, list[int]]:
    """The partition with tensors alone as inputs, and which of its inputs these are.

    A number that it reads is computed from sizes of the tensors that it reads, as in a graph of
    torch.export. Raises NotAlone where that is not possible.
    """
    inputs = values(sub)
    kept = [i for i, each in enumerate(inputs) if isinstance(each, torch.Tensor)]
    if len(kept) == len(inputs):
        return sub, kept
    numbers = {i: each for i, each in enumerate(inputs) if i not in kept}
    for each in numbers.values():
        if not isinstance(each, torch.SymInt):
            raise NotAlone(f"reads a number of type {type(each).__name__} from outside of the partition")

    def run(*tensors):
        sizes = {}
        for tensor in tensors:
            for size in tensor.shape:
                if isinstance(size, torch.SymInt) and size.node.expr.is_symbol:
                    sizes.setdefault(size.node.expr, size)
        arguments = dict(zip(kept, tensors))
        for i, number in numbers.items():
            missing = number.node.expr.free_symbols - sizes.keys()
            if missing:
                raise NotAlone(f"the size {min(map(str, missing))} belongs to no tensor that the "
                               "partition reads")
            arguments[i] = sympy_interp(_Sizes, sizes, number.node.expr)
        return Interpreter(sub).run(*(arguments[i] for i in range(len(inputs))))

    try:
        with fake_mode, preserve_node_meta():
            out = make_fx(run)(*(inputs[i] for i in kept))
    except NotAlone:
        raise
    except Exception as failure:
        raise NotAlone(f"cannot be traced by itself: {type(failure).__name__}: {failure}") from None
    out.graph.eliminate_dead_code()
    out.recompile()
    return out, kept
