# SPDX-License-Identifier: MIT
"""What became of a graph: which nodes a plugin took, and why not the others."""

import collections
import contextlib
import dataclasses
import json
import operator
import re
import sys

from torch._ops import OpOverload
from torch.fx import GraphModule

from .._pictures import strips_svg
from ..executorch._operators import name_of

SHARED = "the graph returns it as a view of another tensor that it returns or gets"
GRADIENTS = "gradients are wanted, which plugins do not compute"

_collectors: "list[list[GraphReport]]" = []


def name_of_source(node) -> str:
    """ "layers.0.weight" for a parameter of the module; the name of the placeholder for others."""
    source = getattr(node.meta.get("grapharg"), "source", None)
    text = source.name if source is not None else ""
    words = re.findall(r"\['([^']*)'\]|\.([A-Za-z_]\w*)|\[(\d+)\]", text() if callable(text) else text)
    skipped = {"_modules", "_parameters", "_buffers", "self"}
    return ".".join(word for word in map("".join, words) if word not in skipped) or node.name


def reason_of_dynamo(text: str) -> str:
    """One line of what TorchDynamo says about a function or an operation that it cannot trace."""
    explanation = re.search(r"^\s*Explanation: (.*)", text, re.MULTILINE)
    first = text.strip().split("\n")[0]
    return f"{first}: {explanation[1].strip()}" if explanation else first


@dataclasses.dataclass
class NodeReport:
    """One call of a graph.

    operator: "aten.add.Tensor".
    partition: the number of the partition that has it; None when the plugin did not get it.
    reason: why not; empty for nodes of partitions.
    source: the line of the model, "model.py:12"; empty when it is not known.
    needs: with what the plugin would take it; empty when that is not known.
    backends: ids of other plugins that take it.
    """

    name: str
    operator: str
    partition: "int | None"
    reason: str
    source: str
    needs: str = ""
    backends: "tuple[str, ...]" = ()

    def why(self) -> str:
        """Why it is left, and what would take it."""
        return (self.reason + (f"; it would take it with {self.needs}" if self.needs else "")
                + (f"; {', '.join(self.backends)} would take it" if self.backends else ""))

    def text(self) -> str:
        """The node in words, for a picture."""
        place = f"left: {self.why()}" if self.partition is None else f"partition {self.partition}"
        return f"{self.name} ({self.operator}){f' at {self.source}' if self.source else ''}: {place}"


@dataclasses.dataclass
class PartitionReport:
    """One partition.

    info: what the backend says about it.
    nbytes: of the program that was made of it.
    is_new: whether the plugin compiled it now; otherwise it was found in the store.
    """

    info: str
    nbytes: int
    is_new: bool


