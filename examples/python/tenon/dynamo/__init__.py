# SPDX-License-Identifier: MIT
"""Tenon's plugins as backends of `torch.compile`.

    compiled = torch.compile(model, backend="tenon", options={"backend": "GraphBackend"})
    with torch.no_grad():
        y = compiled(x)

TorchDynamo finds `tenon` by an entry point of the group `torch_dynamo_backends`, and so each backend
whose package has one of its own (`AcmeBackend = "tenon.dynamo:AcmeBackend"`): every name that this
module does not have is the id of a backend. Needs torch when the first model is compiled.

`explain` runs a model and reports which nodes a plugin took, and why not the others. The counts are
in `torch._dynamo.utils.counters["tenon"]`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch

    from ._explain import explain

    Compiler = Callable[..., Callable[..., Any]]

__all__ = ["FallbackWarning", "GradientsWarning", "WeightsWarning", "explain", "tenon"]


class FallbackWarning(UserWarning):
    """A plugin got nothing of a graph, or TorchDynamo compiled nothing of a function; each given once in a process."""


class GradientsWarning(UserWarning):
    """A graph was left to eager, as gradients are wanted; given once in a process."""


class WeightsWarning(UserWarning):
    """A graph was left to eager, as its parameters changed more often than options["weights_limit"]."""


def tenon(gm: torch.fx.GraphModule, example_inputs: Sequence[torch.Tensor], *, mode: str | None = None,
          options: Mapping[str, object] | None = None, name: str | None = None) -> Callable[..., Any]:
    """The backend `tenon` of `torch.compile`; `options["backend"]` is the id of the plugin's backend.

    Raises tenon.Error, which Dynamo shows inside of its BackendCompilerFailed.
    """
    return _compile(None, gm, example_inputs, mode, options, name)


def _compile(backend: str | None, gm: torch.fx.GraphModule, example_inputs: Sequence[torch.Tensor], mode: str | None,
             options: Mapping[str, object] | None, name: str | None) -> Callable[..., Any]:
    from . import _options

    checked = _options.parse(options, mode, backend)
    from . import _compiler  # Imports torch.

    return _compiler.compile_graph(gm, example_inputs, checked, name)


def _backend_of(id: str) -> Compiler:
    """The backend of `torch.compile` for one backend of a plugin, as Dynamo calls it."""

    def compiler_fn(gm: torch.fx.GraphModule, example_inputs: Sequence[torch.Tensor], *, mode: str | None = None,
                    options: Mapping[str, object] | None = None, name: str | None = None) -> Callable[..., Any]:
        return _compile(id, gm, example_inputs, mode, options, name)

    compiler_fn.__name__ = compiler_fn.__qualname__ = id
    compiler_fn._dynamo_backend_init = _watch  # type: ignore[attr-defined]
    compiler_fn.__doc__ = f"Backend {id} of a Tenon plugin, for `torch.compile`."
    return compiler_fn


def _watch() -> None:
    from . import _compiler

    _compiler.watch_functions_left()


tenon._dynamo_backend_init = _watch  # type: ignore[attr-defined]  # torch.compile calls it before any graph.


def __getattr__(name: str) -> Any:
    if name == "explain":
        from ._explain import explain

        return explain
    if name.startswith("_") or not name.isidentifier():
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    # TorchDynamo compares the functions of two calls: each id has one.
    return globals().setdefault(name, _backend_of(name))


def __dir__() -> list[str]:
    return __all__
