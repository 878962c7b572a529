#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""One program with variants for CpuAotiBackend, OpenVINO, GraphBackend and XNNPACK on machines that lack some.

usage: variants.py export FOLDER             needs torch and executorch
       variants.py check FOLDER BUILD [LIBRARIES]
       variants.py stock FOLDER              needs executorch

`export` writes one model, compiled by ExecuTorch for XNNPACK and by AOTInductor, and exported for the rest. `check`
makes one program of it with tenon-compile and runs it as several machines would: BUILD is a build directory of Tenon,
LIBRARIES the one of OpenVINO's libraries. A plugin that is not named is not there, and CPU features are hidden by
tenon-run. For each machine it prints the variant that ran, and for each variant the bytes that were read from the disk:
the file's pages are dropped from the system's memory before, and counted after (mincore). At most LOSERS bytes of a
variant that did not run may be read. `stock` runs the program with ExecuTorch's own runtime.
"""

import ctypes
import json
import mmap
import os
import pathlib
import struct
import subprocess
import sys

SEED = 20261126
WIDTHS = (256, 1024, 1024, 1000)
LOSERS = 64 << 10


def export(folder):
    written = [folder / name for name in ("aoti.pt2", "model.pt2", "xnnpack.pte", "x.npy", "y.npy")]
    if all(path.exists() and path.stat().st_mtime > pathlib.Path(__file__).stat().st_mtime for path in written):
        return
    import numpy
    import torch
    from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
    from executorch.exir import to_edge_transform_and_lower
    from torch import nn

    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))  # tests/live: imports name its folders.
    from exporters.library_options import for_packages

    torch.manual_seed(SEED)
    layers = []
    for before, after in zip(WIDTHS, WIDTHS[1:]):
        layers += [nn.Linear(before, after), nn.ReLU()]
    model = nn.Sequential(*layers[:-1]).eval()
    inputs = (torch.randn(4, WIDTHS[0]),)
    exported = torch.export.export(model, inputs)
    torch.export.save(exported, folder / "model.pt2")
    numpy.save(folder / "x.npy", inputs[0].numpy())
    with torch.no_grad():
        numpy.save(folder / "y.npy", model(*inputs).numpy())
    lowered = to_edge_transform_and_lower(exported, partitioner=[XnnpackPartitioner()])
    (folder / "xnnpack.pte").write_bytes(lowered.to_executorch().buffer)
    torch._inductor.aoti_compile_and_package(exported, package_path=str(folder / "aoti.pt2"),
                                             inductor_configs=for_packages("x86-64-v3"))


def run(program, *arguments, **environment):
    kept = {n: v for n, v in os.environ.items() if not n.startswith("TENON_")}
    done = subprocess.run([str(program), *map(str, arguments)], capture_output=True, text=True,
                          env=kept | environment, check=False)
    if done.returncode != 0:
        sys.exit(f"{pathlib.Path(program).name} {' '.join(map(str, arguments))}: {done.stdout}{done.stderr}")
    return done.stdout


def join(folder, build, libraries):
    """The program of all variants that can be made here, the most wanted first."""
    compiler = build / "examples/programs/tenon-compile/tenon-compile"
    plugins = build / "examples/backends"
    model = folder / "model.pt2"
    made = []
    run(compiler, model, "--aoti", folder / "aoti.pt2", "-o", folder / "aoti.pte")
    made.append("aoti.pte")
    if libraries:
        run(compiler, model, "--backend", "TenonOpenvino", "--plugin", plugins / "openvino/openvino.so",
            "-o", folder / "openvino.pte")
        made.append("openvino.pte")
    run(compiler, model, "--backend", "GraphBackend", "--plugin",
        plugins / "graph_backend/graph_backend.so", "-o", folder / "graph.pte")
    made.append("graph.pte")
    words = [word for name in made for word in ("--variant", folder / name)]
    return json.loads(run(compiler, folder / "xnnpack.pte", *words, "--json", "-o", folder / "all.pte"))


class Table:
    """A table of a flatbuffer, read by the numbers of its fields."""

    def __init__(self, data, at):
        self.data, self.at = data, at
        self.fields = at - struct.unpack_from("<i", data, at)[0]

    def place(self, field):
        entry = 4 + 2 * field
        if entry >= struct.unpack_from("<H", self.data, self.fields)[0]:
            return None
        offset = struct.unpack_from("<H", self.data, self.fields + entry)[0]
        return self.at + offset if offset else None

    def number(self, field, kind="<I"):
        place = self.place(field)
        return 0 if place is None else struct.unpack_from(kind, self.data, place)[0]

    def table(self, field):
        place = self.place(field)
        return Table(self.data, place + struct.unpack_from("<I", self.data, place)[0])

    def tables(self, field):
        place = self.place(field)
        if place is None:
            return []
        start = place + struct.unpack_from("<I", self.data, place)[0]
        places = range(start + 4, start + 4 + 4 * struct.unpack_from("<I", self.data, start)[0], 4)
        return [Table(self.data, at + struct.unpack_from("<I", self.data, at)[0]) for at in places]

    def text(self, field):
        place = self.place(field)
        start = place + struct.unpack_from("<I", self.data, place)[0]
        size = struct.unpack_from("<I", self.data, start)[0]
        return self.data[start + 4:start + 4 + size].decode()


def ranges_of(path):
    """{variant: [(begin, end)]} of the segments that it alone uses; by a reader of the format of its own."""
    data = path.read_bytes()
    base = struct.unpack_from("<Q", data, 24)[0]
    root = Table(data, struct.unpack_from("<I", data, 0)[0])
    segments = [(base + s.number(0, "<Q"), base + s.number(0, "<Q") + s.number(1, "<Q"))
                for s in root.tables(4)]
    named = {entry.text(0): entry.number(1) for entry in root.tables(7)}
    begin, end = segments[named["tenon.variants/1"]]
    plans = {plan.text(0): plan for plan in root.tables(1)}
    used = {}
    for line in data[begin:end].decode().splitlines():
        words = line.split("\t")
        if words[0] == "variant":
            mine = used.setdefault(words[4], set())
            for delegate in plans[words[2]].tables(7):
                blob = delegate.table(1)
                if blob.number(0, "<b") == 1:
                    mine.add(blob.number(1))
        elif words[0] == "data":
            mine.add(named[words[1]])
    alone = {name: mine.difference(*(other for n, other in used.items() if n != name))
             for name, mine in used.items()}
    return {name: [segments[i] for i in sorted(mine)] for name, mine in alone.items()}


def resident(path):
    """For each page of a file, whether it is in the system's memory."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int,
                          ctypes.c_long]
    libc.mincore.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p]
    libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    size = path.stat().st_size
    pages = (ctypes.c_ubyte * ((size + mmap.PAGESIZE - 1) // mmap.PAGESIZE))()
    with open(path, "rb") as file:
        address = libc.mmap(None, size, mmap.PROT_READ, mmap.MAP_SHARED, file.fileno(), 0)
    if libc.mincore(address, size, pages) != 0:
        sys.exit("mincore failed")
    libc.munmap(address, size)
    return [page & 1 for page in pages]


def drop(path):
    """Drops the file's pages from the system's memory. False where the file system does not do that."""
    descriptor = os.open(path, os.O_RDONLY)
    os.fsync(descriptor)
    os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(descriptor)
    return not any(resident(path))


def read_bytes(pages, ranges):
    """Bytes of the ranges whose pages are in memory."""
    out = 0
    for begin, end in ranges:
        for page in range(begin // mmap.PAGESIZE, (end + mmap.PAGESIZE - 1) // mmap.PAGESIZE):
            if pages[page]:
                out += min(end, (page + 1) * mmap.PAGESIZE) - max(begin, page * mmap.PAGESIZE)
    return out


def check(folder, build, libraries):
    program = folder / "all.pte"
    for variant in join(folder, build, libraries)["variants"]:
        print(f"{variant['name']}, priority {variant['priority']}: {variant['size']} bytes; "
              f"{json.dumps(variant['needs'])}")
    ranges = ranges_of(program)
    size = program.stat().st_size
    print(f"{program.name}: {size} bytes")
    backends = build / "examples/backends"
    plugins = {
        "CpuAotiBackend": build / "reference_backends/cpu_aoti/cpu_aoti.so",
        "TenonOpenvino": backends / "openvino/openvino.so",
        "GraphBackend": backends / "graph_backend/graph_backend.so",
        "XnnpackBackend": backends / "executorch/xnnpack.so",
    }
    if not libraries:
        del plugins["TenonOpenvino"]
    plugins = {backend: plugin for backend, plugin in plugins.items() if plugin.exists()}
    features = json.loads(run(build / "examples/programs/tenon-compile/tenon-compile", folder / "model.pt2",
                              "--aoti", folder / "aoti.pt2", "--json", "-o", folder / "aoti.pte"))
    features = features["methods"][0]["delegates"][0]["cpu_features"]
    machines = [("all plugins", list(plugins), [], "CpuAotiBackend")]
    rest = list(plugins)[1:]
    machines.append(("all plugins, without " + ", ".join(features), list(plugins), features, rest[0]))
    while rest:
        machines.append((" and ".join(rest), list(rest), [], rest[0]))
        rest = rest[1:]
    kept = {"OPENVINO_LIB": str(libraries)} if libraries else {}
    failed = False
    for name, there, hidden, expected in machines:
        words = [program, "--input", folder / "x.npy", "--expect", folder / "y.npy", "--atol", "1e-4", "--json"]
        for backend in there:
            words += ["--plugin", plugins[backend]]
        if hidden:
            words += ["--without-cpu-features", ",".join(hidden)]
        is_dropped = drop(program)
        report = json.loads(run(build / "examples/programs/tenon-run/tenon-run", *words, **kept))
        pages = resident(program)
        print(f"{name}: ran {report['variant']}, loaded in {report['timings']['load_ns'] / 1e6:.1f} ms")
        failed |= report["variant"] != expected
        if not is_dropped:
            print("  the file's pages cannot be dropped here: nothing was counted")
            continue
        read = {variant: read_bytes(pages, of) for variant, of in ranges.items()}
        failed |= any(n > LOSERS for variant, n in read.items() if variant != report["variant"])
        print(f"  {sum(pages) * mmap.PAGESIZE} bytes of {size} were read: "
              + ", ".join(f"{variant} {n} of {sum(e - b for b, e in ranges[variant])}"
                          for variant, n in read.items()))
    sys.exit(1 if failed else 0)


def stock(folder):
    import numpy
    import torch
    from executorch.runtime import Runtime

    program = Runtime.get().load_program(folder / "all.pte")
    print("methods:", sorted(program.method_names))
    output, = program.load_method("forward").execute([torch.from_numpy(numpy.load(folder / "x.npy"))])
    torch.testing.assert_close(output, torch.from_numpy(numpy.load(folder / "y.npy")), rtol=1e-3, atol=1e-4)
    print("the stock runtime ran forward:", tuple(output.shape))


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    what, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    if what == "export":
        export(folder)
    elif what == "stock":
        stock(folder)
    else:
        check(folder, pathlib.Path(sys.argv[3]).resolve(), sys.argv[4] if len(sys.argv) > 4 else None)


if __name__ == "__main__":
    main()
