#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compiles models with AOTInductor, packs them with tenon-compile in each form, runs them with
tenon-run, which compares with eager PyTorch, and gives the programs to ExecuTorch's reader.

usage: packed_models.py TENON_COMPILE TENON_RUN CPU_AOTI [--operators PLUGIN]
                        [--executorch-kernels PLUGIN] [--keep DIR] [--only NAME]...
"""

import argparse
import hashlib
import importlib.util
import pathlib
import subprocess
import sys
import tempfile
import zipfile

import numpy
import torch
from executorch.exir._serialize._program import deserialize_pte_binary
from executorch.extension.flat_tensor.serialize.serialize import FlatTensorSerializer
from torch._inductor import lowering

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))  # tests/live: imports name its folders.
from exporters.library_options import for_packages
from models.pt2_models import ChangesResults

# From its file: the package itself is for the Python that it was built for.
_found = importlib.util.spec_from_file_location(
    "tenon_aoti", pathlib.Path(__file__).resolve().parents[3] / "examples/python/tenon/aoti.py")
_module = importlib.util.module_from_spec(_found)
_found.loader.exec_module(_module)
describe_calls = _module.describe_calls

OPTIONS = for_packages("x86-64-v3")


class Mlp(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = torch.nn.Linear(8, 16)
        self.second = torch.nn.Linear(16, 4)

    def forward(self, x):
        return self.second(torch.relu(self.first(x)))


class Sums(torch.nn.Module):
    """Without weights, of dynamic size, with two outputs."""

    def forward(self, x, y):
        return x * y + 1, (x - y).sum(0)


class Filter(torch.nn.Module):
    """Complex numbers between transforms; the one back has no function in the C shim."""

    def forward(self, x):
        spectrum = torch.fft.rfft2(x)
        return torch.fft.irfft2(spectrum * spectrum.abs(), s=x.shape[-2:]), torch.view_as_real(torch.fft.fft(x))


class Smaller(torch.nn.Module):
    """Images resized with antialiasing, to a size and by factors."""

    def forward(self, x):
        resize = torch.nn.functional.interpolate
        return (resize(x, (3, 7), mode="bilinear", antialias=True),
                resize(x, scale_factor=(0.7, 0.4), mode="bicubic", antialias=True) + 1)


class Groups(torch.nn.Module):
    """Operators that are called by number, with results whose sizes depend on the elements."""

    def forward(self, x):
        values, counts = torch.unique(x, return_counts=True)
        bins = torch.bincount(x)
        rows = torch.unique(x.reshape(3, 2), dim=0)
        for one in (values, counts, bins, rows):  # Memory for outputs is planned.
            torch._check(one.size(0) <= 64)
        return values * 2, counts, bins + 1, x.reshape(2, -1).median(1).values, rows * 2


class Factors(torch.nn.Module):
    """LAPACK's operators, which are called by number. Factors are multiplied: their signs are LAPACK's choice. The
    solutions for a batch of vectors and of X A = B have their own strides."""

    def forward(self, a, b):
        square = a.mT @ a + torch.eye(4)
        q, r = torch.linalg.qr(a)
        u, s, v = torch.linalg.svd(a, full_matrices=False)
        values, vectors = torch.linalg.eigh(square)
        return (torch.linalg.inv(square), torch.linalg.solve(square, b), torch.linalg.cholesky(square), q @ r, s,
                (u * s.unsqueeze(-2)) @ v, torch.linalg.det(square), (vectors * values.unsqueeze(-2)) @ vectors.mT,
                torch.linalg.solve(square, b[..., 0]) * 2, torch.linalg.solve(square, b.mT, left=False) + 1)


class Triangular(torch.nn.Module):
    """An operator of PyTorch for which examples/backends/linalg_kernels has a kernel; the plugin itself has none."""

    def forward(self, a, b):
        solution = torch.linalg.solve_triangular(a * 2, b + 1, upper=True)
        other = torch.linalg.solve_triangular(a.mT, b.mT, upper=True, left=False, unitriangular=True)
        return solution * 2, other + 1


torch.library.define("tenon_test::shift",
                     "(Tensor x, float by, bool twice=False, int[] dims=[], Tensor? other=None) -> Tensor")
torch.library.define("tenon_test::split", "(Tensor x, SymInt n) -> (Tensor, Tensor)")
torch.library.define("tenon_test::split.out",
                     "(Tensor x, SymInt n, *, Tensor(a!) first, Tensor(b!) rest) -> (Tensor(a!), Tensor(b!))")
torch.library.define("tenon_test::increase_", "(Tensor(a!) x, int by) -> ()")


@torch.library.impl("tenon_test::shift", "CompositeExplicitAutograd")
def shift(x, by, twice=False, dims=(), other=None):
    out = x + (by * (2 if twice else 1) + sum(dims))
    return out if other is None else out + other


@torch.library.impl("tenon_test::split", "cpu")
def split(x, n):
    return x[:n].clone(), x[n:].clone()


@torch.library.register_fake("tenon_test::split")
def split_fake(x, n):
    return x.new_empty(n), x.new_empty(x.size(0) - n)


@torch.library.impl("tenon_test::increase_", "cpu")
def increase(x, by):
    x.add_(by)


@torch.library.register_fake("tenon_test::increase_")
def increase_fake(x, by):
    pass


class Custom(torch.nn.Module):
    """Operators of torch.library, with kernels of tests/plugins/operators."""

    def forward(self, x):
        ops = torch.ops.tenon_test
        shifted = ops.shift(x * 2, 0.5, True, [1, 2])
        changed = x + 1
        ops.increase_(changed, 2)
        first, rest = ops.split(shifted.reshape(-1), x.size(0))
        return ops.shift(shifted, 1.0, other=x) * 2, changed * 2, first + 1, rest * 2


class LeftOver(torch.nn.Module):
    """Operators of PyTorch that are called by number, with ExecuTorch's kernels."""

    called = (torch.ops.aten.sub.Tensor, torch.ops.aten.sigmoid.default, torch.ops.aten.maximum.default)

    def forward(self, x, y):
        return torch.maximum(torch.sigmoid(torch.sub(x, y, alpha=2)), y) * y


