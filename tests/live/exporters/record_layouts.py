# SPDX-License-Identifier: MIT
"""Records the strides that PyTorch's compiler plans for the results of operators on the CPU.

    build/live/venv/bin/python tests/live/exporters/record_layouts.py >tests/unit/cpu_kernels/recorded/layouts.txt

A model relies on these strides and checks them in its first run. Inductor plans what FakeTensorMode returns. Where eager
PyTorch returns other strides, the model fails with PyTorch as well: the script names such a case on stderr and leaves it
out. The format is record_kernels.py's, but tensors have no elements: inputs are zeroes, and a test compares dtype, sizes
and strides of results.
"""

import sys
import warnings
from collections.abc import Callable
from typing import Any

import torch
from case_line import case_line, numbers
from torch._subclasses.fake_tensor import FakeTensorMode

aten = torch.ops.aten
MODE = FakeTensorMode()
NAMES = {torch.float32: "Float", torch.complex64: "ComplexFloat", torch.int64: "Long", torch.bool: "Bool",
         torch.int8: "Char"}
FLOAT, COMPLEX, LONG, BOOL = torch.float32, torch.complex64, torch.int64, torch.bool


def tensor_line(what: str, tensor: torch.Tensor) -> str:
    return f"{what} {NAMES[tensor.dtype]} {numbers(tensor.shape)} {numbers(tensor.stride())}"


def tensors_of(result: Any) -> list[torch.Tensor]:
    return list(result) if isinstance(result, (tuple, list)) else [result]


