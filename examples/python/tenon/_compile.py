# SPDX-License-Identifier: MIT
"""`compile`: a module of PyTorch to a program, in one line."""

from __future__ import annotations

import collections
import html
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from . import _aot, _paths, _program
from ._error import Error
from ._half import load_half, option_bytes
from ._progress import Progress

if TYPE_CHECKING:
    import torch

    from ._arguments import Arguments


def compile(model: torch.nn.Module | torch.export.ExportedProgram, example_inputs: Iterable[Any], *, backend: str,
            options: Mapping[str, object] | None = None, dynamic: Any = None,
            plugins: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] = (),
            allow_missing_kernels: bool = False) -> Compiled:
    """Exports a PyTorch module and compiles it with a plugin's backend, as tenon-compile does. Needs torch.

    model: a torch.nn.Module, or an ExportedProgram, which is compiled as it is. Operators that change their inputs
        become functions.
    example_inputs: a tuple of arguments for tracing the module.
    backend: the id of the backend, which chooses the nodes that it takes.
    options: its compile specs: text, numbers as text, True and False as "1" and "0", bytes.
    dynamic: which sizes change: `dynamic_shapes` of torch.export.export.
    plugins: plugin files, or one, to look in first, also for kernels of nodes that the backend leaves.
    allow_missing_kernels: whether nodes may need kernels that no plugin here has. Such a program runs where a plugin
        or ExecuTorch's runtime has them.

    Raises `Error`: NotFound for an unknown id, NotSupported when the backend cannot compile or a node has neither
    backend nor kernel (with the names of its operators).
    """
    import torch

    from .executorch._edge import describe, whole_operators

    files = tuple(os.path.abspath(each) for each in _paths.files("plugins", plugins))
    half = load_half(backend, files)
    specs = [(key, option_bytes(key, value)) for key, value in (options or {}).items()]
    program = model
    with Progress("tenon.compile") as progress:
        if not isinstance(model, torch.export.ExportedProgram):
            progress.step("torch.export")
            with torch.no_grad():
                program = torch.export.export(model, tuple(example_inputs), dynamic_shapes=dynamic)
                progress.step("decompositions")
                table = torch.export.default_decompositions()
                for target in whole_operators(half, specs, describe(program, "forward", whole=False)):
                    table.pop(target, None)
                program = program.run_decompositions(table)
        elif _changes_inputs(model):
            progress.step("functions")
            program = model.run_decompositions({})
        progress.step(backend)
        compiled = Compiled(program, backend, half, specs, files)
        if not allow_missing_kernels:
            progress.step("kernels")
            compiled._require_kernels()
        return compiled


def _changes_inputs(program: torch.export.ExportedProgram) -> bool:
    schemas = (getattr(node.target, "_schema", None) for node in program.graph.nodes)
    return any(schema is not None and schema.is_mutable for schema in schemas)


class Traced:
    """A program of an exported module: a call binds its arguments as the module does. Calls are for one thread at a time.

    exported: the ExportedProgram.
    """

    exported: torch.export.ExportedProgram

    def __init__(self, exported: torch.export.ExportedProgram) -> None:
        self.exported = exported
        self._method: _program.Method | None = None
        self._arguments: Arguments | None = None

    def _load(self) -> _program.Method:
        raise NotImplementedError

    def _loaded(self) -> _program.Method:
        if self._method is None:
            self._method = self._load()
        return self._method

    def __call__(self, *inputs: Any, **keywords: Any) -> Any:
        """Runs it with the arguments of the module, and returns what that returned, in torch's tensors.

        Arguments are bound as the module was traced. Raises TypeError for names, counts and types that differ, and
        ValueError for another structure, and for a number or text that is not the traced one.
        """
        import torch
        from torch.export.graph_signature import OutputKind, TensorArgument
        from torch.utils import _pytree

        if self._arguments is None:
            from ._arguments import Arguments

            self._arguments = Arguments(self.exported)
        made = iter(self._loaded().execute(self._arguments.inputs_of(inputs, keywords)))
        out = []
        for spec in self.exported.graph_signature.output_specs:
            if spec.kind == OutputKind.USER_OUTPUT:
                is_tensor = isinstance(spec.arg, TensorArgument)
                out.append(torch.from_dlpack(next(made)) if is_tensor else getattr(spec.arg, "value", None))
        return _pytree.tree_unflatten(out, self.exported.call_spec.out_spec)


