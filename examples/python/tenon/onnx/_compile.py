# SPDX-License-Identifier: MIT
"""`compile`: the parts of an ONNX model that a plugin's backend takes, as EPContext nodes."""

from __future__ import annotations

import os
import typing
from collections.abc import Iterable, Iterator, Mapping, Sequence

from .._error import Error
from ._model import node as context_node
from ._operators import NUMBERS, Call, Function, Unsupported, function_of

if typing.TYPE_CHECKING:
    import onnx
    import torch

Model = typing.Union[str, "os.PathLike[str]", bytes, "onnx.ModelProto"]


class Compiled:
    """A compiled model.

    model: the ONNX model with an EPContext node for each part that the backend took.
    taken: how many nodes the backend took, by operator.
    left: why nodes stay with ONNX Runtime, by the nodes' names, or their first outputs.
    """

    def __init__(self, model: onnx.ModelProto, taken: dict[str, int], left: dict[str, str]) -> None:
        self.model, self.taken, self.left = model, taken, left

    def __repr__(self) -> str:
        return f"<tenon.onnx.Compiled: {sum(self.taken.values())} nodes taken, {len(self.left)} left>"

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the `.onnx` file."""
        import onnx
        onnx.save(self.model, os.fspath(path))


def _uses(node: onnx.NodeProto) -> Iterator[str]:
    """The values that a node reads, also in the graphs of its branches."""
    yield from node.input
    for attribute in node.attribute:
        for graph in (attribute.g, *attribute.graphs):
            for each in graph.node:
                yield from _uses(each)


class _Graph:
    """The main graph: types, constants, and which nodes use a value."""

    def __init__(self, model: onnx.ModelProto) -> None:
        import onnx
        self.graph = model.graph
        self.constants = {each.name: onnx.numpy_helper.to_array(each) for each in self.graph.initializer}
        for each in self.graph.node:
            if each.op_type == "Constant" and each.attribute[0].name == "value":
                self.constants[each.output[0]] = onnx.numpy_helper.to_array(each.attribute[0].t)
            elif each.op_type == "Identity" and each.input[0] in self.constants:
                self.constants[each.output[0]] = self.constants[each.input[0]]
        infos = [*self.graph.input, *self.graph.output, *self.graph.value_info]
        self.infos = {each.name: each for each in infos if each.type.HasField("tensor_type")}

    def sizes(self, name: str) -> list[int | str]:
        """The sizes of a tensor; a text is the name of one that changes."""
        if name in self.constants:
            return list(self.constants[name].shape)
        info = self.infos.get(name)
        if info is None or not info.type.tensor_type.HasField("shape"):
            raise Unsupported(f"the shape of {name} is not known")
        out: list[int | str] = []
        for size in info.type.tensor_type.shape.dim:
            if not size.HasField("dim_value") and not size.dim_param:
                raise Unsupported(f"a size of {name} is not known")
            out.append(size.dim_value if size.HasField("dim_value") else size.dim_param)
        return out

    def function(self, node: onnx.NodeProto) -> Function:
        import onnx
        attributes = {each.name: onnx.helper.get_attribute_value(each) for each in node.attribute}
        constants = {i: self.constants[name] for i, name in enumerate(node.input) if name in self.constants}
        for i, name in enumerate((*node.input, *node.output)):
            if not name or i in NUMBERS.get(node.op_type, ()):
                continue
            self.sizes(name)
            if name in self.constants:
                is_float = self.constants[name].dtype == "float32"
            else:
                is_float = self.infos[name].type.tensor_type.elem_type == onnx.TensorProto.FLOAT
            if not is_float:
                raise Unsupported(f"{name} is not float32")
        return function_of(Call(node, attributes, constants, self.sizes(node.input[0])))


class _Part:
    """Nodes in a row that PyTorch has functions for, as one module."""

    def __init__(self, graph: _Graph, nodes: list[onnx.NodeProto], functions: list[Function]) -> None:
        self.graph, self.nodes, self.functions = graph, nodes, functions
        made = {name for each in nodes for name in each.output}
        self.numbers = {each.input[i] for each in nodes for i in NUMBERS.get(each.op_type, ()) if i < len(each.input)}
        used = [name for each in nodes for name in each.input if name]
        self.inputs = [name for name in dict.fromkeys(used) if name not in made and name not in graph.constants]
        self.weights = [name for name in dict.fromkeys(used) if name in graph.constants and name not in self.numbers]
        outside = {name for each in graph.graph.node if each.output[0] not in made for name in _uses(each)}
        outside |= {each.name for each in graph.graph.output}
        self.outputs = [name for each in nodes for name in each.output if name in outside]

    def module(self) -> torch.nn.Module:
        import torch
        part = self

        class Module(torch.nn.Module):
            def __init__(self) -> None:
                super().__init__()
                for i, name in enumerate(part.weights):
                    self.register_buffer(f"weight_{i}", torch.from_numpy(part.graph.constants[name].copy()))

            def forward(self, *values: torch.Tensor) -> tuple[torch.Tensor, ...]:
                known: dict[str, typing.Any] = dict(zip(part.inputs, values))
                known.update((name, getattr(self, f"weight_{i}")) for i, name in enumerate(part.weights))
                for node, function in zip(part.nodes, part.functions):
                    given = [known.get(name) for name in node.input]
                    while given and given[-1] is None:
                        given.pop()
                    known[node.output[0]] = function(*given)
                return tuple(known[name] for name in part.outputs)
        return Module().eval()

    def exported(self, bounds: Mapping[str, int]) -> torch.export.ExportedProgram:
        """Raises Unsupported for a size that changes and has no bound."""
        import torch
        examples, shapes = [], []
        dimensions = {name: torch.export.Dim(f"size_{i}", max=most) for i, (name, most) in enumerate(bounds.items())}
        for name in self.inputs:
            sizes = self.graph.sizes(name)
            for size in sizes:
                if isinstance(size, str) and size not in bounds:
                    raise Unsupported(f"size {size} of {name} has no bound")
            examples.append(torch.zeros([bounds[size] if isinstance(size, str) else size for size in sizes]))
            shapes.append({i: dimensions[size] for i, size in enumerate(sizes) if isinstance(size, str)})
        return torch.export.export(self.module(), tuple(examples), dynamic_shapes={"values": tuple(shapes)})


def _compile_part(part: _Part, number: int, backend: str, bounds: Mapping[str, int],
                  arguments: Mapping[str, typing.Any]) -> onnx.NodeProto:
    """The context node of a part. Raises Unsupported."""
    import torch

    import tenon
    if not part.inputs or not part.outputs:
        raise Unsupported("it computes with constants alone")
    try:
        with torch.no_grad():
            exported = part.exported(bounds).run_decompositions()
        compiled = tenon.compile(exported, (), backend=backend, allow_missing_kernels=True, **arguments)
    except Error as failure:
        if failure.name != "NotSupported":
            raise
        raise Unsupported(f"{backend}: {failure.text}") from None
    except (RuntimeError, ValueError) as failure:
        raise Unsupported(f"torch.export: {str(failure).splitlines()[0]}") from None
    left = sorted(name for name, (_, count) in compiled.operators.items() if count)
    if left:
        raise Unsupported(f"{backend} leaves {', '.join(left)}")
    return context_node(compiled.program, backend, part.inputs, part.outputs, method="forward",
                        name=f"tenon_{backend}_{number}")


def _parts(graph: _Graph, left: dict[str, str]) -> Iterable[_Part]:
    """Nodes in a row: ONNX lists nodes after those that they use, so a row has no way out and back in."""
    nodes: list[onnx.NodeProto] = []
    functions: list[Function] = []
    for node in graph.graph.node:
        if node.output[0] in graph.constants:
            continue
        try:
            functions.append(graph.function(node))
            nodes.append(node)
        except Unsupported as reason:
            left[node.name or node.output[0]] = f"{node.op_type}: {reason}"
            if nodes:
                yield _Part(graph, nodes, functions)
            nodes, functions = [], []
    if nodes:
        yield _Part(graph, nodes, functions)


def compile(model: Model, *, backend: str, bounds: Mapping[str, int] | None = None,
            options: Mapping[str, object] | None = None,
            plugins: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] = ()) -> Compiled:
    """Compiles parts of an ONNX model with a plugin's backend; all other nodes stay with ONNX Runtime. Needs torch.

    A part is a row of nodes whose operators are one function of PyTorch (`_operators.py`), on float32 tensors; the backend
    takes all of it or nothing.

    model: a `.onnx` file, its bytes, or the ModelProto, of opset 13 or later. It is not changed.
    backend: the id of the backend.
    bounds: for each size that changes, the largest, by the name that the model has for it.
    options: its compile specs, as for tenon.compile.
    plugins: plugin files, or one, to look in first.

    Raises `Error` as tenon.compile does, but NotSupported: such a part stays with ONNX Runtime, and `left` has the reason.
    """
    import onnx

    if isinstance(model, onnx.ModelProto):
        proto = model
    else:
        proto = onnx.load_from_string(model) if isinstance(model, bytes) else onnx.load(os.fspath(model))
    versions = {each.domain or "ai.onnx": each.version for each in proto.opset_import}
    if versions.get("ai.onnx", 13) < 13:
        raise ValueError(f"expected a model of opset 13 or later, found {versions['ai.onnx']}")
    proto = onnx.shape_inference.infer_shapes(proto)
    graph = _Graph(proto)
    taken: dict[str, int] = {}
    left: dict[str, str] = {}
    contexts: dict[str, onnx.NodeProto] = {}  # By the first output of the part's last node.
    replaced: set[str] = set()
    arguments = {"options": options, "plugins": plugins}
    for number, part in enumerate(_parts(graph, left)):
        try:
            contexts[part.nodes[-1].output[0]] = _compile_part(part, number, backend, bounds or {}, arguments)
        except Unsupported as reason:
            left.update({each.name or each.output[0]: f"{each.op_type}: {reason}" for each in part.nodes})
            continue
        replaced |= {each.output[0] for each in part.nodes}
        for each in part.nodes:
            taken[each.op_type] = taken.get(each.op_type, 0) + 1
    nodes = []
    for each in proto.graph.node:
        first = each.output[0]
        if first in contexts:
            nodes.append(contexts[first])
        elif first not in replaced:
            nodes.append(each)
    return Compiled(_with_nodes(proto, nodes), taken, left)


def _with_nodes(proto: onnx.ModelProto, nodes: list[onnx.NodeProto]) -> onnx.ModelProto:
    """The model with other nodes, and without the constants that none of them uses."""
    import onnx
    used = {each.name for each in proto.graph.output}
    for each in reversed(nodes):  # Each is behind what it uses.
        if each.op_type not in ("Constant", "Identity") or each.output[0] in used:
            used.update(_uses(each))
    nodes = [each for each in nodes if each.op_type not in ("Constant", "Identity") or each.output[0] in used]
    out = onnx.ModelProto()
    out.CopyFrom(proto)
    del out.graph.node[:]
    out.graph.node.extend(nodes)
    initializers = [each for each in proto.graph.initializer if each.name in used]
    del out.graph.initializer[:]
    out.graph.initializer.extend(initializers)
    inputs = [each for each in proto.graph.input
              if each.name in used or each.name not in {other.name for other in proto.graph.initializer}]
    del out.graph.input[:]
    out.graph.input.extend(inputs)
    if not any(each.domain == "com.microsoft" for each in out.opset_import):
        out.opset_import.append(onnx.helper.make_opsetid("com.microsoft", 1))
    return out
