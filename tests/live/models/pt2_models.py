# SPDX-License-Identifier: MIT
"""The modules that export_pt2.py exports: each shows a part of what an archive may hold."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from models.vision import settle_norms


class Mlp(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc1 = nn.Linear(16, 32)
        self.fc2 = nn.Linear(32, 10)

    def forward(self, x: Tensor) -> Tensor:
        return torch.softmax(self.fc2(torch.relu(self.fc1(x))), dim=-1)


class Block(nn.Module):
    """Two convolutions with batch norms and a residual add."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(channels)
        self.conv2 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(channels)

    def forward(self, x: Tensor) -> Tensor:
        y = F.relu(self.bn1(self.conv1(x)))
        return F.relu(self.bn2(self.conv2(y)) + x)


class Vision(nn.Module):
    """A small residual network with both kinds of pooling."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, 8, 3, stride=1, padding=1)
        self.norm = nn.BatchNorm2d(8)
        self.pool = nn.MaxPool2d(2)
        self.block = Block(8)
        self.average = nn.AvgPool2d(2)
        self.head = nn.Linear(8 * 4 * 4, 10)
        settle_norms(self)

    def forward(self, x: Tensor) -> Tensor:
        x = self.pool(F.relu(self.norm(self.stem(x))))
        x = self.average(self.block(x))
        return torch.softmax(self.head(torch.flatten(x, 1)), dim=1)


class InPlace(nn.Module):
    """Operators that change what others made, as torchvision's models have them: as functions they give the same."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, 8, 3, padding=1)
        self.block = nn.Sequential(
            nn.Conv2d(8, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8), nn.ReLU(inplace=True),
            nn.Conv2d(8, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8),
        )
        self.pool = nn.AvgPool2d(8)
        self.head = nn.Linear(8 * 2 * 2, 10)
        settle_norms(self)

    def forward(self, x: Tensor) -> Tensor:
        x = F.hardtanh(self.stem(x), -2, 2, inplace=True)
        y = self.block(x)
        y += x
        y.relu_()  # Its result is read by the name of what it changes, or by its own.
        return torch.softmax(self.head(self.pool(y).flatten(1).mul_(2).sub_(0.5)), dim=1)


class Transformer(nn.Module):
    """A layer of a transformer over tokens x [tokens, 16]: attention of four heads, written out."""

    def __init__(self) -> None:
        super().__init__()
        self.norm1 = nn.LayerNorm(16)
        self.qkv = nn.ModuleList(nn.Linear(16, 16) for _ in range(3))
        self.out = nn.Linear(16, 16)
        self.norm2 = nn.LayerNorm(16)
        self.up = nn.Linear(16, 32)
        self.down = nn.Linear(32, 16)
        for norm in (self.norm1, self.norm2):
            nn.init.uniform_(norm.weight, 0.5, 1.5)
            nn.init.uniform_(norm.bias, -0.2, 0.2)

    def forward(self, x: Tensor) -> Tensor:
        tokens = x.shape[0]
        normed = self.norm1(x)
        q, k, v = (one(normed).view(tokens, 4, 4).transpose(0, 1) for one in self.qkv)
        weights = torch.softmax(q @ k.transpose(1, 2) * 0.5, dim=-1)
        x = x + self.out((weights @ v).transpose(0, 1).reshape(tokens, 16))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class Stateful(nn.Module):
    """A running sum, and a count of the calls that no state dictionary has."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("total", torch.zeros(4))
        self.register_buffer("calls", torch.zeros((), dtype=torch.int64), persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        self.total.add_(x.sum(0))
        self.calls.add_(1)
        return self.total / self.calls


class Shared(nn.Module):
    """Weights that share memory, are transposed, begin after others, or repeat one number."""

    def __init__(self) -> None:
        super().__init__()
        base = torch.arange(64, dtype=torch.float32) / 32 - 1
        self.base = nn.Parameter(base)
        self.front = nn.Parameter(base[:36].view(6, 6))
        self.back = nn.Parameter(base[28:64].view(6, 6))
        self.turned = nn.Parameter(base[:36].view(6, 6).t())
        self.tied = self.front
        self.register_buffer("repeated", torch.tensor([[0.5]]).expand(3, 6))
        self.register_buffer("every_third", torch.arange(18, dtype=torch.float32)[::3])

    def forward(self, x: Tensor) -> Tensor:
        y = x @ self.front + x @ self.back + x @ self.turned + x @ self.tied
        return y * self.repeated + self.every_third + self.base[:6]


class Symbolic(nn.Module):
    """Sizes that are known at run time, and numbers that are computed from them."""

    def forward(self, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        rows = x.shape[0] + y.shape[0]
        joined = torch.cat([x, y]).view(rows * 2, 2)
        head = joined[: rows // 2]
        return joined, head * rows, torch.zeros(y.shape[0], 3)


class Count(nn.Module):
    """An input that is a number, and an output that is one."""

    def forward(self, x: Tensor, count: int) -> tuple[Tensor, int]:
        return x[:, :count] * count, count + 1


class Unbacked(nn.Module):
    """Sizes that come from the content of tensors, with what PyTorch then asserts of them."""

    def forward(self, x: Tensor, count: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        rows = count.item()
        torch._check(rows >= 1)
        torch._check(rows <= x.shape[0])
        head = x[:rows]
        return head * (rows / 2), x[x[:, 0] > 0], torch.sym_min(rows, 3) * head


class Dtypes(nn.Module):
    """A weight and an output of each common element type."""

    def __init__(self) -> None:
        super().__init__()
        for dtype in (torch.float16, torch.bfloat16, torch.float64, torch.int64, torch.int32,
                      torch.int16, torch.int8, torch.uint8):
            self.register_buffer("as_" + str(dtype).split(".")[1], torch.arange(3).to(dtype))
        self.register_buffer("as_bool", torch.tensor([True, False, True]))

    def forward(self, x: Tensor) -> tuple[Tensor, ...]:
        half = x.to(torch.float16) * self.as_float16
        brain = (x.to(torch.bfloat16) + self.as_bfloat16).to(torch.float32)
        whole = (x * 10).to(torch.int64) + self.as_int64 + self.as_int32 + self.as_int16
        small = self.as_int8 + self.as_uint8.to(torch.int8)
        return half, brain, x * self.as_float64, whole, small, torch.logical_and(x > 0, self.as_bool)


class Arguments(nn.Module):
    """Operators that are given all kinds of arguments and give several values."""

    def forward(self, x: Tensor, index: Tensor) -> tuple[Tensor, ...]:
        values, _ = torch.max(x, dim=1)
        top, where = torch.topk(x, k=2, dim=-1)
        first, _, last = torch.split(x, [1, 2, 1], dim=1)
        picked = x[:, index]
        both = x[:, index, index]
        made = torch.full([2, 3], 0.25, dtype=torch.float32, device=torch.device("cpu"))
        gelu = F.gelu(x, approximate="tanh")
        clamped = torch.clamp(x, min=-0.5)
        never = torch.where(x > 0, x, float("-inf")).amax(dim=[-1, -2], keepdim=False)
        constant = x[:, :3, 0] + torch.tensor([1.0, 2.0, 3.0])
        padded = F.pad(x, [1, 2], value=0.5)
        return (values, top, where, first, last, picked, both, made, gelu, clamped, never,
                constant, padded)


class Layouts(nn.Module):
    """Images whose channels come last: asked for, given, and seen through a view."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3)

    def forward(self, x: Tensor, y: Tensor) -> tuple[Tensor, ...]:
        given = self.conv(x)
        seen = self.conv(y.permute(0, 3, 1, 2))
        asked = seen.clone(memory_format=torch.channels_last)
        return given, seen * 2, asked, y.transpose(1, 3) + 1


