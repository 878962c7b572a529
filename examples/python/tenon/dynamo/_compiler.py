# SPDX-License-Identifier: MIT
"""From TorchDynamo's graph to what runs: AOTAutograd, the plugin's partitions, their programs."""

import operator
import threading
import warnings
import weakref

import torch
from torch._dynamo.backends.common import aot_autograd
from torch._dynamo.callback import callback_handler
from torch._dynamo.utils import counters
from torch._guards import TracingContext
from torch.fx import GraphModule
from torch.fx.passes.tools_common import stable_topological_sort
from torch.optim.optimizer import register_optimizer_step_post_hook
from torch.utils._python_dispatch import _disable_current_modes
from torch.utils.weak import WeakTensorKeyDictionary

from .._error import Error
from ..executorch._edge import describe, dim_order, is_dense
from . import FallbackWarning, GradientsWarning, WeightsWarning, _graph, _halves, _report, _rest
from ._reasons import Reasons
from ._runner import Runner, in_order

_NOT_SUPPORTED = (0x10, "NotSupported")
_FUNCTIONS_LEFT = "functions left"
_warned: set[object] = set()


def _warn_once(kind: type[Warning], text: str, key: object = None) -> None:
    key = key or kind
    if key not in _warned:
        _warned.add(key)
        warnings.warn(text, kind, stacklevel=2)


def compile_graph(gm: GraphModule, inputs, options, name):
    """What `torch.compile` calls for each graph; returns the function that runs in its place."""
    half = _halves.find(options.backend, options.plugins)
    _check_devices(gm, inputs, options.backend)
    counters["tenon"]["graphs"] += 1
    watch_functions_left()
    if _wants_gradients(gm, inputs):
        return _left_to_eager(gm, options)

    def inference(graph, fake_inputs):
        return _Graph(graph, gm, inputs, half, options).function()

    def training(graph, fake_inputs):  # The graph itself changes the grad mode.
        function = _left_to_eager(graph, options)
        return _boxed(function)

    return aot_autograd(fw_compiler=training, bw_compiler=training, inference_compiler=inference)(gm, inputs)


def _check_devices(gm, inputs, backend_id):
    named = [(f"input {i}", each) for i, each in enumerate(inputs)]
    named += [(f"'{key}'", each) for key, each in [*gm.named_parameters(), *gm.named_buffers()]]
    for what, each in named:
        if isinstance(each, torch.Tensor) and each.device.type != "cpu":
            raise Error(*_NOT_SUPPORTED, f"backend {backend_id}: {what} of the graph is on {each.device}: "
                        "expected cpu")


def _wants_gradients(gm, inputs):
    """Whether AOTAutograd would trace a backward pass. A graph that sets the grad mode is left to it."""
    return torch.is_grad_enabled() and any(
        isinstance(each, torch.Tensor) and each.requires_grad for each in inputs) and not any(
        node.target is torch._C._set_grad_enabled for node in gm.graph.nodes)


def _left_to_eager(gm, options):
    text = (f"backend {options.backend}: gradients are wanted, which plugins do not compute: eager runs the "
            "graph; compile and call the model in torch.no_grad() or torch.inference_mode()")
    if options.strict:
        raise Error(*_NOT_SUPPORTED, text)
    _warn_once(GradientsWarning, text)
    counters["tenon"]["graphs left to eager for gradients"] += 1
    report = _report.GraphReport(options.backend, "eager")
    report.add_calls(gm, _report.GRADIENTS)
    if options.mode == "explain":
        _report.show(report)
    _report.publish(report)
    return gm.forward


def watch_functions_left() -> None:
    """Dynamo compiles nothing of a function with an operation that it cannot trace inside of a loop, calls no backend,
    and says nothing."""
    if _warn_of_functions_left not in callback_handler.end_callbacks:  # `torch._dynamo.reset` clears them.
        callback_handler.register_end_callback(_warn_of_functions_left)


