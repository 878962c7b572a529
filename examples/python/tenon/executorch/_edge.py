# SPDX-License-Identifier: MIT
"""Describes an exported program to a plugin: torch.fx nodes become an `_aot.Program`.

The description is the one that `tenon-compile` reads from PyTorch's archive (docs/aot/pt2.md). The exported
program is read only. Elements of weights stay in torch's memory.
"""

import dataclasses
import functools
import operator

import sympy
import torch
from torch._subclasses import FakeTensor
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind, OutputKind
from torch.fx import Node
from torch.fx.experimental.symbolic_shapes import guard_or_false, guard_or_true, statically_known_true

from .. import _aot
from .._error import Error
from ..aoti import _SCALAR_TYPES
from ._operators import MemoryFormat, NotDescribed, call_of, name_of, overload_of

# tenon/abi/draft/edge_program.h
(_NONE, _VALUE, _VALUES, _BOOL, _INT, _DOUBLE, _STRING, _BOOLS, _INTS, _DOUBLES, _SCALAR_TYPE,
 _LAYOUT, _MEMORY_FORMAT, _DEVICE) = range(14)
_TENSOR, _SYM_INT, _SYM_FLOAT, _SYM_BOOL = 1, 2, 3, 4
_ORIGINS = {InputKind.PARAMETER: 2, InputKind.BUFFER: 3, InputKind.CONSTANT_TENSOR: 4}
_DEVICES = {"cpu": 1, "cuda": 2, "mps": 8}  # DLPack's numbers.
_MEMORY_FORMATS = {torch.contiguous_format: 0, torch.preserve_format: 1, torch.channels_last: 2,
                   torch.channels_last_3d: 3}
_NOT_SUPPORTED = 0x10
# They state facts alone, and no program has them.
_ASSERTIONS = {"aten._assert_scalar.default", "aten._assert_tensor_metadata.default", "aten._assert_async.msg",
               "aten.sym_constrain_range.default", "aten.sym_constrain_range_for_size.default"}


@dataclasses.dataclass
class Description:
    """A program as a plugin gets it, and the nodes behind its numbers."""

    program: _aot.Program
    nodes: list[Node]  # By number of the node in the description.
    stored: dict[int, Node]  # By number of the value: placeholders of weights.
    opaque: dict[int, str]  # By number of the node: what it has that a description cannot have.
    laid_out_anew: set[str]  # Names of nodes whose results are in the plain order here, and not in torch.


def not_supported(text: str) -> Error:
    return Error(_NOT_SUPPORTED, "NotSupported", text)


def describe(program: ExportedProgram, method_name: str, *, whole: bool) -> Description:
    """Describes `program`.

    The result of a view is a value of its own here, with elements in the plain order, and so is what
    takes its order from one, as docs/aot/pt2.md has it. `program.plain_inputs` are names of
    inputs that are in the plain order, whatever the exporter saw.

    A call that a description cannot have (control flow, delegates of other backends, arguments that
    have no counterpart) is an error with `whole`, as is needed to compile it. Else it becomes a node
    that no backend knows, "higher_order.NAME" or "opaque.NAME", with the values that it reads.

    Raises tenon.Error, NotSupported, which names the node.
    """
    return _Reader(program, method_name, whole).read()


def whole_operators(half: _aot.Backend, specs: list[tuple[str, bytes]], described: Description) -> list:
    """The operators that a plugin wants whole and of which it takes each call.

    An operator that it would leave would otherwise reach the program without a kernel.
    """
    wanted = set(half.ops_to_not_decompose(described.program))
    if not wanted:
        return []
    _, taken, _ = half.partition(described.program, specs)
    calls: dict[str, list[int]] = {}
    for number, node in enumerate(described.nodes):
        if isinstance(node.target, torch._ops.OpOverload):
            calls.setdefault(str(node.target), []).append(number)
    return [described.nodes[numbers[0]].target for name, numbers in calls.items()
            if name in wanted and all(number in taken for number in numbers)]


