#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Draws one execution of a traced program, trace.svg, from trace.json, which tenon-run wrote:

    execution.py BUILD write|check

BUILD is a built tree: tenon-run, and ExecuTorch's XNNPACK and kernels as plugins. `write` runs the program three hundred times
and keeps the events of its fastest execution; `check`, a test, fails where a run now has other events, whatever their times.
draw.py makes the picture.
"""

import json
import pathlib
import subprocess
import sys
import tempfile

from svg import Picture, width_of

HERE = pathlib.Path(__file__).resolve().parent
PROGRAM = HERE.parents[2] / "tests/fixtures/xnnpack_transformer"
PLUGINS = ("xnnpack.so", "executorch_kernels.so")
# Lanes by category, from the top: their colours and what the picture calls them.
LANES = {"method": ("shared", "the method"), "delegate": ("host", "calls of a delegate"),
         "instruction": ("bridge", "kernels of operators"), "backend": ("author", "the backend's own events")}
LEFT, FULL, LANE = 14, 332, 24
SHOWN = 5  # The longest calls, which are listed.


def lane_of(event):
    """Calls of delegates and kernels share a lane."""
    return {"method": 0, "backend": 2}.get(event["cat"], 1)


def fastest_execution(trace):
    """The events of the execution that took least, in their order, with times from its begin."""
    events = [event for event in trace["traceEvents"] if event["ph"] == "X"]
    best = min((event for event in events if event["name"] == "execute"), key=lambda event: event["dur"])
    end = best["ts"] + best["dur"]
    chosen = [event for event in events if best["ts"] <= event["ts"] and event["ts"] + event["dur"] <= end]
    return [{"name": event["name"], "cat": event["cat"], "ts": round(event["ts"] - best["ts"], 1),
             "dur": round(event["dur"], 1), "args": event["args"]}
            for event in sorted(chosen, key=lambda event: (event["ts"], lane_of(event)))]


def record(build, repeat):
    """The fastest of so many executions."""
    inputs = [word for path in sorted(PROGRAM.glob("in0_*.npy")) for word in ("--input", path)]
    plugins = [word for name in PLUGINS for word in ("--plugin", build / "examples/backends/executorch" / name)]
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        subprocess.run([build / "examples/programs/tenon-run/tenon-run", PROGRAM / "model.pte", *plugins, *inputs,
                        "--repeat", str(repeat), "--trace", file.name], check=True, stdout=subprocess.DEVNULL)
        return fastest_execution(json.loads(pathlib.Path(file.name).read_text(encoding="utf-8")))


def what_ran(events):
    """The events without their times. The backend's own events begin by clocks of its own, so their order may
    differ."""
    return sorted(json.dumps([event["name"], event["cat"], event["args"]], sort_keys=True) for event in events)


def label_of(event):
    """What is called, in a word."""
    return event["args"].get("operator", event["args"].get("backend", event["name"]))


def text_inside(events, call):
    """What the backend itself reported during a call, without its numbers, as far as there is room."""
    inside = [event["name"].split(" (")[0] for event in events if event["cat"] == "backend"
              and call["ts"] <= event["ts"] and event["ts"] + event["dur"] <= call["ts"] + call["dur"]]
    names, text = list(dict.fromkeys(inside)), ""
    for number, name in enumerate(names):
        longer = f"{text}, {name}" if text else name
        if width_of(f"{longer} and 9 more", 11) > FULL - 24:
            return f"{text} and {len(names) - number} more"
        text = longer
    return text or f"instruction {call['args']['instruction']}"


def draw(root):
    """The picture of the stored events."""
    del root
    events = json.loads((HERE / "trace.json").read_text(encoding="utf-8"))["traceEvents"]
    [method] = [event for event in events if event["cat"] == "method"]
    calls = sorted((event for event in events if lane_of(event) == 1), key=lambda event: -event["dur"])[:SHOWN]
    calls.sort(key=lambda event: event["ts"])
    num_kernels = sum(event["cat"] == "instruction" for event in events)
    num_delegates = sum(event["cat"] == "delegate" for event in events)
    about = f"{num_delegates} calls of XnnpackBackend, {num_kernels} of kernels"
    picture = Picture(f"A trace of one execution, {method['dur']:g} µs: {about}. The longest: " + "; ".join(
        f"{label_of(call)}, {call['dur']:g} µs" for call in calls) + ".", 224 + 34 * SHOWN)
    picture.text(LEFT, 24, "One execution, traced", 14, weight="600")
    picture.text(LEFT, 42, f"{method['dur']:g} µs; {about}", 11, "quiet")
    scale = FULL / method["dur"]
    for event in events:
        width = max(event["dur"] * scale, 0.8)
        if width < 1 and lane_of(event) == 2:
            continue
        kind = LANES[event["cat"]][0]
        picture.rect(LEFT + event["ts"] * scale, 56 + LANE * lane_of(event), width, LANE - 4, f"{kind}-line", radius=1)
    for number, call in enumerate(calls, 1):
        picture.text(LEFT + (call["ts"] + call["dur"] / 2) * scale, 138, str(number), 11, anchor="middle", weight="600")
    step = next(step for step in (10, 20, 50, 100, 200, 500, 1000) if method["dur"] / step <= 6)
    for at in range(0, int(method["dur"]) + 1, step):
        x = LEFT + at * scale
        picture.path(f"M{x:g} 144L{x:g} 149", width=1)
        picture.text(min(x, LEFT + FULL - 12), 163, f"{at}" if at else "0 µs", 11, "quiet", "middle" if at else "start")
    for number, (kind, name) in enumerate(LANES.values()):
        x, y = LEFT + 166 * (number % 2), 176 + 18 * (number // 2)
        picture.rect(x, y, 11, 11, f"{kind}-line", radius=2)
        picture.text(x + 17, y + 10, name, 11)
    for number, call in enumerate(calls, 1):
        y = 232 + 34 * (number - 1)
        picture.text(LEFT, y, f"{number}  {label_of(call)}, {call['dur']:g} µs", 12, weight="600")
        picture.text(LEFT + 16, y + 15, text_inside(events, call), 11, "quiet")
    return {"trace": picture.render()}


def main():
    if len(sys.argv) != 3 or sys.argv[2] not in ("write", "check"):
        sys.exit(__doc__)
    build = pathlib.Path(sys.argv[1]).resolve()
    place = HERE / "trace.json"
    if sys.argv[2] == "write":
        events = ",\n".join(json.dumps(event, ensure_ascii=False) for event in record(build, 300))
        place.write_text(f'{{"traceEvents": [\n{events}\n]}}\n', encoding="utf-8")
        return
    stored = what_ran(json.loads(place.read_text(encoding="utf-8"))["traceEvents"])
    found = what_ran(record(build, 1))
    if stored != found:
        sys.exit("stored\n" + "\n".join(stored) + "\nfound now\n" + "\n".join(found)
                 + "\nrun docs/site/pictures/execution.py BUILD write, then draw.py . write")
    print(f"{len(found)} events are those that are stored")


if __name__ == "__main__":
    main()
