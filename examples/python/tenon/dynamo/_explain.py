# SPDX-License-Identifier: MIT
"""`explain`: what a plugin takes of a model."""

from __future__ import annotations

import collections
import functools
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch._dynamo.backends.debugging import ExplainWithBackend
from torch._dynamo.utils import counters

from . import _report, tenon


def explain(model: Callable[..., Any], *, options: Mapping[str, object] | None = None, mode: str | None = None,
            dynamic: bool | None = None) -> Callable[..., _report.Report]:
    """A function that runs `model` once and returns a `Report`: which nodes the plugin took, and why not the
    others (torch._dynamo.explain).

        print(tenon.dynamo.explain(model, options={"backend": "GraphBackend"})(x))

    Call it as the model is called, with the same arguments and inside of the same torch.no_grad(): where gradients
    are wanted, the report shows that eager runs the graphs. What TorchDynamo compiled before is forgotten.
    """

    def run(*arguments: Any, **keywords: Any) -> _report.Report:
        backend = ExplainWithBackend(functools.partial(tenon, options=options, mode=mode))
        torch._dynamo.reset()
        before = {kind: collections.Counter(counters[kind]) for kind in ("graph_break", "unimplemented")}
        with _report.collected() as graphs:
            torch.compile(model, backend=backend, dynamic=dynamic)(*arguments, **keywords)
        torch._dynamo.reset()
        new = {kind: [_report.reason_of_dynamo(text) for text in counters[kind] - seen]
               for kind, seen in before.items()}
        breaks = [_text_of(each) for each in backend.output().break_reasons]
        # Breaks before the first graph and after the last one are in Dynamo's counters alone.
        breaks += [text for text in new["graph_break"] if not any(
            text.split(":")[0] == each.split(":")[0].partition(" (")[0] for each in breaks)]
        return _report.Report(graphs, breaks, new["unimplemented"])

    return run


def _text_of(reason):
    where = reason.user_stack[-1] if reason.user_stack else None
    place = f" ({where.filename.rsplit('/', 1)[-1]}:{where.lineno})" if where else ""
    return reason.reason.strip().split("\n")[0] + place
