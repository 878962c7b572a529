# SPDX-License-Identifier: MIT
"""Pictures of notebooks: a `Trace` as lanes of bars."""

from __future__ import annotations

import html
import json
from typing import Any

from ._tenon import Trace

WIDTH, LEFT, LANE = 900, 110, 22
# Colours by what traces call their categories; others are grey.
_COLOURS = {"load": "#c9b3dd", "method": "#9db8d9", "delegate": "#8cc79a", "instruction": "#e3b778", "backend": "#d99c9c"}
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
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{bottom + 40}" '
            f'font-family="sans-serif" font-size="12">{"".join(parts)}</svg>')