class _Reader:
    def __init__(self, program: ExportedProgram, method_name: str, whole: bool) -> None:
        self._program = program
        self._method = method_name
        self._whole = whole
        ranges = {str(symbol): (_bound(range_.lower), _bound(range_.upper))
                  for symbol, range_ in program.range_constraints.items()
                  if isinstance(symbol, sympy.Basic)}
        self._builder = _aot.ProgramBuilder(method_name, ranges)
        self._ids: dict[Node, int | None | list[int | None]] = {}  # What each node's result is.
        self._out = Description(None, [], {}, {}, set())
        self._anew: set[int] = set()

    def read(self) -> Description:
        graph = self._program.graph_module.graph
        specs = iter(self._program.graph_signature.input_specs)
        for node in graph.nodes:
            try:
                if node.op == "placeholder":
                    self._read_input(node, next(specs))
                elif node.op == "call_function":
                    self._read_call(node)
                elif node.op == "output":
                    self._read_outputs(node)
                elif node.op != "get_attr":  # A get_attr is an argument of control flow and delegates.
                    raise NotDescribed(f"a node of kind {node.op}")
            except NotDescribed as what:
                raise self._refusal(node, what) from None
        self._out.program = self._builder.build()
        return self._out

    def _refusal(self, node: Node, what: object) -> Error:
        target = f" ({name_of(node.target)})" if node.op == "call_function" else ""
        return not_supported(f"method '{self._method}': node '{node.name}'{target}: {what} "
                             "cannot be described to a plugin")

    # Values.

    def _read_input(self, node: Node, spec) -> None:
        value = node.meta.get("val")
        if spec.kind in _ORIGINS:
            self._read_stored(node, spec, value)
        elif spec.kind != InputKind.USER_INPUT:
            raise NotDescribed(f"an input of kind {spec.kind.name}")
        elif isinstance(value, torch.Tensor):
            plain = node.name in getattr(self._program, "plain_inputs", ())
            number = self._ids[node] = self._builder.user_input(node.name, _tensor(value, plain))
            self._note_layout(number, node.name, value, plain)
        elif isinstance(value, (torch.SymInt, torch.SymFloat, torch.SymBool)):
            self._ids[node] = self._builder.user_input_symbol(node.name, *_symbol(value))
        elif node.users:
            raise NotDescribed(f"an input of type {type(value).__name__}")
        else:
            self._ids[node] = None  # A constant of the signature: nothing reads it.

    def _read_stored(self, node: Node, spec, value: torch.Tensor) -> None:
        tensors = self._program.state_dict if spec.kind != InputKind.CONSTANT_TENSOR else {}
        tensor = tensors.get(spec.target)
        if tensor is None:  # Constants, and buffers that are not persistent.
            tensor = self._program.constants.get(spec.target)
        if tensor is None:
            raise NotDescribed(f"'{spec.target}', which the program does not have,")
        sizes = [int(size) for size in tensor.shape]
        description = (_scalar_type(tensor.dtype), sizes, list(range(len(sizes))))
        address, nbytes, keep = 0, 0, None
        if not isinstance(tensor, FakeTensor):
            keep = _plain(tensor)
            address, nbytes = keep.data_ptr(), keep.nbytes
        number = self._builder.stored(_ORIGINS[spec.kind], node.name, spec.target, description,
                                      address, nbytes, keep)
        self._ids[node] = number
        self._out.stored[number] = node

    def _note_layout(self, number: int, name: str, value: torch.Tensor, plain: bool) -> None:
        order = dim_order(value)
        dense = is_dense(value, order)
        if not (dense and order == sorted(order)) and (plain or not dense):
            self._anew.add(number)
            self._out.laid_out_anew.add(name)

    def _add_result(self, name: str, value: object, plain: bool) -> int | None:
        if value is None:
            return None
        if isinstance(value, torch.Tensor):
            number = self._builder.node_output(name, _tensor(value, plain))
            self._note_layout(number, name, value, plain)
            return number
        if isinstance(value, (int, float, torch.SymInt, torch.SymFloat, torch.SymBool)):
            return self._builder.node_output_symbol(name, *_symbol(value))
        raise NotDescribed(f"a result of type {type(value).__name__}")

    def _add_results(self, node: Node, plain: bool) -> list[int]:
        """Numbers of the values that the node makes. Users of a list get its elements by getitem."""
        value = node.meta.get("val")
        if not isinstance(value, (list, tuple)):
            number = self._add_result(node.name, value, plain)
            self._ids[node] = number
            return [] if number is None else [number]
        names = {user.args[1]: user.name for user in node.users if user.target is operator.getitem}
        numbers = [self._add_result(names.get(i, f"{node.name}_unused_{i}"), each, plain)
                   for i, each in enumerate(value)]
        self._ids[node] = numbers
        return [number for number in numbers if number is not None]

    def _value(self, node: Node) -> int:
        number = self._ids.get(node)
        if isinstance(number, int):
            return number
        what = "a list of results" if isinstance(number, list) else "a graph, an object or None"
        raise NotDescribed(f"{what} ('{node.name}') as an argument")

    # Calls.

    def _read_call(self, node: Node) -> None:
        if node.target is operator.getitem and isinstance(self._ids.get(node.args[0]), list):
            self._ids[node] = self._ids[node.args[0]][node.args[1]]
            return
        if name_of(node.target) in _ASSERTIONS and not node.users:
            return
        reason = None
        try:
            if isinstance(node.target, torch._ops.HigherOrderOperator):
                raise NotDescribed("control flow or a delegate")
            target, arguments = call_of(node)
            described = [(name, *self._argument(value, type_)) for name, value, type_ in arguments]
        except NotDescribed as what:
            if self._whole:
                raise
            reason = str(what)
            target = name_of(node.target)
            if not target.startswith("higher_order."):
                target = f"opaque.{target}"
            read = [self._ids.get(each) for each in node.all_input_nodes]
            described = [("inputs", _VALUES, [number for number in read if isinstance(number, int)])]
        outputs = self._add_results(node, self._gives_plain_layout(node, described))
        # Without one of the exporter: the position, as tenon-compile has it.
        handle = node.meta.get("debug_handle", len(self._out.nodes) + 1)
        self._builder.add_node(node.name, target, described, outputs, _module_path(node),
                               handle if isinstance(handle, int) else 0)
        if reason is not None:
            self._out.opaque[len(self._out.nodes)] = reason
        self._out.nodes.append(node)

    def _gives_plain_layout(self, node: Node, described: list[tuple[str, int, object]]) -> bool:
        plain = getattr(overload_of(node.target), "is_view", False)
        for _, kind, value in described:
            if kind == _MEMORY_FORMAT and value != _MEMORY_FORMATS[torch.preserve_format]:
                return False
            values = value if kind == _VALUES else [value] if kind == _VALUE else []
            plain = plain or any(each in self._anew for each in values)
        return plain

    def _argument(self, value: object, type_: torch.Type | None) -> tuple[int, object]:
        """The kind and the value of an argument."""
        if isinstance(value, Node):
            return _VALUE, self._value(value)
        if isinstance(value, (list, tuple)):
            return self._list(value, type_)
        if isinstance(value, torch.SymInt) and value.node.is_constant():
            value = int(value)
        for kind, types in ((_NONE, type(None)), (_MEMORY_FORMAT, MemoryFormat), (_BOOL, bool),
                            (_INT, int), (_DOUBLE, float), (_STRING, str)):
            if isinstance(value, types):
                return kind, value
        if isinstance(value, torch.dtype):
            return _SCALAR_TYPE, _scalar_type(value)
        if isinstance(value, torch.layout) and value is torch.strided:
            return _LAYOUT, 0
        if isinstance(value, torch.memory_format):
            return _MEMORY_FORMAT, _MEMORY_FORMATS[value]
        if isinstance(value, torch.device):
            return _DEVICE, _device(value)
        raise NotDescribed(f"an argument of type {type(value).__name__}")

    def _list(self, values: list | tuple, type_: torch.Type | None) -> tuple[int, object]:
        if not values:
            text = str(type_)
            kinds = (("Tensor", _VALUES), ("bool", _BOOLS), ("float", _DOUBLES))
            return next((kind for word, kind in kinds if word in text), _INTS), []
        nodes = [value for value in values if isinstance(value, Node)]
        if any(isinstance(node.meta.get("val"), torch.Tensor) for node in nodes) or (
                not nodes and all(value is None for value in values)):
            if all(value is None or isinstance(value, Node) for value in values):
                return _VALUES, [None if value is None else self._value(value) for value in values]
        elif all(type(value) is bool for value in values):
            return _BOOLS, list(values)
        elif all(isinstance(value, (int, torch.SymInt, Node)) for value in values):
            return _INTS, [(0, self._value(value)) if isinstance(value, Node) else
                           self._argument(value, None)[1] for value in values]
        elif all(isinstance(value, (int, float)) for value in values):
            return _DOUBLES, [float(value) for value in values]
        types = sorted({type(value).__name__ for value in values})
        raise NotDescribed(f"a list of {', '.join(types)}")

    # Outputs.

    def _read_outputs(self, node: Node) -> None:
        signature = self._program.graph_signature
        inputs = {spec.target: spec.arg.name for spec in signature.input_specs
                  if spec.kind == InputKind.BUFFER}
        placeholders = {each.name: each for each in self._ids if each.op == "placeholder"}
        for value, spec in zip(node.args[0], signature.output_specs):
            if spec.kind == OutputKind.USER_OUTPUT:
                if isinstance(value, Node) and self._ids.get(value) is not None:
                    self._builder.user_output(self._value(value))
                continue  # Numbers and None are no outputs of a program.
            if spec.kind == OutputKind.BUFFER_MUTATION:
                target = inputs[spec.target]
            elif spec.kind == OutputKind.USER_INPUT_MUTATION:
                target = spec.target
            else:
                raise NotDescribed(f"an output of kind {spec.kind.name}")
            self._builder.mutation(self._value(placeholders[target]), self._value(value))


