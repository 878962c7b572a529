# SPDX-License-Identifier: MIT
"""Records what PyTorch's operators return, for the unit tests of the CPU plugin's kernels.

    build/live/venv/bin/python tests/live/exporters/record_kernels.py >tests/unit/cpu_kernels/recorded/kernels.txt

A case is a line of parts with `; ` between them: its name, its arguments in order (`in DTYPE SIZES STRIDES ELEMENTS...`,
`none` for a tensor that is not given, `number X`, `list N,N,...`, `text WORD`), and its results (`out` like `in`). Elements
are in row-major order, complex ones as two numbers. SIZES and STRIDES are `-` for a scalar. STRIDES@N begins at element N of
its storage.
"""

import math
from typing import Any

import torch
import torch._meta_registrations
from case_line import case_line, numbers

NAMES = {torch.float32: "Float", torch.float64: "Double", torch.bfloat16: "BFloat16", torch.float16: "Half",
         torch.int64: "Long", torch.int32: "Int", torch.int16: "Short", torch.int8: "Char", torch.uint8: "Byte",
         torch.bool: "Bool", torch.complex64: "ComplexFloat", torch.complex128: "ComplexDouble"}
FLOAT, DOUBLE, BFLOAT16, HALF = torch.float32, torch.float64, torch.bfloat16, torch.float16
LONG, INT, CHAR, BOOL = torch.int64, torch.int32, torch.int8, torch.bool
aten = torch.ops.aten
random = torch.Generator().manual_seed(20261123)


def tensor_line(what: str, tensor: torch.Tensor) -> str:
    values = tensor.reshape(-1)
    if values.is_complex():
        values = torch.view_as_real(values.contiguous()).reshape(-1)
    digits = 17 if tensor.dtype in (DOUBLE, torch.complex128) else 9
    elements = [f"{float(x):.{digits}g}" if values.is_floating_point() else str(int(x)) for x in values.tolist()]
    strides = numbers(tensor.stride())
    if tensor.numel() > 0 and tensor.storage_offset() > 0:
        strides += f"@{tensor.storage_offset()}"
    return " ".join([what, NAMES[tensor.dtype], numbers(tensor.shape), strides, *elements])


def case(name: str, result: Any, *arguments: Any) -> None:
    """Prints one case. Lists of numbers are tuples, and `None` is a tensor that is not given."""
    results = result if isinstance(result, (tuple, list)) else [result]
    print(case_line(name, arguments, results, tensor_line))


def some(*sizes: int, dtype: torch.dtype = FLOAT) -> torch.Tensor:
    if dtype in (LONG, INT, CHAR, torch.uint8, torch.int16):
        return torch.randint(0, 9, sizes, generator=random).to(dtype)
    if dtype == BOOL:
        return torch.randint(0, 2, sizes, generator=random).to(dtype)
    if dtype.is_complex:
        return torch.randn(sizes, generator=random, dtype=dtype)
    return torch.round(torch.randn(sizes, generator=random) * 64).div(64).to(dtype)


def transposed(tensor: torch.Tensor) -> torch.Tensor:
    """The tensor's shape with other strides."""
    return tensor.transpose(-1, -2).contiguous().transpose(-1, -2)


def with_nan(tensor: torch.Tensor, *places: int) -> torch.Tensor:
    for place in places:
        tensor.view(-1)[place] = math.nan
    return tensor


