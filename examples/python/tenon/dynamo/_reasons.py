# SPDX-License-Identifier: MIT
"""Why a plugin leaves a node, what it would need to take it, and which other plugins take it."""

import dataclasses
import functools
import re

import torch
from torch.fx import GraphModule, Node
from torch.fx.node import map_arg
from torch.utils._pytree import tree_map

from .. import _aot, _entry_points
from .._error import Error
from .._half import load_half
from .._reports import inspect, plugins
from ..executorch._edge import describe
from . import _graph

NOT_CHOSEN = "the backend did not choose it"
_ALONE = "the backend takes it alone, and left it in this graph"
_FLOATS = (torch.float16, torch.bfloat16, torch.float64)
_BOUND = 1024  # Any: only whether there is one matters.


@dataclasses.dataclass(frozen=True)
class Reason:
    """Why a node is left.

    text: in the plugin's words, where it says why.
    needs: what makes the plugin take the node; empty when nothing that was tried does.
    backends: the ids of other plugins that take it.
    """

    text: str
    needs: str = ""
    backends: tuple[str, ...] = ()


class Reasons:
    """Asks the plugins about nodes of one graph: about those that are alike once.

    Each node is a program of its own: `partition` says whether a plugin takes it, and `preprocess` why not.
    """

    def __init__(self, options, gm: GraphModule, fake_mode) -> None:
        self._options, self._gm, self._fake_mode = options, gm, fake_mode
        self._half = _half(options.backend, options.plugins)
        self._known: dict[object, Reason] = {}

    def of(self, node: Node) -> Reason:
        constants = map_arg((node.args, node.kwargs), lambda _: None)
        key = (node.target, str(constants), *(_kind(each) for each in (node, *node.all_input_nodes)))
        if key not in self._known:
            self._known[key] = self._ask(node)
        return self._known[key]

    def _ask(self, node: Node) -> Reason:
        if self._half is None:
            return Reason(NOT_CHOSEN)
        [nodes] = _graph.partition_nodes({node: ""}, set()) or [{node: None}]
        try:
            part = _graph.take_out(self._gm, nodes, self._fake_mode)
            described = self._describe(part)
        except (_graph.NotAlone, Error) as why:
            return Reason(getattr(why, "text", str(why)))
        others = tuple(id for id, half in _others(self._options) if self._takes(half, described, []))
        if self._takes(self._half, described):
            return Reason(_ALONE, "", others)
        text = self._refusal(described, part)
        needs, after = self._needs(part, text)
        return Reason(text + after, needs, others)

    def _refusal(self, described, part) -> str:
        try:
            self._half.preprocess([(described.program, self._specs())])
        except Error as failure:
            return _without_place(failure.text, self._options.backend, part)
        return NOT_CHOSEN

    def _specs(self):
        return list(self._options.compile_specs)

    def _describe(self, part, graph=None, names=None, bound=None):
        graph = graph or part.graph
        inner = _graph.placeholders(graph)
        weights = _graph.Weights(names or {}, {
            node.name: node.meta["val"] for node in inner if names and node.name in names})
        ranges = _graph.ranges(self._fake_mode, bound or self._options.largest_size)
        # As in a partition that has the nodes before it, too.
        plain = {node.name for outer, node in zip(part.inputs, inner) if outer.op != "placeholder"}
        return describe(_graph.view(graph, weights, ranges, plain), "forward", whole=True)

    def _takes(self, half, described, specs=None) -> bool:
        """Whether the backend takes all that is no arithmetic on sizes."""
        try:
            _, tags, _ = half.partition(described.program, self._specs() if specs is None else specs)
        except Error:
            return False
        return all(number in tags or _graph.is_symbolic(node) for number, node in enumerate(described.nodes))

    def _needs(self, part, refusal) -> tuple[str, str]:
        """The changes that make the backend take the node: each alone, then all together. When it still refuses, but for
        another reason: no changes, and that reason."""
        inner = _graph.placeholders(part.graph)
        values = [node.meta.get("val") for node in part.graph.graph.nodes]
        changes = []
        if any(isinstance(each, torch.Tensor) and each.dtype in _FLOATS for each in values):
            changes.append(("float32", {"is_float32": True}))
        if any(isinstance(size, torch.SymInt) for each in values if isinstance(each, torch.Tensor) for size in each.shape):
            changes.append(("a bound for its sizes (options['largest_size'], or mark_dynamic with max=)", {"bound": _BOUND}))
        if len(inner) > 1 and all(outer.op == "placeholder" for outer in part.inputs[1:]):
            changes.append(("constant weights (options['freeze'])",
                            {"names": {node.name: node.name for node in inner[1:]}}))
        for tried in [*([each] for each in changes), *([changes] if len(changes) > 1 else [])]:
            needed = ", ".join(text for text, _ in tried)
            described = self._changed(part, **{name: value for _, change in tried for name, value in change.items()})
            if described is not None and self._takes(self._half, described):
                return needed, ""
        next_refusal = self._refusal(described, part) if changes and described is not None else refusal
        return "", "" if next_refusal in (refusal, NOT_CHOSEN) else f"; with {needed}: {next_refusal}"

    def _changed(self, part, *, is_float32=False, **changes):
        try:
            return self._describe(part, self._in_float32(part.graph) if is_float32 else None, **changes)
        except Error:
            return None

    def _in_float32(self, gm: GraphModule) -> GraphModule:
        def converted(each):
            if isinstance(each, torch.dtype):
                return torch.float32 if each in _FLOATS else each
            if isinstance(each, torch.Tensor) and each.dtype in _FLOATS:
                return each.to(torch.float32)
            return each

        out = _graph.copy_of(gm)
        with self._fake_mode:
            for node in out.graph.nodes:
                node.meta = {**node.meta, "val": tree_map(converted, node.meta.get("val"))}
                if node.op == "call_function":
                    node.args, node.kwargs = tree_map(converted, (node.args, node.kwargs))
        return out


def _kind(node: Node) -> object:
    """What plugins look at besides the operator."""
    value = node.meta.get("val")
    if not isinstance(value, torch.Tensor):
        return type(value)
    return value.dtype, value.dim(), any(isinstance(size, torch.SymInt) for size in value.shape)


def _without_place(text: str, backend: str, part) -> str:
    """The plugin's text without the names of the backend and the node, which the report has, and with the graph's names of
    values."""
    for start in (f"backend {backend}: ", "preprocess: ", r"node '[^']*' \([^)]*\): "):
        text = re.sub(f"^{start}", "", text)
    names = {inner.name: outer.name for inner, outer in zip(_graph.placeholders(part.graph), part.inputs)}
    return re.sub("'([^']*)'", lambda found: f"'{names.get(found[1], found[1])}'", text)


@functools.cache
def _half(id: str, files: tuple[str, ...]) -> "_aot.Backend | None":
    """None for a backend that compiles nothing, or cannot be loaded."""
    try:
        return load_half(id, files)
    except Error:
        return None


def _others(options) -> "list[tuple[str, _aot.Backend]]":
    """The other backends that compile, of all plugins that are known here."""
    ids = {each.id for each in plugins()} | set(_entry_points.offered())
    for file in options.plugins:
        record = inspect(file).record
        ids.update(each.id for each in (record.backends if record else ()))
    found = [(id, _half(id, options.plugins) or _half(id, ())) for id in sorted(ids - {options.backend})]
    return [(id, half) for id, half in found if half is not None and half.has_partition]