def _warn_of_functions_left(_):
    left = counters["unimplemented"]
    if left and not _report.is_collected():
        _warn_once(FallbackWarning, f"tenon: TorchDynamo compiled nothing of {sum(left.values())} functions of this "
                   f"process, which eager runs: {_report.reason_of_dynamo(next(iter(left)))}; "
                   "tenon.dynamo.explain lists them", _FUNCTIONS_LEFT)


def _boxed(function):
    def run(arguments):
        taken = list(arguments)
        arguments.clear()
        return function(*taken)

    run._boxed_call = True
    return run


class _Entry:
    """A graph that was compiled for one content of its weights."""

    def __init__(self, call, weights):
        self.call = call
        self.ids, self.versions, self.addresses = _state_of(weights)
        self._alive = [weakref.ref(each, self._forget) for each in weights]
        # Objects of storages live as long as the memory, as PyTorch keeps them.
        self._alive += [weakref.ref(each.untyped_storage(), self._forget) for each in weights]

    def _forget(self, _):
        self.ids = None  # Another object may get the number, or other memory the address.


_version = operator.attrgetter("_version")
_address = torch.Tensor.data_ptr


def _state_of(weights):
    return tuple(map(id, weights)), tuple(map(_version, weights)), tuple(map(_address, weights))


class _Steps:
    """Counts the steps of optimizers as changes of the weights that are frozen.

    A fused step (`fused=True`) writes to parameters, and PyTorch does not count that.
    """

    def __init__(self):
        self._frozen = WeakTensorKeyDictionary()
        self._lock = threading.Lock()
        self._is_hooked = False

    def watch(self, weights):
        with self._lock:
            for each in weights:
                self._frozen[each] = None
            if not self._is_hooked:
                self._is_hooked = True
                register_optimizer_step_post_hook(self._count)

    def _count(self, optimizer, *_):
        with self._lock:
            written = [each for group in optimizer.param_groups for each in group["params"] if each in self._frozen]
        torch.autograd.graph.increment_version(written)


_steps = _Steps()