class Compiled(Traced):
    """A compiled program: runs like the module, saves itself, and shows what the backend took.

    exported: the ExportedProgram.
    program: the bytes of the `.pte` file.
    data: the bytes of each `.ptd` file, by its name without ".ptd".
    operators: for each operator, the nodes of the backend, and the nodes left to kernels.

    Printing it shows the partitions. Calls are for one thread at a time.
    """

    program: bytes
    data: dict[str, bytes]
    operators: dict[str, tuple[int, int]]

    def __init__(self, exported: torch.export.ExportedProgram, backend: str, half: _aot.Backend,
                 specs: list[tuple[str, bytes]], plugins: tuple[str, ...]) -> None:
        from .executorch._edge import describe

        super().__init__(exported)
        self._backend, self._plugins = backend, plugins
        described = describe(exported, "forward", whole=True)
        self.program, _, self._lines, files, operators = _aot.compile(
            described.program, [(half, specs)], False, None)
        self.data = dict(files)
        self.operators = {name: (taken, left) for name, taken, left in operators}
        _, tags, _ = half.partition(described.program, specs)
        self._steps = _steps_of(described.nodes, tags)

    def _load(self) -> _program.Method:
        return _program.load(self.program, data=list(self.data.values()), plugins=self._plugins)["forward"]

    def _require_kernels(self) -> None:
        try:
            self._loaded()
        except Error as failure:
            # Others are about this machine, where the program need not run.
            if failure.name == "OperatorMissing":
                raise Error(0x10, "NotSupported", f"backend {self._backend} leaves nodes that have no kernel here (give "
                            "plugins that have it, or allow_missing_kernels=True for a program that runs elsewhere): "
                            f"{failure.text}") from None

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the program to `path`, and files of data next to it."""
        folder = os.path.dirname(os.path.abspath(path))
        for name, content in self.data.items():
            with open(os.path.join(folder, f"{name}.ptd"), "wb") as file:
                file.write(content)
        with open(path, "wb") as file:
            file.write(self.program)

    def __str__(self) -> str:
        taken = sum(each for each, _ in self.operators.values())
        left = sum(each for _, each in self.operators.values())
        lines = [f"method forward: {taken} of {taken + left} nodes in {len(self._lines)} "
                 f"delegate{'' if len(self._lines) == 1 else 's'}"]
        lines += [f"  delegate {number}: {self._backend}" + (f": {text}" if text else "")
                  for number, text in enumerate(self._lines)]
        width = max(map(len, [*self.operators, "operator"]))
        lines.append(f"  {'operator':{width}}  delegated  left over")
        lines += [f"  {name:{width}}  {given:9}  {other:9}" for name, (given, other) in self.operators.items()]
        return "\n".join([*lines, f"program: {len(self.program)} bytes"])

    def svg(self) -> str:
        """The partitions as a picture: a box for each, and for the runs of nodes between them."""
        width, line, gap = 420, 18, 26
        parts, y = [], 8
        for number, (tag, counts) in enumerate(self._steps):
            shown = counts.most_common(6)
            texts = [f"{count} x {name}" for name, count in shown]
            if len(counts) > len(shown):
                texts.append(f"and {len(counts) - len(shown)} operators more")
            title = f"{self._backend}: {counts.total()} nodes" if tag else f"kernels: {counts.total()} nodes"
            height = line * (len(texts) + 1) + 14
            if number:
                parts.append(f'<path d="M{width / 2} {y - gap}v{gap - 5}m-4 -5l4 5l4 -5" fill="none" stroke="#555"/>')
            parts.append(f'<rect x="8" y="{y}" width="{width - 16}" height="{height}" rx="6" '
                         f'fill="{"#d7ecd9" if tag else "#eeeeee"}" stroke="#555"/>')
            for row, text in enumerate([title, *texts]):
                weight = ' font-weight="bold"' if row == 0 else ""
                parts.append(f'<text x="20" y="{y + 20 + row * line}"{weight}>{html.escape(text)}</text>')
            y += height + gap
        return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{y}" '
                f'font-family="sans-serif" font-size="13">{"".join(parts)}</svg>')

    def _repr_svg_(self) -> str:
        return self.svg()


def _steps_of(nodes: Sequence[torch.fx.Node],
              tags: Mapping[int, str]) -> list[tuple[str, collections.Counter[str]]]:
    """(tag or "", operators) in the order of the first nodes; neighbours that are left are one step."""
    import torch

    from .executorch._operators import name_of

    steps: list[tuple[str, collections.Counter[str]]] = []
    by_tag: dict[str, collections.Counter[str]] = {}
    for number, node in enumerate(nodes):
        if not isinstance(node.meta.get("val"), (torch.Tensor, list, tuple)):
            continue
        tag = tags.get(number, "")
        if tag and tag in by_tag:
            counts = by_tag[tag]
        elif not tag and steps and not steps[-1][0]:
            counts = steps[-1][1]
        else:
            counts = collections.Counter()
            steps.append((tag, counts))
            if tag:
                by_tag[tag] = counts
        counts[name_of(node.target)] += 1
    return steps


compile.__module__ = Compiled.__module__ = "tenon"