def _bound(number: object) -> int | None:
    """One end of a range; None when it is infinite."""
    return int(number) if isinstance(number, (int, sympy.Integer)) else None


def _size(size: int | torch.SymInt) -> int | str:
    return int(size) if isinstance(size, int) else sympy.srepr(size.node.expr)


def _symbol(value: object) -> tuple[int, object]:
    """The kind of a number, and the number or its expression."""
    kinds = ((_SYM_BOOL, (bool, torch.SymBool)), (_SYM_INT, (int, torch.SymInt)),
             (_SYM_FLOAT, (float, torch.SymFloat)))
    kind = next(kind for kind, types in kinds if isinstance(value, types))
    is_number = isinstance(value, (bool, int, float))
    return kind, value if is_number else sympy.srepr(value.node.expr)


def _scalar_type(dtype: torch.dtype) -> int:
    number = _SCALAR_TYPES.get(str(dtype).removeprefix("torch."))
    if number is None:
        raise NotDescribed(f"dtype {dtype}")
    return number


def _device(device: torch.device) -> tuple[int, int]:
    if device.type not in _DEVICES:
        raise NotDescribed(f"device {device}")
    return _DEVICES[device.type], device.index or 0


def _tensor(value: torch.Tensor, plain: bool) -> tuple[int, list[int | str], list[int]]:
    """Element type, sizes, and the dim order that ExecuTorch gives to the tensor."""
    if value.layout is not torch.strided:
        raise NotDescribed(f"a tensor with layout {value.layout}")
    order = list(range(value.dim())) if plain else dim_order(value)
    return _scalar_type(value.dtype), [_size(size) for size in value.shape], order