@dataclasses.dataclass
class GraphReport:
    """One graph of TorchDynamo, for one content of its weights."""

    backend: str
    rest: str
    nodes: "list[NodeReport]" = dataclasses.field(default_factory=list)
    partitions: "list[PartitionReport]" = dataclasses.field(default_factory=list)

    @property
    def left(self) -> "list[NodeReport]":
        """The nodes that no partition has."""
        return [node for node in self.nodes if node.partition is None]

    @property
    def refused(self) -> "list[NodeReport]":
        """The nodes of `left` that compute something."""
        return [node for node in self.left if node.reason != SHARED]

    def refusal(self) -> str:
        first = self.refused[0]
        where = f" at {first.source}" if first.source else ""
        return (f"{len(self.refused)} of {len(self.nodes)} nodes are left; the first is '{first.name}' "
                f"({first.operator}){where}: {first.why()}")

    def add_nodes(self, gm: GraphModule, parts, reasons, ask=None) -> None:
        """Sizes and elements of results are no calls. `ask(node)` is why a node is left that is not in `reasons`."""
        from ._graph import is_symbolic
        from ._reasons import NOT_CHOSEN, Reason

        where = {node: number for number, part in enumerate(parts) for node in part}
        for node in gm.graph.nodes:
            if node.op != "call_function" or node.target is operator.getitem or is_symbolic(node):
                continue
            number = where.get(node)
            if number is not None:
                reason = Reason("")
            elif node in reasons or ask is None:
                reason = Reason(reasons.get(node, NOT_CHOSEN))
            else:
                reason = ask(node)
            self.nodes.append(NodeReport(node.name, name_of(node.target), number, reason.text, _line_of(node),
                                         reason.needs, reason.backends))

    def add_calls(self, gm: GraphModule, reason: str) -> None:
        """All calls of a graph that no plugin gets: TorchDynamo's, of functions and methods, or AOTAutograd's."""
        for node in gm.graph.nodes:
            if not node.op.startswith("call_") or node.target is operator.getitem:
                continue
            target = node.target
            name = name_of(target) if isinstance(target, OpOverload) else getattr(target, "__name__", str(target))
            self.nodes.append(NodeReport(node.name, name, None, reason, _line_of(node)))

    def operators_of(self, partition: int) -> str:
        """ "aten.linear.default x 2, aten.relu.default", for a profile."""
        found = collections.Counter(node.operator for node in self.nodes if node.partition == partition)
        shown = [name if count == 1 else f"{name} x {count}" for name, count in found.most_common(6)]
        return ", ".join(shown + (["..."] if len(found) > len(shown) else []))

    def lines(self) -> "list[str]":
        taken = len(self.nodes) - len(self.left)
        counts = collections.Counter(node.partition for node in self.nodes if node.partition is not None)
        out = [f"{taken} of {len(self.nodes)} nodes in {len(counts)} partitions of {self.backend}; "
               f"the rest is run by {self.rest}"]
        for number, count in sorted(counts.items()):
            if number >= len(self.partitions):
                out.append(f"  partition {number}: {count} nodes, not compiled")
                continue
            part = self.partitions[number]
            origin = "compiled" if part.is_new else "from the store"
            out.append(f"  partition {number}: {count} nodes, {part.nbytes} bytes, {origin}"
                       + (f": {part.info}" if part.info else ""))
        groups = collections.defaultdict(list)
        for node in self.left:
            groups[node.operator, node.why()].append(node)
        for (name, reason), nodes in groups.items():
            lines = sorted({node.source for node in nodes if node.source})
            out.append(f"  left: {len(nodes)} x {name}: {reason}" + (f" ({', '.join(lines[:3])})" if lines else ""))
        return out


@dataclasses.dataclass
class Report:
    """What `explain` returns: prints as text; `json()` has all of it.

    graphs: in the order in which they were compiled.
    breaks: why TorchDynamo ended a graph before the model's end, one text each.
    skipped: why TorchDynamo compiled nothing of a function, one text each. Eager runs these functions.
    """

    graphs: "list[GraphReport]"
    breaks: "list[str]"
    skipped: "list[str]" = dataclasses.field(default_factory=list)

    def __str__(self) -> str:
        lines = [f"{len(self.graphs)} graphs, {len(self.breaks)} graph breaks"]
        for number, graph in enumerate(self.graphs):
            head, *rest = graph.lines()
            lines += [f"graph {number}: {head}", *rest]
        lines += [f"break: {text}" for text in self.breaks]
        lines += [f"not compiled: {text}" for text in self.skipped]
        return "\n".join(lines)

    def json(self) -> str:
        return json.dumps(dataclasses.asdict(self))

    def _repr_svg_(self) -> str:
        """A strip of cells for each graph, in the order of its nodes: green in a partition, grey where it is left."""
        strips = []
        for number, graph in enumerate(self.graphs):
            head, *rest = graph.lines()
            strips.append((f"graph {number}: {head}", [(node.partition, node.text()) for node in graph.nodes],
                           [line.strip() for line in rest]))
        ends = [f"break: {text}" for text in self.breaks] + [f"not compiled: {text}" for text in self.skipped]
        return strips_svg([*strips, *((text, [], []) for text in ends)])


@contextlib.contextmanager
def collected():
    """A list that gets the report of each graph that is compiled meanwhile, by any thread."""
    reports: list[GraphReport] = []
    _collectors.append(reports)
    try:
        yield reports
    finally:
        _collectors[:] = [each for each in _collectors if each is not reports]


def is_collected() -> bool:
    return bool(_collectors)


def show(report: GraphReport) -> None:
    """For `mode="explain"`; `explain` returns the report."""
    if not _collectors:
        print("tenon: " + "\n".join(report.lines()), file=sys.stderr)


def publish(report: GraphReport) -> None:
    for each in _collectors:
        each.append(report)


def _line_of(node) -> str:
    """The innermost line of the stack that PyTorch recorded."""
    found = re.findall(r'File "([^"]*)", line (\d+)', node.meta.get("stack_trace") or "")
    return f"{found[-1][0].rsplit('/', 1)[-1]}:{found[-1][1]}" if found else ""
