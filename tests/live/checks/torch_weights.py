# SPDX-License-Identifier: MIT
"""Weights that change between two calls of a compiled model: torch_weights.py BUILD [TEST]...

Each case of `UPDATES` is one way in which programs change weights. After each change the compiled model has to give
eager PyTorch's numbers.
"""

import copy
import os
import pathlib
import sys
import unittest
import warnings

BUILD = pathlib.Path(sys.argv[1]).resolve()
sys.path.insert(0, str(BUILD / "examples/python"))
for name in [name for name in os.environ if name.startswith("TENON_")]:
    del os.environ[name]

import torch
from torch import nn
from torch._dynamo.utils import counters
from torch.nn.utils import parameters_to_vector, vector_to_parameters

import tenon.dynamo

PLUGIN = str(BUILD / "examples/backends/graph_backend/graph_backend.so")
ROUNDS = 3
UPDATES = {}  # name: a function of the model, which returns what changes its weights.
# With options={"freeze": True} these are not seen: PyTorch counts none of them, and neither the tensor nor its address
# is another one.
UNSEEN = {"data +=", "data.copy_", "data.lerp_ (EMA)", "data of a buffer", "numpy", "DLPack", "storage",
          "batch norm in training", "fused kernel without an optimizer", "LoRA merge and unmerge"}


def update(name):
    def keep(make):
        UPDATES[name] = make
        return make
    return keep


class Network(nn.Module):
    """Parameters, buffers, and an embedding of which a call reads a few rows."""

    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(11, 6)
        self.first, self.norm, self.second = nn.Linear(6, 8), nn.BatchNorm1d(8), nn.Linear(8, 3)

    def forward(self, tokens):
        return self.second(torch.relu(self.norm(self.first(self.words(tokens)))))


TOKENS = torch.tensor([1, 4, 7, 10])


def steps_of(kind, **more):
    """Steps of an optimizer, of gradients that eager computes."""
    def make(model):
        optimizer = kind(model.parameters(), **more)

        def loss():
            optimizer.zero_grad()
            with torch.enable_grad():
                out = model(TOKENS).square().sum()
                out.backward()
            return out
        return lambda: optimizer.step(loss)
    return make


for kind, more in ((torch.optim.SGD, {}), (torch.optim.SGD, {"momentum": 0.9}), (torch.optim.Adam, {}),
                   (torch.optim.AdamW, {}), (torch.optim.Adagrad, {})):
    for way in ("plain", "foreach", "fused"):
        ways = {} if way == "plain" else {way: True}
        text = "".join(f" {key}={value}" for key, value in more.items())
        UPDATES[f"{kind.__name__}{text}, {way}"] = steps_of(kind, lr=0.1, **more, **ways)
for kind in (torch.optim.Adadelta, torch.optim.Adafactor, torch.optim.Adamax, torch.optim.ASGD, torch.optim.LBFGS,
             torch.optim.NAdam, torch.optim.RAdam, torch.optim.RMSprop, torch.optim.Rprop):
    UPDATES[kind.__name__] = steps_of(kind, lr=0.1)


@update("data +=")
def _(model):
    def change():
        model.first.weight.data += 0.5
    return change


@update("data =")
def _(model):
    def change():  # The allocator may give the new tensor the address of the one before.
        model.first.weight.data = torch.randn(8, 6)
    return change


@update("data = back and forth")
def _(model):
    contents = [torch.randn(8, 6), model.first.weight.data]

    def change():
        contents.reverse()
        model.first.weight.data = contents[0]
    return change


@update("data.copy_")
def _(model):
    return lambda: model.first.weight.data.copy_(torch.randn(8, 6))


@update("data.lerp_ (EMA)")
def _(model):
    other = copy.deepcopy(model)

    def change():
        for mine, theirs in zip(model.parameters(), other.parameters()):
            theirs.data.add_(torch.randn_like(theirs))
            mine.data.lerp_(theirs.data, 0.5)
    return change


@update("lerp_ (EMA)")
def _(model):
    other = copy.deepcopy(model)

    def change():
        for mine, theirs in zip(model.parameters(), other.parameters()):
            theirs.add_(torch.randn_like(theirs))
            mine.lerp_(theirs, 0.5)
    return change


@update("AveragedModel")
def _(model):
    averaged = torch.optim.swa_utils.AveragedModel(copy.deepcopy(model))

    def change():
        model.second.weight.add_(1)
        averaged.update_parameters(model)
        model.load_state_dict(averaged.module.state_dict())
    return change


@update("LoRA merge and unmerge")
def _(model):
    down, up, signs = torch.randn(2, 6), torch.randn(8, 2), [1, -1]

    def change():
        model.first.weight.data += signs[0] * (up @ down)
        signs.reverse()
    return change