def rank_cases() -> None:
    for dtype in (FLOAT, DOUBLE, BFLOAT16, HALF, LONG, INT, CHAR):
        case("median", aten.median(x := some(3, 5, dtype=dtype)), x)
    for x in (some(20), torch.tensor(2.5), some(2, 3, 4, 5), transposed(some(4, 6)), torch.tensor([]),
              with_nan(some(3, 4), 5), with_nan(some(2), 0, 1)):
        case("median", aten.median(x), x)
        case("nanmedian", aten.nanmedian(x), x)
    distinct = torch.tensor([5., -1., 3., 2.5, 9., -7., 4., 0., 1., 8., -2., 6.]).reshape(3, 4)
    for x in (distinct, transposed(distinct), with_nan(distinct.clone(), 2), distinct.reshape(3, 2, 2)):
        for dim in range(-x.dim(), x.dim()):
            for keep in (0, 1):
                k = 1 + (dim + keep) % x.shape[dim]
                case("kthvalue", aten.kthvalue(x, k, dim, bool(keep)), x, k, dim, keep)
    case("kthvalue", aten.kthvalue(x := torch.tensor(4.0), 1, 0, False), x, 1, 0, 0)
    repeated = torch.tensor([[1, 2, 2, 3, 3], [4, 4, 1, 1, 0], [7, 8, 9, 7, 7]])
    for dtype in (FLOAT, LONG, INT, BFLOAT16):
        for dim in (0, 1):
            case("mode", aten.mode(x := repeated.to(dtype), dim, False), x, dim, 0)
    case("mode", aten.mode(repeated, -1, True), repeated, -1, 1)


def search_cases() -> None:
    edges = torch.tensor([-1.0, 0.0, 0.5, 0.5, 2.0])
    for dtype in (FLOAT, DOUBLE, LONG, INT, BFLOAT16):
        x, at = some(3, 4, dtype=dtype), (edges * 4).to(dtype)
        for right in (0, 1):
            case("bucketize_Tensor", aten.bucketize(x, at, out_int32=bool(right), right=bool(right)), x, at, right, right)
    x = torch.tensor([math.nan, math.inf, -math.inf, 0.5])
    case("bucketize_Tensor", aten.bucketize(x, edges), x, edges, 0, 0)
    case("bucketize_Tensor", aten.bucketize(x := transposed(some(3, 4)), edges), x, edges, 0, 0)
    rows = torch.sort(some(2, 6)).values
    for side in ("left", "right"):
        case("searchsorted_Tensor", torch.searchsorted(rows, x := some(2, 3), side=side), rows, x, 0, 0, side, None)
    unsorted = some(2, 6)
    order = torch.argsort(unsorted)
    case("searchsorted_Tensor", torch.searchsorted(unsorted, x := some(2, 3), sorter=order), unsorted, x, 0, 0, "left",
         order)
    case("searchsorted_Scalar", torch.searchsorted(edges, 0.5), edges, 0.5, 0, 0, "left", None)
    case("searchsorted_Scalar", torch.searchsorted(edges, 0.5, side="right"), edges, 0.5, 0, 1, "right", None)
    for low, high in ((0, 0), (-1, 1), (0, 3)):
        case("histc", torch.histc(x := some(40), 7, low, high), x, 7, low, high)
    case("histc", torch.histc(x := torch.ones(3), 4), x, 4, 0, 0)
    case("histc", torch.histc(x := some(30, dtype=DOUBLE), 5, -2, 2), x, 5, -2, 2)


def mask_cases() -> None:
    for dtype in (FLOAT, BFLOAT16, LONG, BOOL, CHAR):
        x, mask, source = some(3, 4, dtype=dtype), some(3, 4, dtype=BOOL), some(4, 5, dtype=dtype)
        case("masked_scatter", aten.masked_scatter(x, mask, source), x, mask, source)
        case("masked_select", torch.masked_select(x, mask), x, mask)
        case("nonzero", aten.nonzero(x), x)
    x, mask, source = transposed(some(3, 4)), some(4, dtype=BOOL), transposed(some(4, 5))
    case("masked_scatter", aten.masked_scatter(x, mask, source), x, mask, source)
    case("masked_select", torch.masked_select(x, mask), x, mask)
    case("masked_select", torch.masked_select(x, m := some(2, 1, 1, dtype=BOOL)), x, m)
    for x in (torch.tensor(3.0), torch.tensor(0.0), torch.zeros(2, 3), some(2, 3, 2, dtype=LONG)):
        case("nonzero", aten.nonzero(x), x)
    for size in (0, 3, 30):
        case("nonzero_static", torch.nonzero_static(x, size=size, fill_value=-1), x, size, -1)
    for dtype in (LONG, INT):
        repeats = torch.tensor([2, 0, 3, 1], dtype=dtype)
        case("repeat_interleave_Tensor", aten.repeat_interleave.Tensor(repeats), repeats)


