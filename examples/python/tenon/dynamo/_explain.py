# SPDX-License-Identifier: MIT
"""`explain`: what a plugin takes of a model."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch._dynamo.backends.debugging import ExplainWithBackend

from . import _report, tenon


def explain(model: Callable[..., Any], *, options: Mapping[str, object] | None = None, mode: str | None = None,
            dynamic: bool | None = None) -> Callable[..., _report.Report]:
    """A function that runs `model` once and returns a `Report`: which nodes the plugin took, and why not the
    others (torch._dynamo.explain).

        print(tenon.dynamo.explain(model, options={"backend": "GraphBackend"})(x))

    It is called with the arguments of the model, in torch.no_grad(). What TorchDynamo compiled before is
    forgotten.
    """

    def run(*arguments: Any, **keywords: Any) -> _report.Report:
        backend = ExplainWithBackend(functools.partial(tenon, options=options, mode=mode))
        torch._dynamo.reset()
        with _report.collected() as graphs, torch.no_grad():
            torch.compile(model, backend=backend, dynamic=dynamic)(*arguments, **keywords)
        torch._dynamo.reset()
        return _report.Report(graphs, [_text_of(each) for each in backend.output().break_reasons])

    return run


def _text_of(reason):
    where = reason.user_stack[-1] if reason.user_stack else None
    place = f" ({where.filename.rsplit('/', 1)[-1]}:{where.lineno})" if where else ""
    return reason.reason.strip().split("\n")[0] + place