@update("data of a buffer")
def _(model):
    return lambda: model.norm.running_mean.data.add_(1)


@update("a buffer in place")
def _(model):
    return lambda: model.norm.running_var.mul_(2)


@update("batch norm in training")
def _(model):
    def change():
        model.train()
        model(TOKENS)
        model.eval()
    return change


@update("add_ in no_grad")
def _(model):
    return lambda: model.first.weight.add_(0.5)


@update("one row of an embedding")
def _(model):
    def change():
        model.words.weight[4] += 1
    return change


@update("a view")
def _(model):
    return lambda: model.first.weight.t()[0].fill_(torch.randn(()).item())


@update("detach().copy_")
def _(model):
    return lambda: model.first.weight.detach().copy_(torch.randn(8, 6))


@update("another parameter")
def _(model):
    def change():
        model.first.weight = nn.Parameter(torch.randn(8, 6))
    return change


@update("load_state_dict")
def _(model):
    return lambda: model.load_state_dict({name: each + 1 for name, each in model.state_dict().items()})


@update("load_state_dict, assign")
def _(model):
    return lambda: model.load_state_dict({name: each + 1 for name, each in model.state_dict().items()}, assign=True)


@update("state_dict()[...].copy_")
def _(model):
    return lambda: model.state_dict()["first.weight"].copy_(torch.randn(8, 6))


@update("vector_to_parameters")
def _(model):
    return lambda: vector_to_parameters(parameters_to_vector(model.parameters()) * 1.5, model.parameters())


@update("nn.init")
def _(model):
    return lambda: nn.init.normal_(model.first.weight)


@update("reset_parameters")
def _(model):
    return lambda: model.first.reset_parameters()


@update("set_")
def _(model):
    return lambda: model.first.weight.set_(torch.randn(8, 6))


@update("swap_tensors")
def _(model):
    def change():
        torch._dynamo.reset()  # PyTorch swaps no tensor that a compiled function refers to weakly.
        with torch.no_grad():
            other = nn.Parameter(torch.randn(8, 6))
        try:
            torch.utils.swap_tensors(model.first.weight, other)
        except RuntimeError:
            model.first.weight = other
    return change


@update("_foreach_add_")
def _(model):
    return lambda: torch._foreach_add_(list(model.parameters()), 0.5)


@update("fused kernel without an optimizer")
def _(model):
    def change():
        own = [each for each in model.parameters()]
        torch._fused_sgd_(own, [torch.ones_like(each) for each in own], [], weight_decay=0.0, momentum=0.0, lr=0.1,
                          dampening=0.0, nesterov=False, maximize=False, is_first_step=True)
    return change


@update("numpy")
def _(model):
    def change():
        model.first.weight.detach().numpy()[:] += 0.5
    return change


@update("DLPack")
def _(model):
    return lambda: torch.from_dlpack(model.first.weight.detach().__dlpack__()).add_(0.5)


@update("storage")
def _(model):
    return lambda: model.first.weight.untyped_storage().copy_(torch.randn(8, 6).untyped_storage())


@update("pruning")
def _(model):
    from torch.nn.utils import prune

    def change():
        prune.random_unstructured(model.first, "weight", amount=0.3)
        prune.remove(model.first, "weight")
    return change


class Updates(unittest.TestCase):
    maxDiff = None

    def wrong(self, **more):
        """The updates after which the compiled model gives other numbers than eager, with the largest difference."""
        out = {}
        for name, make in UPDATES.items():
            torch._dynamo.reset()
            torch.manual_seed(5)
            model = Network().eval()
            options = {"backend": "GraphBackend", "plugins": [PLUGIN], "weights_limit": ROUNDS + 1, **more}
            with torch.no_grad():
                function, change = torch.compile(model, backend=tenon.dynamo.tenon, options=options), make(model)
                for _ in range(ROUNDS + 1):
                    found, expected = function(TOKENS), model(TOKENS)
                    if not torch.allclose(found, expected, rtol=1e-4, atol=1e-5):
                        out[name] = max((found - expected).abs().max().item(), out.get(name, 0.0))
                    change()
        return out

    def test_no_update_is_missed(self):
        self.assertGreaterEqual(len(UPDATES), 30)
        self.assertEqual(self.wrong(), {})

    def test_frozen_weights_miss_what_the_pages_say(self):
        with warnings.catch_warnings():
            warnings.simplefilter("error", tenon.dynamo.WeightsWarning)
            self.assertEqual(set(self.wrong(freeze=True)), UNSEEN)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
