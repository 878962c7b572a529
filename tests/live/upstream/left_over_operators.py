# SPDX-License-Identifier: MIT
"""Programs without a delegate: what tenon-compile writes runs in ExecuTorch's wheel.

Each case is exported, compiled with every operator left to kernels, run by the stock runtime with
all its checks, and compared with eager PyTorch: numbers, shapes, dtypes.

    python tests/live/upstream/left_over_operators.py build/gcc/examples/programs/tenon-compile/tenon-compile
"""

import argparse
import pathlib
import subprocess
import sys
import tempfile

import executorch.kernels.quantized  # Operators of quantized_decomposed, and their kernels.
import torch
import torch.nn.functional as F
from executorch.runtime import Runtime, Verification

torch.manual_seed(8)
X = torch.randn(2, 3, 4)
POSITIVE = X.abs() + 0.1
IMAGE = torch.randn(1, 4, 8, 8)


class Call(torch.nn.Module):
    """A module around a function."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *inputs):
        return self.function(*inputs)


def unary(x):
    return (x.abs(), x.exp(), x.sin(), x.tanh(), x.sigmoid(), x.neg(), x.floor(), x.round(),
            x.sign(), F.gelu(x), F.gelu(x, approximate="tanh"), F.relu(x), F.silu(x), F.elu(x),
            F.leaky_relu(x), F.hardtanh(x), x.erf(), x.atan(), x.isnan(), torch.logical_not(x))


def positive(x):
    return (x.log(), x.sqrt(), x.rsqrt(), x.reciprocal(), x.log2(), x.log1p(), x**0.5, x**2, 2**x)


def binary(x, y):
    return (x + y, x - y, x * y, x / y, x // y, torch.maximum(x, y), torch.where(x > 0, x, y),
            x > y, x <= 0.5, x == y, torch.atan2(x, y), x.fmod(0.7), x.remainder(y),
            torch.add(x, y, alpha=3), 1 - x, 2 / y, y**x)


def integers(i):
    return (i + 1, i * 2, i // 2, i % 4, i & 3, i | 1, i ^ 2, ~i, i > 3, i / 2, i.sum(),
            i.to(torch.float32) * 1.5, i.cumsum(1))


def reductions(x):
    return (x.sum(), x.mean(), x.sum(1), x.mean((0, 2), keepdim=True), x.max(), x.min(), x.max(1),
            x.argmax(2), x.argmin(), x.amax(0), x.amin((1, 2)), x.var(1), x.std(1), x.prod(1),
            x.any(), x.any(1), torch.var_mean(x, 1))


def shapes(x):
    return (x.view(6, 4), x.permute(2, 0, 1), x.transpose(1, 2), x.unsqueeze(1), x[:, 1],
            x[:, :, 1:3], x[..., ::2], x.expand(5, 2, 3, 4), x.flatten(1), x.repeat(1, 2, 1),
            torch.cat([x, x], 1), torch.stack([x, x], 1), x.split(2, 1), x.chunk(2, 2), x.unbind(1),
            x.squeeze(), torch.flip(x, [1]), x.roll(1, 1), x.mT, F.pad(x, (1, 2), value=3.0),
            x.select(1, 2), x.narrow(2, 1, 2), x.diagonal(0, 1, 2), x.unfold(2, 2, 1))


def indices(x, i):
    where = torch.zeros(2, 3, 1, dtype=torch.int64)
    return (x[:, i], x.index_select(1, i), x.gather(2, where), x.scatter(2, where, 1.0),
            F.embedding(i, x[0]), x.masked_fill(x > 0, 2.0), x.tril(), x.topk(2, 2),
            x.index_put((i,), torch.tensor(5.0)))


def products(x, y):
    return (x @ y, torch.mm(x[0], y[0]), torch.addmm(y[0][0], x[0], y[0]), torch.bmm(x, y),
            F.linear(x, y[0].t()), torch.baddbmm(x @ y, x, y))


def layers(image):
    return (F.max_pool2d(image, 2), F.avg_pool2d(image, 2, 1), F.adaptive_avg_pool2d(image, 1),
            F.conv2d(image, torch.ones(6, 4, 3, 3), torch.ones(6), 2, 1),
            F.conv_transpose2d(image, torch.ones(4, 2, 3, 3)), F.softmax(image, 1),
            F.log_softmax(image, 1), F.layer_norm(image, (8,)), F.group_norm(image, 2),
            F.interpolate(image, scale_factor=2.0), F.pixel_shuffle(image, 2),
            F.interpolate(image, scale_factor=2.0, mode="bilinear"), F.glu(image, 1),
            F.pad(image, (1, 1, 1, 1), mode="reflect"), F.normalize(image, dim=1))


def factories(x):
    return (torch.zeros(2, 3) + x[:, :, 0], torch.ones_like(x), torch.full((2,), 3),
            torch.arange(5), torch.arange(1, 7, 2), x.new_zeros(3), torch.full_like(x, 2.0),
            x.clone(), x.to(torch.float64), x.half(), torch.zeros_like(x))


def dynamic(x):
    n = x.size(0)
    return (x * n, x.view(-1), torch.cat([x, x]), x.sum(0), x.reshape(n * 3, 4), torch.zeros(n, 2),
            x.mean(0) / n, x.view(n, -1) + n, n, n // 2)


def outputs(x):
    constant = torch.tensor([1.0, 2.0])
    y = x + 1
    return y, x, constant, y


def attention(q):
    return (F.scaled_dot_product_attention(q, q, q),)


def in_place(x, keep):
    """Exported as it is: tenon-compile reads these operators as functions."""
    y = x.neg().relu_().add_(x, alpha=2).sub_(0.5)
    filled = torch.zeros(2, 3, 4).fill_(3).masked_fill_(keep, 0.25)
    copied = torch.empty(2, 3, 4).copy_(filled)
    halves = torch.full((2, 3), 0.3, dtype=torch.float16).mul_(torch.tensor(0.5))
    return (y.clamp_(-1, 1), copied.div_(2), halves, y + copied, x.view(-1).exp().sqrt_().view(2, -1).pow_(2),
            torch.arange(5).mul_(3).add_(1))


class Cache(torch.nn.Module):
    """Two buffers change places, a third one counts."""

    def __init__(self):
        super().__init__()
        self.register_buffer("a", torch.ones(4))
        self.register_buffer("b", torch.full((4,), 2.0))
        self.register_buffer("calls", torch.zeros(1))

    def forward(self, x):
        a, b = self.a.clone(), self.b.clone()
        self.a.copy_(b)
        self.b.copy_(a)
        self.calls.add_(1)
        return x + a, b, self.calls + 0


def channels_last(image):
    return image.to(memory_format=torch.channels_last) * 2, image.mean((2, 3))


SCALES, ZEROS = torch.tensor([0.02, 0.03, 0.05], dtype=torch.float64), torch.tensor([0, 5, -9])
INT8, UINT8 = (torch.arange(-12, 12).to(dtype).reshape(3, 8) for dtype in (torch.int8, torch.uint8))


def quantised(x, i):
    """Each operator of the quantized library that can be exported."""
    ops, int8 = torch.ops.quantized_decomposed, torch.int8
    q = ops.quantize_per_tensor(x, 0.03, -3, -128, 127, int8)
    scale, zero = ops.choose_qparams.tensor(x, -128, 127, 1e-6, int8)
    of_x = ops.quantize_per_tensor.tensor(x, scale, zero, -128, 127, int8)
    # Kernels take scales of one dtype: of double, as calibration finds them, and of the output's.
    channels = ops.quantize_per_channel(x, SCALES, ZEROS, 1, -128, 127, int8)
    token_scales, token_zeros = ops.choose_qparams_per_token_asymmetric(x, int8)
    tokens = ops.quantize_per_token(x, token_scales, token_zeros, -128, 127, int8)
    return (q, of_x, scale, zero, channels, tokens,
            ops.dequantize_per_tensor(q, 0.03, -3, -128, 127, int8),
            ops.dequantize_per_tensor.tensor(of_x, scale, zero, -128, 127, int8),
            ops.dequantize_per_channel(channels, SCALES, ZEROS, 1, -128, 127, int8),
            ops.dequantize_per_channel(channels, SCALES, None, 1, -128, 127, int8),
            ops.dequantize_per_token(tokens, token_scales, token_zeros, -128, 127, int8,
                                     torch.float32),
            ops.embedding_byte(INT8, SCALES.float(), None, -128, 127, i),
            ops.embedding_byte.dtype(INT8, SCALES.float(), None, -128, 127, i, dtype=torch.float32),
            ops.embedding_4bit(UINT8, SCALES.float(), None, -8, 7, i),
            ops.embedding_4bit.dtype(UINT8, SCALES.float(), None, -8, 7, i, dtype=torch.float32),
            ops.embedding_2bit(UINT8, SCALES.float(), None, -2, 1, i),
            ops.embedding_2bit.dtype(UINT8, SCALES.float(), None, -2, 1, i, dtype=torch.float32))


# By name: a module, inputs for each call, and which sizes of the first input change.
BATCH = {0: torch.export.Dim("batch", min=2, max=9)}
CASES = {
    **{function.__name__: (Call(function), [inputs], None) for function, inputs in [
        (unary, (X,)),
        (positive, (POSITIVE,)),
        (binary, (X, POSITIVE)),
        (integers, (torch.arange(6).reshape(2, 3),)),
        (reductions, (X,)),
        (shapes, (X,)),
        (indices, (X, torch.tensor([0, 1, 1]))),
        (products, (X, torch.randn(2, 4, 5))),
        (layers, (IMAGE,)),
        (factories, (X,)),
        (outputs, (torch.randn(2),)),
        (attention, (torch.randn(1, 2, 5, 8),)),
        (channels_last, (IMAGE,)),
        (quantised, (X, torch.tensor([0, 2, 1]))),
    ]},
    "in_place": (Call(in_place), [(X, X > 0)], None),
    "dynamic": (Call(dynamic), [(torch.randn(n, 3, 4),) for n in (3, 2, 9, 7)], BATCH),
    "state": (Cache(), [(torch.randn(4),) for _ in range(4)], None),
}


def compile_case(tenon_compile, module, inputs, dynamic_sizes, folder):
    shapes = None
    if dynamic_sizes:
        shapes = ((dynamic_sizes,),) if isinstance(module, Call) else (dynamic_sizes,)
    program = torch.export.export(module, inputs, dynamic_shapes=shapes)
    if not (isinstance(module, Call) and module.function is in_place):
        program = program.run_decompositions()
    torch.export.save(program, folder / "model.pt2")
    subprocess.run([tenon_compile, folder / "model.pt2", "-o", folder / "model.pte"], check=True,
                   stdout=subprocess.DEVNULL)
    return (folder / "model.pte").read_bytes()


def differs(found, expected):
    if not isinstance(expected, torch.Tensor):
        return found != expected
    return (found.shape != expected.shape or found.dtype != expected.dtype
            or not torch.allclose(found, expected, rtol=1e-4, atol=1e-5, equal_nan=True))


def check(tenon_compile, name, folder):
    """Problems of a case, and how many outputs were compared."""
    module, calls, dynamic_sizes = CASES[name]
    data = compile_case(tenon_compile, module, calls[0], dynamic_sizes, folder)
    if data != compile_case(tenon_compile, module, calls[0], dynamic_sizes, folder):
        return ["compiled twice, the files differ"], 0
    program = Runtime.get().load_program(data, verification=Verification.InternalConsistency)
    method = program.load_method("forward")
    problems, compared = [], 0
    for number, inputs in enumerate(calls):
        found = method.execute(list(inputs))
        expected = torch.utils._pytree.tree_leaves(module(*inputs))
        if len(found) != len(expected):
            problems.append(f"call {number}: {len(found)} outputs, expected {len(expected)}")
            continue
        compared += len(found)
        problems += [f"call {number}, output {i}: {a}, expected {b}"
                     for i, (a, b) in enumerate(zip(found, expected)) if differs(a, b)]
    return problems, compared


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tenon_compile", type=pathlib.Path)
    parser.add_argument("cases", nargs="*", help="all when none is named")
    args = parser.parse_args()
    failed = 0
    for name in args.cases or CASES:
        with tempfile.TemporaryDirectory(prefix="tenon-left-over-") as folder:
            problems, compared = check(args.tenon_compile, name, pathlib.Path(folder))
        print(f"{'ok' if not problems else 'not ok'}: {name}: {compared} outputs", flush=True)
        for problem in problems:
            print(f"  {problem}")
        failed += bool(problems)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