def index_cases() -> None:
    x = some(3, 4, 2)
    rows, columns, plane = some(3, dtype=BOOL), torch.tensor([3, 0, -1]), some(3, 4, dtype=BOOL)
    rows[0] = rows[2] = True
    rows[1] = False
    for indices in ([rows], [plane], [None, torch.tensor([1, 3])], [rows, torch.tensor([1, 2])],
                    [columns.clamp(-3, 2)[:, None], columns[None]], [some(3, 4, 2, dtype=BOOL)], [None, None, columns.clamp(-2, 1)],
                    [torch.zeros(3, dtype=BOOL)], [columns.clamp(-3, 2).to(INT), None, columns.clamp(-2, 1)]):
        case("index_Tensor", aten.index(x, indices), x, *indices)
        values = some(*aten.index(x, indices).shape)
        for accumulate in (0, 1):
            case("index_put", aten.index_put(x, indices, values, bool(accumulate)), x, values, accumulate, *indices)
    case("index_put", aten.index_put(x, [plane], v := torch.tensor(-4.0)), x, v, 0, plane)
    case("index_Tensor", aten.index(y := some(3, 4, dtype=CHAR), [rows]), y, rows)
    case("index_Tensor", aten.index(y := transposed(some(3, 4)), [rows]), y, rows)
    case("index_Tensor", aten.index(y := some(3, 2, dtype=torch.complex64), [rows]), y, rows)
    for reduce in ("prod", "mean", "amax", "amin"):
        for include in (0, 1):
            for dtype in (FLOAT, LONG, BFLOAT16):
                y, index = some(3, 5, dtype=dtype), torch.tensor([4, 0, 0, 2])
                source = some(3, 4, dtype=dtype)
                case("index_reduce", aten.index_reduce(y, 1, index, source, reduce, include_self=bool(include)),
                     y, 1, index, source, reduce, include)


def scan_cases() -> None:
    for dtype in (FLOAT, DOUBLE, BFLOAT16, LONG, CHAR):
        for dim in (0, 1, -1):
            x = some(3, 4, 2, dtype=dtype)
            case("cummax", aten.cummax(x, dim), x, dim)
            case("cummin", aten.cummin(x, dim), x, dim)
    x = with_nan(some(2, 6), 3)
    case("cummax", aten.cummax(x, 1), x, 1)
    case("cummin", aten.cummin(x, 1), x, 1)
    case("cummax", aten.cummax(y := torch.tensor(3.0), 0), y, 0)
    case("cummin", aten.cummin(y := transposed(some(3, 5)), 0), y, 0)
    for dtype in (FLOAT, DOUBLE, BFLOAT16, HALF):
        case("logcumsumexp", aten.logcumsumexp(y := some(3, 5, dtype=dtype), 1), y, 1)
    extreme = torch.tensor([-math.inf, -math.inf, 1.0, 200.0, -300.0, math.inf, math.inf, 0.0, math.nan, 1.0])
    case("logcumsumexp", aten.logcumsumexp(extreme, 0), extreme, 0)
    case("logcumsumexp", aten.logcumsumexp(y := transposed(some(3, 5)), 0), y, 0)