def call_by_number(operators):
    """From now on Inductor generates no code for them."""
    for operator in operators:
        lowering.lowerings.pop(operator, None)
        lowering.make_fallback(operator, warn=False, override_decomp=True)


def export(name, model, inputs, dynamic, place):
    folder = place / name
    folder.mkdir()
    options = dict(OPTIONS)
    call_by_number(getattr(model, "called", ()))
    with torch.no_grad():
        outputs = model(*inputs)
        program = torch.export.export(model, inputs, dynamic_shapes=dynamic)
        torch.export.save(program, folder / "model.pt2")
        if not program.state_dict:  # torch cannot make an empty file of weights
            options["aot_inductor.package_constants_in_so"] = True
            options["aot_inductor.package_constants_on_disk_format"] = None
        with describe_calls():
            torch._inductor.aoti_compile_and_package(
                program, package_path=str(folder / "compiled.pt2"), inductor_configs=options)
    outputs = outputs if isinstance(outputs, tuple) else (outputs,)
    for kind, tensors in (("in", inputs), ("out", outputs)):
        for number, tensor in enumerate(tensors):
            numpy.save(folder / f"{kind}{number}.npy", tensor.numpy())
    return folder


def parts(folder):
    """Library, weights and description of operator calls of the package."""
    library, weights, calls = b"", b"", b""
    with zipfile.ZipFile(folder / "compiled.pt2") as archive:
        for name in archive.namelist():
            if name.endswith(".wrapper.so"):
                library = archive.read(name)
            elif name.endswith("weights.blob"):
                weights = archive.read(name)
            elif name.endswith(".wrapper.json"):
                calls = archive.read(name)
    return library, weights, calls


def content(named, key, data=None):
    entries = data if data is not None else named.pte_data
    return bytes(named.buffers[entries[key].buffer_index])


def check_file(program, data_file, library, weights, keys, calls):
    """What ExecuTorch's own reader finds in the files. With keys by content the library is as it was, else without
    symbols."""
    pte = deserialize_pte_binary(program.read_bytes())
    plan, = pte.program.execution_plan
    delegate, = plan.delegates
    assert delegate.id == "CpuAotiBackend", delegate.id
    assert [(spec.key, spec.value) for spec in delegate.compile_specs] == [
        ("method_name", b"forward")]
    prefixes = ["forward", "forward"]
    if keys == "content":
        prefixes = [hashlib.sha256(part).hexdigest() for part in (library, weights)]
    names = [f"{prefixes[0]}_so_blob", f"{prefixes[1]}_weights_blob"]
    # Where tenon-compile can decode the library.
    features = f"{prefixes[0]}_cpu_features"
    packed = content(pte.named_data, names[0])
    if keys == "content":
        assert packed == library
    else:
        assert packed.startswith(b"\x7fELF") and len(packed) <= len(library), len(packed)
    if not data_file:
        assert content(pte.named_data, names[1]) == weights
        described = f"{prefixes[0]}_extern_kernel_nodes"
        assert (described in pte.named_data.pte_data) == bool(calls)
        assert not calls or content(pte.named_data, described) == calls
        return
    assert [key for key in pte.named_data.pte_data if key != features] == names[:1]
    payload = FlatTensorSerializer().deserialize(data_file.read_bytes())
    assert list(payload.named_data) == names[1:], payload.named_data
    found = payload.buffers[payload.named_data[names[1]].buffer_index]
    assert bytes(found) == weights