def dim_order(tensor: torch.Tensor) -> list[int]:
    """Dimensions from the largest stride to the smallest, as ExecuTorch's `dim_order_from_stride` has them;
    equal ones as they come. In their own order when a stride is 0: such a tensor is copied when it is
    used."""
    strides = tensor.stride()
    if any(isinstance(stride, int) and stride == 0 for stride in strides):
        return list(range(tensor.dim()))
    return sorted(range(tensor.dim()), key=functools.cmp_to_key(
        lambda a, b: (_is_less(strides[a], strides[b]) - _is_less(strides[b], strides[a]))))


def is_dense(tensor: torch.Tensor, order: list[int]) -> bool:
    """Whether the elements fill their memory in that order of the dimensions."""
    expected = 1
    for dim in reversed(order):
        size, stride = tensor.shape[dim], tensor.stride(dim)
        if isinstance(size, int) and size == 1:
            continue
        if not statically_known_true(stride == expected):
            return False
        expected = expected * size
    return True


def _is_less(a: int | torch.SymInt, b: int | torch.SymInt) -> bool:
    """Whether a < b, without a new guard on symbols that have a value."""
    if isinstance(a, int) and isinstance(b, int):
        return a < b
    hints = [each if isinstance(each, int) else each.node.hint for each in (a, b)]
    if None not in hints:
        return hints[0] < hints[1]
    if guard_or_false(a < b):
        return True
    return guard_or_false(b % a == 0) and guard_or_true(a != b)


def _plain(tensor: torch.Tensor) -> torch.Tensor:
    """The tensor itself when its elements are dense and in order, on the CPU; else a copy that is."""
    if type(tensor) not in (torch.Tensor, torch.nn.Parameter, torch.nn.Buffer):
        raise NotDescribed(f"a weight of type {type(tensor).__name__}")
    return tensor.detach().cpu().contiguous().resolve_conj().resolve_neg()


def _module_path(node: Node) -> str:
    """The innermost module that made the node; empty when it is unknown."""
    stack = node.meta.get("nn_module_stack")
    if not stack:
        return ""
    path = list(stack.values())[-1][0]
    for root in ("L['self'].", "L['self']"):
        path = path.removeprefix(root)
    return "" if path.startswith("_empty_nn_module_stack") else path