def pool_cases() -> None:
    flat = some(1, 2, 7, 6)
    last = flat.contiguous(memory_format=torch.channels_last)
    for x in (flat, last, some(2, 7, 6), flat.to(BFLOAT16), flat.to(DOUBLE)):
        for kernel, stride, padding, ceil, counts, divisor in (
                ((3, 2), (2, 2), (1, 1), 0, 1, None), ((4,), (), (0,), 1, 1, None), ((3,), (2,), (1,), 1, 0, None),
                ((2, 5), (3, 1), (1, 2), 1, 1, 3), ((3,), (1,), (0,), 0, 0, -2)):
            case("avg_pool2d", aten.avg_pool2d(x, kernel, stride, padding, bool(ceil), bool(counts), divisor), x, kernel,
                 stride, padding, ceil, counts, 0 if divisor is None else divisor)
    deep = some(1, 2, 4, 5, 3)
    for x in (deep, some(2, 4, 5, 3), deep.contiguous(memory_format=torch.channels_last_3d)):
        for kernel, stride, padding, ceil, counts, divisor in (
                ((2,), (), (0,), 0, 1, None), ((3, 2, 2), (2, 2, 1), (1, 1, 0), 1, 0, None),
                ((3,), (2,), (1,), 1, 1, None), ((2,), (1,), (0,), 0, 1, 5)):
            case("avg_pool3d", aten.avg_pool3d(x, kernel, stride, padding, bool(ceil), bool(counts), divisor), x, kernel,
                 stride, padding, ceil, counts, 0 if divisor is None else divisor)


def view_cases() -> None:
    x = some(3, 4, 5)
    case("slice_Tensor", aten.slice(x, 1, 1, 4, 2), x, 1, 1, 4, 2)
    case("slice_Tensor", aten.slice(x, -1, -3, 99, 1), x, -1, -3, 99, 1)
    case("slice_Tensor", aten.slice(x, 0, 2, 1, 1), x, 0, 2, 1, 1)
    case("narrow", aten.narrow(x, 1, 1, 2), x, 1, 1, 2)
    case("narrow", aten.narrow(x, 2, -2, 1), x, 2, -2, 1)
    case("permute", aten.permute(x, (2, 0, 1)), x, (2, 0, 1))
    case("permute", aten.permute(x, (-1, 1, 0)), x, (-1, 1, 0))
    case("squeeze_dim", aten.squeeze(y := some(2, 1, 3), 1), y, 1)
    case("squeeze_dim", aten.squeeze(y, 0), y, 0)
    case("reshape", aten.reshape(x, (4, -1)), x, (4, -1))
    case("reshape", aten.reshape(y := some(3, 4).t(), (2, 6)), y, (2, 6))
    for dtype in (torch.complex64, torch.complex128):
        z = some(2, 3, dtype=dtype)
        case("view_as_real", torch.view_as_real(z), z)
        case("view_as_real", torch.view_as_real(z.t()), z.t())
        case("view_as_complex", torch.view_as_complex(r := torch.view_as_real(z.t())), r)
    case("view_dtype", aten.view.dtype(y := some(2, 4), LONG).clone(), y, 4)
    case("view_dtype", aten.view.dtype(y := some(2, 4), torch.int16).clone(), y, 2)
    case("view_dtype", aten.view.dtype(y := some(3), INT).clone(), y, 3)
    for dtype in (FLOAT, CHAR, torch.complex64, BOOL):
        for dim in (0, 1):
            parts = [some(2, 3, dtype=dtype), some(2, 3, dtype=dtype).t().contiguous().t()]
            case("cat", aten.cat(parts, dim), dim, *parts)
    case("cat", aten.cat(parts := [torch.tensor([]), some(2, 2), some(2, 4)], -1), -1, *parts)
    case("cat", aten.cat(parts := [some(0, 2), some(1, 2)], 0), 0, *parts)


