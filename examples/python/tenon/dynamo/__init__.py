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

from collections.abc import Mapping

__all__ = ["GradientsWarning", "WeightsWarning", "explain", "tenon"]


class GradientsWarning(UserWarning):
    """A graph was left to eager, as gradients are wanted; given once in a process."""


class WeightsWarning(UserWarning):
    """A graph was left to eager, as its parameters changed more often than options["weights_limit"]."""


def tenon(gm, example_inputs, *, mode=None, options=None, name=None):
    """The backend `tenon` of `torch.compile`; `options["backend"]` is the id of the plugin's backend.

    Raises tenon.Error, which Dynamo shows inside of its BackendCompilerFailed.
    """
    return _compile(None, gm, example_inputs, mode, options, name)


def _compile(backend, gm, example_inputs, mode: "str | None", options: "Mapping[str, object] | None", name):
    from . import _options

    checked = _options.parse(options, mode, backend)
    from . import _compiler  # Imports torch.

    return _compiler.compile_graph(gm, example_inputs, checked, name)


def _backend_of(id):
    """The backend of `torch.compile` for one backend of a plugin, as Dynamo calls it."""

    def compiler_fn(gm, example_inputs, *, mode=None, options=None, name=None):
        return _compile(id, gm, example_inputs, mode, options, name)

    compiler_fn.__name__ = compiler_fn.__qualname__ = id
    compiler_fn.__doc__ = f"Backend {id} of a Tenon plugin, for `torch.compile`."
    return compiler_fn


def __getattr__(name):
    if name == "explain":
        from ._explain import explain

        return explain
    if name.startswith("_") or not name.isidentifier():
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    # TorchDynamo compares the functions of two calls: each id has one.
    return globals().setdefault(name, _backend_of(name))


def __dir__():
    return __all__