class _Graph:
    """One graph of AOTAutograd: what it became, for each content of its weights."""

    def __init__(self, graph, dynamo_graph, inputs, half, options):
        self._half, self._options = half, options
        self._graph = graph
        context = TracingContext.try_get()
        self._fake_mode = context.fake_mode
        self._places, self._names = self._find_weights(context.fw_metadata, dynamo_graph, inputs)
        self._lock = threading.RLock()
        weights = [inputs[each] for each in self._sources]
        self._pick = None
        if self._places:  # itemgetter gives a tuple for two or more.
            self._pick = operator.itemgetter(*self._places, self._places[0])
        with _disable_current_modes():
            self._plain = self._decomposed()
            _steps.watch(weights)
            entry = _Entry(self._compile(weights), weights + weights[:1])
        self._entries = [entry]

    def _find_weights(self, metadata, dynamo_graph, inputs):
        """The places of parameters and buffers that the graph does not change, and their names."""
        self._sources: list[int] = []
        places, names = [], []
        if not self._options.freeze or metadata is None:
            return places, names
        changed = set(metadata.mutated_inp_runtime_indices)
        theirs = _graph.placeholders(dynamo_graph)
        for place, node in enumerate(_graph.placeholders(self._graph)):
            source = getattr(node.meta.get("desc"), "idx", None)
            if place not in metadata.static_input_indices or place in changed or source is None:
                continue
            tensor = inputs[source]
            if type(tensor) not in (torch.Tensor, torch.nn.Parameter, torch.nn.Buffer) or (
                    tensor.is_inference() or tensor.layout is not torch.strided):
                continue
            name = _report.name_of_source(theirs[source])
            self._sources.append(source)
            places.append(place)
            names.append(name if name not in names else f"{name}#{place}")
        return places, names

    def _weights(self, gm, tensors):
        nodes = _graph.placeholders(gm)
        return _graph.Weights({nodes[place].name: name for place, name in zip(self._places, self._names)},
                              {nodes[place].name: each for place, each in zip(self._places, tensors)})

    def _describe(self, gm, tensors, whole):
        ranges = _graph.ranges(self._fake_mode, self._options.largest_size)
        return describe(_graph.view(gm, self._weights(gm, tensors), ranges), "forward", whole=whole)

    def _decomposed(self):
        if self._half.takes_all:  # Inductor has decompositions of its own.
            return self._graph
        try:
            kept = self._half.kept(self._describe(self._graph, (), False))
        except Error:  # Said for a node that cannot be described at all.
            kept = set()
        return _graph.decompose(self._graph, self._fake_mode, kept)

    def _compile(self, tensors):
        """The function that runs the graph with these weights."""
        try:
            return self._compile_parts(tensors)
        except Error as failure:
            # AOTInductor found that the backend lacks something; other backends chose their nodes.
            if self._options.strict or not self._half.takes_all or failure.name not in (
                    "NotSupported", "OperatorMissing"):
                raise
            gm = _graph.copy_of(self._plain)
            report = _report.GraphReport(self._options.backend, self._options.rest)
            report.add_nodes(gm, [], dict.fromkeys(gm.graph.nodes, failure.text))
            return self._rest_of(gm, report)

    def _rest_of(self, gm, report):
        if report.refused and not report.partitions:
            _warn_once(FallbackWarning, f"backend {report.backend}: {report.rest} runs a whole graph: "
                       f"{report.refusal()}; tenon.dynamo.explain lists them all")
        call = _rest.compile_rest(gm, self._options, self._fake_mode)
        _report.publish(report)
        return call

    def _compile_parts(self, tensors):
        options = self._options
        gm = _graph.copy_of(self._plain)
        weights = self._weights(gm, tensors)
        report = _report.GraphReport(options.backend, options.rest)
        described = self._describe(gm, tensors, False)
        tags = self._half.tags(described, options)
        by_node = {described.nodes[number]: tag for number, tag in tags.items()
                   if number not in described.opaque}
        reasons = {described.nodes[number]: f"{text} cannot be described to a plugin"
                   for number, text in described.opaque.items()}
        views = _graph.returned_views(gm)
        reasons.update((node, _report.SHARED) for node in views if node in by_node)
        parts = self._standalone(gm, _graph.partition_nodes(by_node, views), reasons)
        is_explained = options.mode == "explain"
        asks = is_explained or options.strict or _report.is_collected() or (
            not parts and FallbackWarning not in _warned)
        report.add_nodes(gm, [part.nodes for part in parts], reasons,
                         Reasons(options, gm, self._fake_mode).of if asks else None)
        if is_explained:
            _report.show(report)
            _report.publish(report)
            return _graph.with_copies(gm).forward
        if options.strict and report.refused:
            raise Error(*_NOT_SUPPORTED, f"backend {options.backend}: strict: {report.refusal()}")
        replaced, made = {}, set()
        for number, part in enumerate(parts):
            runner, inputs = self._compile_part(gm, part, weights, made, report, number)
            _graph.replace(gm, part, f"tenon_{number}", runner, inputs, replaced)
        stable_topological_sort(gm)
        _graph.drop_unused(gm)
        return self._rest_of(gm, report)

    def _standalone(self, gm, parts, reasons):
        """The partitions that can be programs of their own."""
        out = []
        for nodes in parts:
            try:
                part = _graph.take_out(gm, nodes, self._fake_mode)
                if part.is_traced_anew:
                    self._check_taken(part)
                out.append(part)
            except _graph.NotAlone as why:
                reasons.update((node, str(why)) for node in nodes)
        return out

    def _check_taken(self, part):
        """Raises NotAlone when the plugin does not take the arithmetic on sizes that was added."""
        described = describe(_graph.view(part.graph, _graph.Weights({}, {}), _graph.ranges(
            self._fake_mode, self._options.largest_size)), "forward", whole=False)
        tags = self._half.tags(described, self._options)
        for number, node in enumerate(described.nodes):
            if number not in tags and _graph.is_symbolic(node):
                raise _graph.NotAlone(f"the backend does not compute the size '{node.name}' ({node.target})")

    def _compile_part(self, gm, part, weights, made, report, number):
        """Returns what runs the partition, with its weights in it, and the other nodes that it reads.

        `made` has the nodes that partitions make.
        """
        options = self._options
        inner = _graph.placeholders(part.graph)
        names, tensors, rest = {}, {}, []
        for outer, node in zip(part.inputs, inner):
            if outer.name in weights.names:
                names[node.name] = weights.names[outer.name]
                tensors[node.name] = weights.tensors[outer.name]
            else:
                rest.append((outer, node))
        # Strides of inputs of the whole graph are guarded; results of partitions are in the plain order already;
        # results of eager may be in any order.
        plain = {node.name for outer, node in rest if outer.op != "placeholder"}
        described = describe(
            _graph.view(part.graph, _graph.Weights(names, tensors),
                        _graph.ranges(self._fake_mode, options.largest_size), plain), "forward",
            whole=not self._half.takes_all)
        inputs = [node.meta["val"] for _, node in rest]
        orders = [sorted(dim_order(each)) if node.name in plain else dim_order(each)
                  for (_, node), each in zip(rest, inputs)]
        given = []
        if self._half.takes_all:  # AOTInductor's code is for the strides of its inputs.
            with self._fake_mode:
                given = [in_order(each, order) for each, order in zip(inputs, orders)]
        program, is_new, lines, data = self._half.compile(described, options, part.graph, given, tensors)
        counters["tenon"]["compiled" if is_new else "found in the store"] += 1
        report.partitions.append(_report.PartitionReport("; ".join(lines), len(program), is_new))
        checked = [i for i, (outer, node) in enumerate(rest) if outer not in made and (
            node.name in plain or not is_dense(inputs[i], orders[i]))]
        exact = _graph.exact_orders(gm, part, described.laid_out_anew)
        inner_results = part.graph.graph.output_node().args[0]
        for i, (outer, node) in enumerate(zip(part.outputs, inner_results)):
            if node.name in described.laid_out_anew and i not in dict(exact):
                with self._fake_mode:  # For those that compile what reads it.
                    outer.meta["val"] = outer.meta["val"].contiguous()
        runner = Runner(
            program, options.backend, data=data, plugins=options.plugins,
            delegate=options.delegate, inputs=inputs, orders=orders, checked=checked, exact=exact,
            label=f"tenon: {options.backend} partition {number}: {report.operators_of(number)}",
            eager=_eager_of(part.graph, inner, tensors), largest_size=options.largest_size)
        made.update(part.outputs)
        return runner, [outer for outer, _ in rest]

    def function(self):
        """What AOTAutograd calls with a list of all inputs."""
        [latest], pick = self._entries, self._pick

        def run(arguments):
            nonlocal latest
            entry = latest
            if pick is not None:
                weights = pick(arguments)
                if (tuple(map(id, weights)) != entry.ids or tuple(map(_version, weights)) != entry.versions or
                        tuple(map(_address, weights)) != entry.addresses):
                    entry = latest = self._other(weights)
            taken = tuple(arguments)
            arguments.clear()
            return entry.call(*taken)

        run._boxed_call = True
        return run

    def _other(self, weights):
        """The entry for weights that are others, or changed, since the call before."""
        state = _state_of(weights)
        with self._lock:
            for entry in self._entries:
                if (entry.ids, entry.versions, entry.addresses) == state:
                    return entry
            counters["tenon"]["weights changed"] += 1
            if len(self._entries) >= self._options.weights_limit:
                _warn_once(WeightsWarning, f"backend {self._options.backend}: the parameters of a graph "
                           f"changed more than {self._options.weights_limit} times (options"
                           "['weights_limit']): eager runs it; without options['freeze'] they are inputs")
                return _Entry(self._graph.forward, weights)
            with torch.no_grad(), _disable_current_modes():
                _steps.watch(weights)
                entry = _Entry(self._compile(list(weights[:-1])), weights)
            self._entries.append(entry)
            return entry


def _eager_of(graph, inner, tensors):
    """Runs a partition without its plugin."""
    fixed = [tensors.get(node.name) for node in inner]
    function = _graph.with_copies(graph).forward

    def run(*given):
        arguments = iter(given)
        return function(*(next(arguments) if each is None else each for each in fixed))

    return run