def arithmetic_cases() -> None:
    for dtype in (torch.complex64, torch.complex128):
        a, b = some(2, 3, dtype=dtype), some(3, dtype=dtype)
        case("abs", aten.abs(a), a)
        case("abs", aten.abs(a.t()), a.t())
        case("angle", aten.angle(a), a)
        case("add_Tensor", aten.add(a, b, alpha=2), a, b, 2)
        case("mul_Tensor", aten.mul(a, b), a, b)
        case("mul_Tensor", aten.mul(a, r := a.real.contiguous()), a, r)
        case("mul_Tensor", aten.mul(r, a), r, a)
        case("mul_Scalar", aten.mul(a, 2.5), a, 2.5)
        case("add_Scalar", aten.add(a, 2.5, alpha=2.0), a, 2.5, 2)
        case("pow_Tensor_Scalar", aten.pow(a, 2.0), a, 2)
    for dtype in (FLOAT, DOUBLE, LONG, CHAR, BFLOAT16):
        a, b = some(2, 3, dtype=dtype), some(2, 1, dtype=dtype)
        case("abs", aten.abs(-a), -a)
        case("angle", aten.angle(-a), -a)
        case("add_Tensor", aten.add(a, b), a, b, 1)
        case("mul_Tensor", aten.mul(a, b), a, b)
        case("mul_Scalar", aten.mul(a, 2.5), a, 2.5)
        case("pow_Tensor_Tensor", aten.pow(abs(a), abs(b)), abs(a), abs(b))
    case("pow_Tensor_Tensor", aten.pow(a := torch.tensor([-3, 7, 0, -1]), b := torch.tensor([5, 40, 0, 9])), a, b)
    for dtype in (LONG, INT, CHAR):
        a, b = some(2, 5, dtype=dtype) * 6, -some(5, dtype=dtype) * 4
        case("gcd", torch.gcd(a, b), a, b)
    smallest = torch.tensor([-2**63, -2**63, 0])
    case("gcd", torch.gcd(smallest, b := torch.tensor([6, 2**62, -5])), smallest, b)
    case("pow_Tensor_Scalar", aten.pow(a := abs(some(4)), 1.5), a, 1.5)
    case("pow_Scalar", aten.pow(2.0, a), 2, a)
    case("pow_Scalar", aten.pow(2.0, a := torch.tensor([1, 3])), 2, a)
    for dtype in (FLOAT, DOUBLE):
        a, b = abs(some(2, 3, dtype=dtype)), some(3, dtype=dtype)
        case("polar", aten.polar(a, b), a, b)


def distance_cases() -> None:
    for dtype in (FLOAT, DOUBLE):
        for p in (0.0, 1.0, 2.0, 3.0, math.inf):
            a, b = some(2, 4, 3, dtype=dtype), some(1, 5, 3, dtype=dtype)
            case("_cdist_forward", torch.cdist(a, b, p, "donot_use_mm_for_euclid_dist"), a, b, p)
            case("_pdist_forward", aten._pdist_forward(a[0].contiguous(), p), a[0].contiguous(), p)
    case("_cdist_forward", torch.cdist(a := transposed(some(3, 4)), b := some(2, 4), 2.0), a, b, 2)
    case("_cdist_forward", torch.cdist(a := some(3, 0), b := some(2, 0), 2.0), a, b, 2)
    for dtype in (FLOAT, DOUBLE):
        x, w, y = some(2, 3, dtype=dtype), some(4, 3, 5, dtype=dtype), some(2, 5, dtype=dtype)
        result = aten._trilinear(x, w, y, (1, 3), (0,), (1, 2), (2, 3))
        case("_trilinear", result, x, w, y, (1, 3), (0,), (1, 2), (2, 3))


def grid_cases() -> None:
    for dtype in (FLOAT, DOUBLE):
        for mode in (0, 1):
            for padding in (0, 1, 2):
                for align in (0, 1):
                    x = some(2, 2, 3, 4, 3, dtype=dtype)
                    grid = some(2, 2, 2, 1, 3, dtype=dtype)
                    grid[0, 0, 0, 0] = torch.tensor([2.5, -3.125, 0.75])
                    case("grid_sampler_3d", aten.grid_sampler_3d(x, grid, mode, padding, bool(align)), x, grid, mode,
                         padding, align)


def product_cases() -> None:
    for beta, alpha in ((1.0, 1.0), (0.5, -2.0), (0.0, 1.0)):
        x, a, b = some(2, 4), some(3, 2, 5), transposed(some(3, 5, 4))
        case("addbmm", torch.addbmm(x, a, b, beta=beta, alpha=alpha), x, a, b, beta, alpha)
    case("addbmm", torch.addbmm(x := some(4), a, b), x, a, b, 1, 1)


