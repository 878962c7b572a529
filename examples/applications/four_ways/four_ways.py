# SPDX-License-Identifier: MIT
"""Compiles a model with one plugin, and shows what it answers in eager PyTorch, torch.compile and ExecuTorch's runtime."""

import numpy
import tenon
import tenon.executorch
import torch
from executorch.runtime import Runtime

BACKEND = "GraphBackend"
torch.set_num_threads(1)  # The models are too small for more.


def train(model, loss_of, steps, rate):
    """Trains the model by `loss_of(model)`, which draws what it is shown. Returns the last loss."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=rate)
    for _ in range(steps):
        loss = loss_of(model)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.eval()
    return loss.item()


def runs_of(model, example, plugin, program):
    """The model as functions of the same arguments, by name; the file `program` is written."""
    # [ways]
    tenon.compile(model, example, backend=BACKEND, plugins=[plugin]).save(program)

    compiled = torch.compile(model, backend="tenon", options={"backend": BACKEND, "plugins": [plugin], "strict": True})

    tenon.executorch.register_plugins(plugin)
    method = Runtime.get().load_program(program).load_method("forward")
    # [ways]
    return {"eager PyTorch": model, "torch.compile": compiled, "ExecuTorch": lambda *inputs: method.execute(inputs)}


def show(model, example, answer, plugin, program):
    """Prints the lines of `answer(run)` for each way: a text, and a number of float32 in the fewest digits that give it
    back."""
    with torch.no_grad():
        for name, run in runs_of(model, example, plugin, program).items():
            print(f"{name}:")
            for text, number in answer(run):
                print(f"{text}: {numpy.format_float_positional(numpy.float32(number), trim='-')}")