def fake(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return MODE.from_tensor(value)
    return [fake(one) for one in value] if isinstance(value, list) else value


def is_alike(planned: torch.Tensor, eager: torch.Tensor) -> bool:
    return planned.shape == eager.shape and (planned.numel() == 0 or all(
        size == 1 or a == b for size, a, b in zip(planned.shape, planned.stride(), eager.stride())))


def case(name: str, operator: Callable[..., Any], operands: tuple[Any, ...], *arguments: Any) -> None:
    """Prints one case of `operator(*operands)`; `arguments` are the kernel's, as in record_kernels.py."""
    with MODE:
        planned = tensors_of(operator(*map(fake, operands)))
    eager = tensors_of(operator(*operands))
    for a, b in zip(planned, eager, strict=True):
        if is_alike(a, b):
            continue
        given = " ".join(tensor_line("in", one) for one in operands if isinstance(one, torch.Tensor))
        print(f"{name} {given}: planned {tuple(a.stride())}, eager {tuple(b.stride())}", file=sys.stderr)
        return
    print(case_line(name, arguments, planned, tensor_line))


def zeros(*sizes: int, dtype: torch.dtype = FLOAT) -> torch.Tensor:
    return torch.zeros(sizes, dtype=dtype)


def channels_last(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.contiguous(
        memory_format=torch.channels_last if tensor.dim() == 4 else torch.channels_last_3d)


def dense(*sizes: int, dtype: torch.dtype = FLOAT) -> list[torch.Tensor]:
    """Tensors of these sizes without gaps."""
    out = [zeros(*sizes, dtype=dtype)]
    if len(sizes) > 3:
        out.append(channels_last(out[0]))
    if len(sizes) > 1:
        out.append(zeros(*sizes[::-1], dtype=dtype).permute(*reversed(range(len(sizes)))))
    if len(sizes) > 2:
        out.append(zeros(sizes[1], sizes[0], *sizes[2:], dtype=dtype).transpose(0, 1))
    return out


def layouts(*sizes: int, dtype: torch.dtype = FLOAT) -> list[torch.Tensor]:
    """Tensors as `dense` makes them, also with gaps and with elements that share one place."""
    larger = [size + 2 for size in sizes]
    out = dense(*sizes, dtype=dtype)
    out.append(zeros(*larger, dtype=dtype)[tuple(slice(1, 1 + size) for size in sizes)])
    if len(sizes) > 3:
        out.append(channels_last(zeros(sizes[0], sizes[1] + 2, *sizes[2:], dtype=dtype))[:, 1:-1])
    if len(sizes) > 1:
        out += [zeros(1, *sizes[1:], dtype=dtype).expand(sizes), zeros(*sizes[:-1], 1, dtype=dtype).expand(sizes)]
    return out


def pools() -> None:
    for x in (*layouts(2, 3, 6, 5), *dense(2, 1, 6, 5), zeros(3, 6, 5)):
        case("max_pool2d_with_indices", lambda x: aten.max_pool2d_with_indices(x, [2, 2], [2, 2]), (x,), x, (2, 2), (2, 2),
             (0,), (1,), 0)
        case("avg_pool2d", lambda x: aten.avg_pool2d(x, [2, 2], [2, 2]), (x,), x, (2, 2), (2, 2), (0,), 0, 1, 0)
        for size in ((2, 2), (1, 1)):
            case("_adaptive_avg_pool2d", lambda x: aten._adaptive_avg_pool2d(x, size), (x,), x, size)
            case("adaptive_max_pool2d", lambda x: aten.adaptive_max_pool2d(x, size), (x,), x, size)
    for x in (*layouts(2, 3, 4, 5, 6), *dense(2, 1, 4, 5, 6), zeros(3, 4, 5, 6)):
        case("max_pool3d_with_indices", lambda x: aten.max_pool3d_with_indices(x, [2, 2, 2], [2, 2, 2]), (x,), x, (2, 2, 2),
             (2, 2, 2), (0,), (1,), 0)
        case("avg_pool3d", lambda x: aten.avg_pool3d(x, [2, 2, 2], [2, 2, 2]), (x,), x, (2, 2, 2), (2, 2, 2), (0,), 0, 1, 0)
        case("_adaptive_avg_pool3d", lambda x: aten._adaptive_avg_pool3d(x, [2, 2, 2]), (x,), x, (2, 2, 2))
        case("adaptive_max_pool3d", lambda x: aten.adaptive_max_pool3d(x, [2, 2, 2]), (x,), x, (2, 2, 2))
    for x in layouts(2, 3, 4, 5, 6):
        case("grid_sampler_3d", lambda x, grid: aten.grid_sampler_3d(x, grid, 0, 0, False), (x, grid := zeros(2, 2, 2, 2, 3)),
             x, grid, 0, 0, 0)


def convolutions() -> None:
    def convolution(x: torch.Tensor, weight: torch.Tensor, transposed: bool, groups: int) -> None:
        spatial = weight.dim() - 2
        ones, none = (1,) * spatial, (0,) * spatial
        case("convolution",
             lambda x, weight: aten.convolution(x, weight, None, ones, none, ones, transposed, none, groups),
             (x, weight), x, weight, None, ones, none, ones, transposed, none, groups)

    for x in (*layouts(2, 4, 6, 5), *dense(2, 1, 6, 5), *dense(1, 4, 1, 1)):
        channels, taps = x.shape[1], min(x.shape[2], 2)
        for weight in dense(4, channels, taps, taps):
            convolution(x, weight, False, 1)
        for weight in dense(channels, 4, 1, 1):
            convolution(x, weight, True, 1)
        if channels == 4:
            for weight in dense(4, 1, taps, taps):
                convolution(x, weight, False, 4)
    for x in layouts(2, 3, 5):
        for weight in dense(4, 3, 2):
            convolution(x, weight, False, 1)
    for x in layouts(2, 3, 4, 5, 6):
        for weight in dense(4, 3, 2, 2, 2):
            convolution(x, weight, False, 1)


def scans() -> None:
    for x in (*layouts(2, 3, 5, 4), *dense(2, 1, 5, 4), torch.tensor(0.0)):
        for dim in {0, max(x.dim() - 1, 0)}:
            for name in ("cumsum", "cumprod", "logcumsumexp", "cummax", "cummin"):
                case(name, lambda x: getattr(aten, name)(x, dim), (x,), x, dim)
            case("sort", lambda x: aten.sort(x, dim), (x,), x, dim, 0)
            case("sort_stable", lambda x: aten.sort.stable(x, stable=True, dim=dim), (x,), x, dim, 0)
            case("topk", lambda x: aten.topk(x, 1, dim), (x,), x, 1, dim, 1, 1)
            for keep in (0, 1):
                case("kthvalue", lambda x: aten.kthvalue(x, 1, dim, bool(keep)), (x,), x, 1, dim, keep)
                case("mode", lambda x: aten.mode(x, dim, bool(keep)), (x,), x, dim, keep)
                case("median.dim", lambda x: aten.median.dim(x, dim, bool(keep)), (x,), x, dim, keep)


def random_numbers() -> None:
    for x in layouts(2, 3, 5, 4):
        case("rand_like", aten.rand_like, (x,), x)
        case("randn_like", aten.randn_like, (x,), x)
        case("randint_like", lambda x: aten.randint_like(x, 5), (x,), x, 5)
        case("randint_like_low_dtype", lambda x: aten.randint_like(x, 2, 5), (x,), x, 2, 5)
        case("uniform", aten.uniform, (x,), x)
        case("normal_functional", aten.normal_functional, (x,), x)
        case("exponential", aten.exponential, (x,), x)
        for train in (0, 1):
            case("native_dropout", lambda x: aten.native_dropout(x, 0.5, bool(train)), (x,), x, train)


def selections() -> None:
    for x in layouts(2, 3, 6, 5):
        case("bucketize_Tensor", lambda x, edges: aten.bucketize(x, edges), (x, zeros(3)), x, zeros(3), 0, 0)
        case("searchsorted_Tensor", lambda edges, x: aten.searchsorted(edges, x), (zeros(3), x), zeros(3), x, None, 0, 0,
             "left")
        mask, source = zeros(*x.shape, dtype=BOOL), zeros(*x.shape)
        case("masked_scatter", aten.masked_scatter, (x, mask, source), x, mask, source)
        one, pair = zeros(1, dtype=LONG), zeros(2, dtype=LONG)
        case("index_put", lambda x, one, value: aten.index_put(x, [one], value), (x, one, zeros(1)), x, zeros(1), one, 0)
        case("index_Tensor", lambda x, pair: aten.index(x, [None, pair]), (x, pair), x, None, pair)
        case("index_Tensor", lambda x, pair: aten.index(x, [pair, None, pair]), (x, pair), x, pair, None, pair)
        case("index_Tensor", lambda x, pair: aten.index(x, [None, pair, pair]), (x, pair), x, None, pair, pair)
        case("nonzero_static", lambda x: aten.nonzero_static(x, size=4), (x,), x, 4, -1)
        values = zeros(1, *x.shape[1:])
        case("index_reduce", lambda x, one, values: aten.index_reduce(x, 0, one, values, "amax"), (x, one, values), x, one,
             values, "amax", 0, 1)
        case("cat", lambda x: aten.cat([x, x], 1), (x,), 1, x, x)
        case("abs", aten.abs, (x,), x)


def transforms() -> None:
    for x, z in zip(layouts(2, 3, 6, 5), layouts(2, 3, 6, 5, dtype=COMPLEX), strict=True):
        for dims in ((3,), (2, 3), (3, 0)):
            case("_fft_c2c", lambda z: aten._fft_c2c(z, dims, 0, True), (z,), z, dims, 0, 1)
            for half in (0, 1):
                case("_fft_r2c", lambda x: aten._fft_r2c(x, dims, 0, bool(half)), (x,), x, dims, 0, half)
            last = 2 * z.shape[dims[-1]] - 2
            case("_fft_c2r", lambda z: aten._fft_c2r(z, dims, 0, last), (z,), z, dims, 0, last)
        for name in ("_upsample_bicubic2d_aa", "_upsample_bilinear2d_aa"):
            case(name, lambda x: getattr(aten, name)(x, [4, 4], False), (x,), x, (4, 4))


def products() -> None:
    for x in layouts(2, 3, 4, 8):
        case("_scaled_dot_product_flash_attention_for_cpu",
             lambda x: aten._scaled_dot_product_flash_attention_for_cpu(x, x, x), (x,), x, x, x)
    for x in layouts(2, 3, 5):
        case("addbmm", lambda a, x: aten.addbmm(a, x, x.transpose(1, 2)), (zeros(3, 3), x), zeros(3, 3), x, x.transpose(1, 2),
             1, 1)
        case("_cdist_forward", lambda x: aten._cdist_forward(x, x, 2.0, None), (x,), x, x, 2)
    indices, offsets = zeros(5, dtype=LONG), zeros(2, dtype=LONG)
    for weight in layouts(6, 4):
        for mode in (0, 1, 2):
            for name in ("_embedding_bag", "_embedding_bag_forward_only"):
                case(name, lambda weight, indices, offsets: getattr(aten, name)(weight, indices, offsets, False, mode),
                     (weight, indices, offsets), weight, indices, offsets, mode)


def main() -> int:
    warnings.simplefilter("ignore")
    print("# What torch's compiler plans; tests/live/exporters/record_layouts.py made it with torch", torch.__version__)
    for record in (pools, convolutions, scans, random_numbers, selections, transforms, products):
        record()
    return 0


if __name__ == "__main__":
    sys.exit(main())