def int8_cases() -> None:
    a, b = (torch.randint(-128, 128, size, generator=random).to(CHAR) for size in ((20, 24), (24, 16)))
    case("_int_mm_out", torch._int_mm(a, b), a, b)
    case("_int_mm_out", torch._int_mm(a, b.t().contiguous().t()), a, b.t().contiguous().t())
    for dtype in (FLOAT, BFLOAT16, HALF):
        x, scales = some(3, 40, dtype=dtype), (abs(some(6)) / 64 + 0.01).to(dtype)
        weight = torch.randint(-128, 128, (6, 40), generator=random).to(CHAR)
        expected = ((x.double() @ weight.double().t()) * scales.double()).to(dtype)
        case("_weight_int8pack_mm", expected, x, weight, scales)


def layout_cases() -> None:
    """Results that are not contiguous, and views of a part of a storage."""
    rows = torch.tensor([True, False, True])
    pair = torch.tensor([2, 0])
    x = some(3, 4, 5).permute(0, 2, 1)
    last = some(3, 2, 2, 4).contiguous(memory_format=torch.channels_last)
    for y, indices in ((x, [rows]), (x, [None, pair]), (x, [None, None, pair]), (x, [pair, None, pair]), (last, [rows]),
                       (last, [None, None, None, pair]), (x[1:, 2:], [torch.tensor([1, 0, 1])])):
        case("index_Tensor", aten.index(y, indices), y, *indices)
    y = some(2, 5, 4).permute(0, 2, 1)
    index = torch.tensor(1)
    meta = torch._meta_registrations.meta_index_Tensor(y, [None, index])
    case("index_Tensor", meta.copy_(aten.index(y, [None, index])), y, None, index)

    for dtype in (FLOAT, torch.complex64):
        z = some(3, 4, dtype=dtype)
        for y, shape in ((z.t(), (2, 2, 3)), (z.t(), (4, 1, 3, 1)), (z.t(), (6, 2)), (z[1:], (4, 2)),
                         (z[:, 1:3], (3, 2, 1)), (z[:, 1:3], (6,)), (z[1:2].t(), (2, 2)),
                         (z[0, 0], (1, 1)), (z[:0].t(), (2, 0))):
            case("reshape", aten.reshape(y, shape), y, shape)
    x = some(3, 4)
    case("slice_Tensor", aten.slice(y := x[:, 2:], 1, 1, 2, 1), y, 1, 1, 2, 1)
    case("narrow", aten.narrow(y := x[1:], 0, 1, 1), y, 0, 1, 1)
    case("narrow", aten.narrow(x, 0, 3, 0), x, 0, 3, 0)
    case("slice_Tensor", aten.slice(y := x[:, 2:], 0, 3, 3, 1), y, 0, 3, 3, 1)
    case("slice_Tensor", aten.slice(y := some(3, 0, 4), 0, 1, 3, 1), y, 0, 1, 3, 1)

    for dtype in (LONG, torch.complex64):
        steep, flat = some(2, 6, dtype=dtype)[:, :3], some(3, 2, dtype=dtype).t()
        wide, column = some(1, 3, 4, dtype=dtype).transpose(1, 2), some(2, 1, 1, dtype=dtype)
        for a, b in ((steep, flat), (flat, steep), (wide, column), (column, wide), (flat, flat),
                     (some(2, 1, dtype=dtype).expand(2, 3), flat)):
            case("add_Tensor", aten.add(a, b), a, b, 1)
            case("mul_Tensor", aten.mul(a, b), a, b)
            if dtype == LONG:
                case("gcd", torch.gcd(a, b), a, b)
                case("pow_Tensor_Tensor", aten.pow(a, b), a, b)
    a, b = some(2, 1).expand(2, 3), some(3, 2, dtype=torch.complex64).t()
    case("mul_Tensor", aten.mul(a, b), a, b)
    r, phi = abs(some(2, 3)), some(2, 3)
    for a, b in ((r.t(), phi.t()), (r.t(), phi.reshape(3, 2)), (r, transposed(phi)), (r[:1], transposed(phi))):
        case("polar", aten.polar(a, b), a, b)

    for parts, dim in (([last, last], 1), ([last, last[:, :, :, 1:]], 3), ([last, last.contiguous()], 1), ([last], 0),
                       ([last[:, :, :1], last], 2), ([torch.tensor([]), last], 1)):
        case("cat", aten.cat(parts, dim), dim, *parts)
    deep = some(1, 2, 3, 2, 2).contiguous(memory_format=torch.channels_last_3d)
    case("cat", aten.cat(parts := [deep, deep * 2], 2), 2, *parts)


