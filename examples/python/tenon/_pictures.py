# SPDX-License-Identifier: MIT
"""Pictures of notebooks: a `Trace` as lanes of bars, the nodes of graphs as strips of cells."""

from __future__ import annotations

import html
import json
from collections.abc import Iterable, Sequence
from typing import Any

from ._tenon import Trace

WIDTH, LEFT, LANE = 900, 110, 22
# Colours by what traces call their categories; others are grey.
_COLOURS = {"load": "#c9b3dd", "method": "#9db8d9", "delegate": "#8cc79a", "instruction": "#e3b778", "backend": "#d99c9c"}
_PARTITIONS = ("#8cc79a", "#c5e3cb")  # In turns, so that neighbours differ.
_LEFT = "#dddddd"
_STEPS = [factor * 10**power for power in range(-1, 9) for factor in (1, 2, 5)]


def _text(event: dict[str, Any]) -> str:
    """What a bar shows when it is pointed at."""
    lines = [f"{event['name']}: {event['dur']:g} µs at {event['ts']:g}"]
    lines += [f"{key}: {value}" for key, value in event.get("args", {}).items()]
    return html.escape("\n".join(lines))


def trace_svg(trace: Trace) -> str:
    """The events of a trace from its first to its last, a lane for each category."""
    events = [event for event in json.loads(trace.json())["traceEvents"] if event["ph"] == "X"]
    lanes = list(dict.fromkeys(event["cat"] for event in sorted(events, key=lambda event: float(event["ts"]))))
    first = min((event["ts"] for event in events), default=0.0)
    last = max((event["ts"] + event["dur"] for event in events), default=0.0)
    scale = (WIDTH - LEFT - 10) / max(last - first, 1e-3)
    bottom = 14 + LANE * max(len(lanes), 1)
    parts = [f'<text x="8" y="{22 + LANE * number}">{html.escape(lane)}</text>' for number, lane in enumerate(lanes)]
    # The longest first, so that what happens within them is on top.
    for event in sorted(events, key=lambda event: -float(event["dur"])):
        x, y = LEFT + (event["ts"] - first) * scale, 8 + LANE * lanes.index(event["cat"])
        parts.append(f'<rect x="{x:.2f}" y="{y}" width="{max(event["dur"] * scale, 0.5):.2f}" height="{LANE - 4}" '
                     f'fill="{_COLOURS.get(event["cat"], "#bbbbbb")}" stroke="#555" stroke-width="0.3">'
                     f"<title>{_text(event)}</title></rect>")
    step = next((step for step in _STEPS if (last - first) / step <= 8), last - first)
    at = 0.0
    while events and at <= last - first:
        parts.append(f'<text x="{LEFT + at * scale:.2f}" y="{bottom + 14}" fill="#555">{at:g}{"" if at else " µs"}</text>')
        at += step
    if trace.dropped:
        parts.append(f'<text x="8" y="{bottom + 32}">{trace.dropped} events more were dropped</text>')
    if not events:
        parts.append('<text x="8" y="22">no events</text>')
    return _svg(bottom + 40, parts)


def strips_svg(strips: Iterable[tuple[str, Sequence[tuple[int | None, str]], Sequence[str]]]) -> str:
    """A strip for each graph: its title, a cell for each node with the number of its partition (None: left) and a
    text that is shown when it is pointed at, and lines below."""
    parts, y = [], 20
    for title, cells, lines in strips:
        parts.append(f'<text x="8" y="{y}" font-weight="bold">{html.escape(title)}</text>')
        width = (WIDTH - 16) / max(len(cells), 1)
        for number, (partition, text) in enumerate(cells):
            fill = _LEFT if partition is None else _PARTITIONS[partition % len(_PARTITIONS)]
            parts.append(f'<rect x="{8 + number * width:.2f}" y="{y + 8}" width="{width:.2f}" height="{LANE}" '
                         f'fill="{fill}" stroke="#555" stroke-width="0.3"><title>{html.escape(text)}</title></rect>')
        y += LANE + 26
        for line in lines:
            parts.append(f'<text x="8" y="{y}">{html.escape(line)}</text>')
            y += 18
        y += 14
    return _svg(y, parts)


def _svg(height: int, parts: Sequence[str]) -> str:
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" '
            f'font-family="sans-serif" font-size="12">{"".join(parts)}</svg>')