class MutatedInput(nn.Module):
    """Changes its second argument."""

    def forward(self, x: Tensor, state: Tensor) -> Tensor:
        state.add_(x)
        return state * 2


class ChangesResults(nn.Module):
    """Changes results in place, as networks of torchvision do."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(4, 4), nn.SiLU(inplace=True), nn.Linear(4, 4), nn.ReLU(inplace=True))

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        y = self.layers(x)
        y += x
        y[:, 0].fill_(0.5)
        return y.masked_fill_(mask, -1.0)


class ChangesInput(nn.Module):
    """Changes its input in place by a function of it."""

    def __init__(self, change: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.change = change

    def forward(self, x: Tensor) -> Tensor:
        return self.change(x) * 2


def without_gradients(change: Callable[[Tensor], Tensor]) -> Callable[[Tensor], Tensor]:
    """The function in a region that is a graph of its own."""

    def run(x: Tensor) -> Tensor:
        with torch.no_grad():
            return change(x)

    return run


# By name: whether the input is changed, and the function.
CHANGES: dict[str, tuple[bool, Callable[[Tensor], Tensor]]] = {
    "directly": (True, lambda x: x.relu_()),
    "by_view": (True, lambda x: x.t()[0].fill_(1)),
    "by_element_of_list": (True, lambda x: x.chunk(2)[1].add_(1)),
    "by_dropout": (True, lambda x: F.silu(F.dropout(x, 0.5, training=False), inplace=True)),
    "by_equal_dtype": (True, lambda x: x.to(torch.float32).mul_(2)),
    "by_list": (True, lambda x: torch._foreach_add_([x + 1, x], 1) or x),
    "without_gradients": (True, without_gradients(lambda x: x.add_(1))),
    "twice": (True, lambda x: x.add_(1).mul_(2)),
    "not_by_result": (False, lambda x: (x + 1).relu_()),
    "not_by_other_dtype": (False, lambda x: x.to(torch.float64).mul_(2)),
    "not_without_gradients": (False, without_gradients(lambda x: (x * 2).add_(1))),
}


class ControlFlow(nn.Module):
    """What an archive can hold and a program cannot: a branch."""

    def forward(self, x: Tensor) -> Tensor:
        return torch.cond(x.sum() > 0, lambda y: y.sin(), lambda y: y.cos(), (x,))


class Half(nn.Module):
    """A program of two methods."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.fc = nn.Linear(inputs, outputs)

    def forward(self, x: Tensor) -> Tensor:
        return self.fc(x)


class SpecialValues(nn.Module):
    """One call of each operator of the examples, of special values, which are parts of one input."""

    def __init__(self, calls, tensors) -> None:
        super().__init__()
        self.calls = list({call.target: call for call in reversed(calls.values())}.values())
        self.parts: dict[int, tuple[int, int, list[int]]] = {}
        parts, size = [], 0
        for number in [number for call in self.calls for number in call.tensors]:
            tensor = tensors[number]
            if tensor.is_floating_point():
                self.parts[number] = size, size + tensor.numel(), list(tensor.shape)
                parts.append(tensor.flatten())
                size += tensor.numel()
            else:
                self.register_buffer(f"indices{number}", tensor)
        self.example = torch.cat(parts)

    def forward(self, x: Tensor) -> Tensor:
        given = {number: x[start:end].view(shape) for number, (start, end, shape) in self.parts.items()}
        given |= {int(name.removeprefix("indices")): buffer for name, buffer in self.named_buffers()}
        # Bools become numbers by the operator that backends have for it.
        return torch.cat([torch.ops.aten._to_copy(call(given).flatten(), dtype=torch.float32) for call in self.calls])