def check(tools, folder):
    library, weights, calls = parts(folder)
    words = []
    for path in sorted(folder.glob("in*.npy")):
        words += ["--input", path]
    for path in sorted(folder.glob("out*.npy")):
        words += ["--expect", path]
    forms = [(keys, external) for keys in ("content", "method")
             for external in (False, True) if weights or not external]
    for keys, external in forms:
        program = folder / f"{keys}_{external}.pte"
        more = ["--external-weights"] if external else []
        more += ["--keep-symbols"] if keys == "content" else []
        subprocess.run([tools.compile, folder / "model.pt2", "--aoti", folder / "compiled.pt2",
                        "--aoti-keys", keys, *more, "-o", program], check=True)
        data_file = folder / "aoti_cpu_blob.ptd" if external else None
        more = ["--data", data_file] if external else []
        for kernels in (tools.operators, tools.executorch_kernels, tools.linalg_kernels):
            more += ["--plugin", kernels] if kernels else []
        subprocess.run([tools.run, program, "--plugin", tools.plugin, *more, *words], check=True)
        check_file(program, data_file, library, weights, keys, calls)
    print(f"{folder.name}: {len(forms)} forms")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("compile", type=pathlib.Path)
    parser.add_argument("run", type=pathlib.Path)
    parser.add_argument("plugin", type=pathlib.Path)
    parser.add_argument("--operators", type=pathlib.Path, metavar="PLUGIN",
                        help="with kernels of the operators that the model `custom` calls")
    parser.add_argument("--executorch-kernels", type=pathlib.Path, metavar="PLUGIN",
                        help="with ExecuTorch's kernels, for the model `left_over`")
    parser.add_argument("--linalg-kernels", type=pathlib.Path, metavar="PLUGIN",
                        help="with LAPACK's kernels, for the model `triangular`")
    parser.add_argument("--keep", type=pathlib.Path, help="a new directory for what is exported")
    parser.add_argument("--only", action="append", metavar="NAME", help="this model; repeatable")
    tools = parser.parse_args()
    torch.manual_seed(1)
    rows = torch.export.Dim("rows", min=2, max=64)
    models = {
        "mlp": (Mlp().eval(), (torch.randn(3, 8),), None),
        "sums": (Sums(), (torch.randn(3, 4), torch.randn(3, 4)), ({0: rows}, {0: rows})),
        "filter": (Filter(), (torch.randn(3, 6, 10),), None),
        "smaller": (Smaller(), (torch.randn(2, 3, 6, 10),), None),
        "factors": (Factors(), (torch.randn(2, 5, 4), torch.randn(2, 4, 3)), None),
        "groups": (Groups(), (torch.tensor([3, 1, 2, 1, 3, 1]),), None),
        "in_place": (ChangesResults().eval(), (torch.randn(2, 4), torch.randn(2, 4) > 0), None),
    }
    if tools.operators:
        models["custom"] = (Custom(), (torch.randn(3, 4),), ({0: rows},))
    if tools.linalg_kernels:
        models["triangular"] = (Triangular(), (torch.randn(2, 4, 4) + 4 * torch.eye(4), torch.randn(2, 4, 3)), None)
    if tools.executorch_kernels:  # The last one: it changes the compiler.
        models["left_over"] = (LeftOver(), (torch.randn(3, 4), torch.randn(3, 4)), ({0: rows}, {0: rows}))
    if unknown := set(tools.only or ()) - set(models):
        parser.error(f"--only {min(unknown)}: expected one of {', '.join(models)}")
    with tempfile.TemporaryDirectory(prefix="tenon-packed-") as temporary:
        place = tools.keep or pathlib.Path(temporary)
        if tools.keep:
            place.mkdir(parents=True)
        for name in tools.only or models:
            check(tools, export(name, *models[name], place))


if __name__ == "__main__":
    main()
