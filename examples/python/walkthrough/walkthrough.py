# SPDX-License-Identifier: MIT
"""From a network in PyTorch to its trace, cell by cell: walkthrough.py GRAPH_BACKEND.so [DIRECTORY]

Exports a network, lowers it to a plugin with ExecuTorch's exporter, runs the program in Tenon and in
ExecuTorch's own runtime, compares both with PyTorch, and plots the trace of a run to DIRECTORY/trace.png.
Needs tenon, torch, executorch and matplotlib. The lines `# %%` begin a cell in editors that know them.
"""

# %% The parts
import json
import pathlib
import sys

import matplotlib
import tenon
import tenon.executorch
import torch
from executorch.exir import to_edge_transform_and_lower
from executorch.runtime import Runtime

matplotlib.use("Agg")
from matplotlib import pyplot  # noqa: E402

PLUGIN = pathlib.Path(sys.argv[1]).resolve()
DIRECTORY = pathlib.Path(sys.argv[2] if len(sys.argv) > 2 else ".")

# %% A network
torch.manual_seed(0)
network = torch.nn.Sequential(torch.nn.Linear(16, 64), torch.nn.ReLU(), torch.nn.Linear(64, 4)).eval()
x = torch.randn(2, 16)
expected = network(x)

# %% Export and lower: the plugin takes what it can
program = to_edge_transform_and_lower(
    torch.export.export(network, (x,)),
    partitioner=[tenon.executorch.partitioner("GraphBackend", plugins=[PLUGIN])],
).to_executorch()
model = DIRECTORY / "walkthrough.pte"
with open(model, "wb") as file:
    program.write_to_file(file)

# %% Can it run here?
diagnosis = tenon.doctor(model, plugins=[PLUGIN])
print(diagnosis.summary)

# %% In Tenon: torch's memory is used as it is
trace = tenon.Trace()
method = tenon.load(model, plugins=[PLUGIN], trace=trace)["forward"]
for _ in range(5):
    ours = torch.from_dlpack(method(x))
print("tenon differs from PyTorch by at most", (ours - expected).abs().max().item())

# %% In ExecuTorch's own runtime, with the same plugin
tenon.executorch.register_plugins(PLUGIN)
[theirs] = Runtime.get().load_program(model).load_method("forward").execute([x])
print("executorch.runtime differs from tenon by at most", (theirs - ours).abs().max().item())
assert torch.allclose(ours, expected, rtol=1e-4, atol=1e-5)
assert torch.allclose(theirs, expected, rtol=1e-4, atol=1e-5)

# %% What happened when
events = [event for event in json.loads(trace.json())["traceEvents"] if event["ph"] == "X"]
last = max(event["ts"] for event in events if event["name"] == "execute")
run = [event for event in events if event["ts"] >= last]
names = sorted({event["name"] for event in run}, reverse=True)
figure, axes = pyplot.subplots(figsize=(9, 1 + 0.4 * len(names)), layout="constrained")
for event in run:
    axes.barh(names.index(event["name"]), event["dur"], left=event["ts"] - last, height=0.6)
axes.set_yticks(range(len(names)), names)
axes.set_xlabel("µs since the run began")
axes.set_title("the last run")
figure.savefig(DIRECTORY / "trace.png")
print(len(events), "events, plotted to", DIRECTORY / "trace.png")