def whole_pool_cases() -> None:
    """Averages of whole numbers, which are cut off."""
    flat = some(1, 2, 7, 6, dtype=LONG) - 4
    deep = some(1, 2, 4, 5, 3, dtype=LONG) - 4
    for counts, divisor in ((1, None), (0, None), (1, 3), (0, -2)):
        for x in (flat, flat.contiguous(memory_format=torch.channels_last)):
            case("avg_pool2d", aten.avg_pool2d(x, (3, 2), (2,), (1,), True, bool(counts), divisor), x, (3, 2), (2,), (1,),
                 1, counts, 0 if divisor is None else divisor)
        case("avg_pool3d", aten.avg_pool3d(deep, (2,), (1,), (1,), False, bool(counts), divisor), deep, (2,), (1,), (1,), 0,
             counts, 0 if divisor is None else divisor)


def grouped_cases() -> None:
    for dtype in (FLOAT, BFLOAT16, HALF):
        ends = torch.tensor([4, 4, 9], dtype=INT)
        rows, batch = some(9, 16, dtype=dtype), some(3, 9, 16, dtype=dtype)
        experts, columns = transposed(some(3, 16, 5, dtype=dtype)), some(9, 16, dtype=dtype).t()
        for a, b, offsets in ((rows, experts, ends), (batch, columns, ends), (batch, experts, None),
                              (some(9, 8, dtype=dtype).t(), some(9, 16, dtype=dtype), ends)):
            case("_grouped_mm", torch._grouped_mm(a, b, offsets), a, b, offsets)


def factored_cases() -> None:
    for dtype in (FLOAT, DOUBLE):
        for a, b in ((some(4, 4, dtype=dtype), some(4, 3, dtype=dtype)),
                     (some(2, 1, 3, 3, dtype=dtype), transposed(some(4, 3, 2, dtype=dtype)))):
            a = a / 4 + 3 * torch.eye(a.size(-1), dtype=dtype)
            for upper in (0, 1):
                factor = a.triu() if upper else a.tril()
                case("cholesky_solve", torch.cholesky_solve(b, factor, bool(upper)), b, factor, upper)
                case("cholesky_inverse", torch.cholesky_inverse(factor, bool(upper)), factor, upper)
                for transpose, ones in ((0, 0), (1, 0), (0, 1)):
                    case("triangular_solve", aten.triangular_solve(b, a, bool(upper), bool(transpose), bool(ones)),
                         b, a, upper, transpose, ones)
        for a in (some(5, 3, dtype=dtype), transposed(some(2, 3, 5, dtype=dtype))):
            factors, tau = torch.geqrf(a)
            case("geqrf", (factors, tau), a)
            for left in (0, 1):
                other = some(*a.shape[:-2], *((a.size(-2), 4) if left else (4, a.size(-2))), dtype=dtype)
                for transpose in (0, 1):
                    case("ormqr", torch.ormqr(factors, tau, other, bool(left), bool(transpose)), factors, tau, other,
                         left, transpose)
            factors, pivots = torch.linalg.lu_factor(a)
            for data, order in ((1, 1), (0, 1), (1, 0)):
                case("lu_unpack", torch.lu_unpack(factors, pivots, bool(data), bool(order)), factors, pivots, data, order)


print("# What torch returns; tests/live/exporters/record_kernels.py made it with torch", torch.__version__)
for record in (rank_cases, search_cases, mask_cases, index_cases, scan_cases, pool_cases, view_cases, arithmetic_cases,
               distance_cases, grid_cases, product_cases, int8_cases, layout_cases,
               whole_pool_cases, grouped_cases, factored_cases):
    record()
