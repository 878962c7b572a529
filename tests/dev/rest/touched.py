# SPDX-License-Identifier: MIT
"""Which slices a change can touch, by the files that it changes: `./dev rest --slice touched`.

What a change breaks outside of `./dev test` should be seen before it lands. The slices of gcc's build would take too long for
that where the build is not there, so NEAR has smaller ones, which run in the build that `./dev test` has just made.
"""

import collections
import os

from dev.rest import record
from dev.rest.slices import SLICES, Slice

# Names the commit that CI saw last.
BASE = "TENON_CI_BASE"
# The commit for which `.ci/run` last found no failure, where the checkout is kept between runs.
SEEN = "build/ci-seen"


def _near(name, about, words, minutes):
    return Slice(f"near-{name}", about, (f"./dev test {words}",), minutes)


# Not in the record: what they check is also in slices that are.
NEAR = (
    _near("cuda", "the CUDA plugin on the stand-in driver, and its kernels compiled for the CPU", "--suite cuda", 7),
    _near("metal", "the Metal plugin on its stand-in", "--suite metal", 5),
    _near("opencl", "the OpenCL plugin", "--suite opencl", 4),
    _near("openvino", "both halves of the OpenVINO plugin", "--suite openvino", 4),
    _near("graph", "GraphBackend", "--suite graph", 4),
    _near("workers", "plugins that run in a worker, and what a worker may do", "--suite workers", 6),
    _near("bridges", "both bridges to ExecuTorch", "--suite bridges", 4),
    _near("python", "the Python package", "--suite python", 6),
    _near("kernels", "CPU kernels of AOTInductor models", "--suite backends --no-suite cuda --no-suite metal "
          "--no-suite opencl --no-suite openvino --no-suite graph --no-suite workers --no-suite slow", 5),
    _near("compiler", "the ahead-of-time half", "--suite compiler", 4),
    _near("kit", "the conformance kit", "--suite conformance --no-suite judged --no-suite zoo --no-suite slow", 5),
    _near("programs", "the programs", "--suite programs --no-suite workers --no-suite graph --no-suite slow", 10),
    _near("install", "an installed prefix, and what it serves", "--suite install", 10),
)

# The row of a file is the one with the longest prefix of its path; it begins with the slice that most likely sees a fault. No
# slice: `./dev test` checks it all. A file without a row has the row of the empty prefix.
_HOST = ("near-bridges", "near-python", "near-workers")
TABLE = {
    "": ("near-bridges", "near-python", "near-programs"),
    ".": (),
    ".ci/fetch-": ("near-bridges", "near-python"),
    "CHANGELOG.md": (),
    "CMakeLists.txt": ("near-install",),
    "LICENSE": (),
    "NOTICE": (),
    "README.md": (),
    "dev": (),
    "docs/": ("docs",),
    "docs/measurements/": (),
    "docs/snippets/": ("near-compiler", "near-programs"),
    "examples/": ("near-programs",),
    "examples/applications/chat/": ("near-programs", "near-python"),
    "examples/applications/executorch/": ("near-bridges",),
    "examples/applications/four_ways/": ("near-programs", "near-python"),
    "examples/backends/": ("near-kit", "near-programs"),
    "examples/backends/executorch/": ("near-bridges",),
    "examples/backends/graph_backend/": ("near-graph", "near-python"),
    "examples/backends/opencl/": ("near-opencl",),
    "examples/backends/openvino/": ("near-openvino",),
    "examples/programs/": ("near-programs",),
    "examples/programs/isolation/": ("near-workers",),
    "examples/python/": ("near-python",),
    "examples/python/packaging/": ("wheel", "near-python"),
    "examples/python/pyproject.toml": ("wheel", "near-python"),
    "examples/python/extension/": ("near-python", "sanitized-programs"),
    "include/": ("near-install",),
    "include/tenon/": _HOST,
    "include/tenon/abi/": (*_HOST, "near-kit", "quick-headers"),
    "include/tenon/aot/": ("near-compiler", "near-graph", "near-python"),
    "include/tenon/aoti/": ("near-cuda", "near-metal", "near-kernels"),
    "include/tenon/backend/": ("near-cuda", "near-opencl", "near-bridges", "near-python"),
    "include/tenon/conformance/": ("near-kit",),
    "include/tenon/core/": (*_HOST, "near-cuda"),
    "include/tenon/executorch/": ("near-bridges",),
    "include/tenon/host/platform/": (*_HOST, "cross-windows"),
    "meson": ("near-install", "near-bridges", "near-python"),
    "reference_backends/": ("near-cuda", "near-metal", "near-kernels"),
    "reference_backends/cpu_aoti/": ("near-kernels",),
    "reference_backends/cpu_kernels/": ("near-kernels",),
    "reference_backends/cuda_aoti/": ("near-cuda",),
    "reference_backends/metal_aoti/": ("near-metal",),
    "subprojects/": ("near-install",),
    "templates/": ("near-install",),
    "templates/python/": ("near-python", "wheel"),
    "tests/": ("near-programs", "near-bridges"),
    "tests/abi/": ("quick-headers",),
    "tests/benchmarks/": ("bench",),
    "tests/conformance/": ("near-kit",),
    "tests/conformance/pytest/": ("near-python",),
    "tests/conformance/zoo/": ("near-kit", "quick-zoo"),
    "tests/cross/": ("cross-arm64", "cross-windows"),
    "tests/dev/": (),
    "tests/dev/cross/": ("cross-windows", "cross-arm64"),
    "tests/docs/": ("docs",),
    "tests/faults/": ("near-programs",),
    "tests/fixtures/": ("near-programs", "near-python"),
    "tests/fixtures/cuda_": ("near-cuda", "near-programs"),
    "tests/fixtures/metal_": ("near-metal",),
    "tests/fixtures/xnnpack_": ("near-bridges", "near-programs"),
    "tests/fuzz/": ("fuzz",),
    "tests/gpu/": ("near-cuda",),
    "tests/growth/": ("sanitized-slow",),
    "tests/headers/": ("quick-headers",),
    "tests/install/": ("near-install",),
    "tests/lint/": (),
    "tests/live/": ("near-programs", "near-kernels"),
    "tests/macos/": ("near-metal", "cross-others"),
    "tests/package/": ("near-install",),
    "tests/package/wheel": ("wheel",),
    "tests/plugins/": ("near-kit", "near-programs"),
    "tests/processors/": ("near-programs",),
    "tests/stand_ins/cuda/": ("near-cuda",),
    "tests/stand_ins/metal/": ("near-metal",),
    "tests/support/": ("near-bridges", "near-compiler", "near-programs"),
    "tests/unit/": ("near-programs", "near-bridges"),
    "tests/unit/aot/": ("near-compiler",),
    "tests/unit/aoti/": ("near-kernels",),
    "tests/unit/conformance/": ("near-kit",),
    "tests/unit/cpu_kernels/": ("near-kernels",),
    "tests/unit/cuda_": ("near-cuda",),
    "tests/unit/executorch/": ("near-bridges",),
    "tests/unit/graph_backend/": ("near-graph",),
    "tests/unit/isolated/": ("near-workers",),
    "tests/unit/metal_aoti/": ("near-metal",),
    "tests/unit/opencl/": ("near-opencl",),
    "tests/unit/openvino_": ("near-openvino",),
    "tests/unit/sandbox/": ("near-workers",),
}


def base():
    """The commit that CI saw last, of those that HEAD comes from: the one that BASE or the file SEEN names, or else where HEAD
    left the main branch, or else HEAD's first parent. None where the history is not here."""
    head, seen = record.git("rev-parse", "HEAD"), record.ROOT / SEEN
    named = [os.environ.get(BASE), seen.read_text(encoding="utf-8").strip() if seen.exists() else None]
    for commit in (*filter(None, named), "origin/HEAD", "origin/main", "main"):
        ours = record.git("merge-base", "HEAD", commit)
        if ours and (ours != head or commit in named):
            return ours
    return record.git("rev-parse", "--verify", "--quiet", "HEAD^")


def changed(since):
    """The files that differ between a commit and the working tree."""
    tracked = record.git("diff", "--name-only", "--no-renames", "-z", since) or ""
    new = record.git("ls-files", "--others", "--exclude-standard", "-z") or ""
    return sorted({*tracked.split("\0"), *new.split("\0")} - {""})


def row_of(path):
    """The prefix of TABLE that a file belongs to."""
    return max((prefix for prefix in TABLE if path.startswith(prefix)), key=len)


def touched(files):
    """The slices that a change of these files can touch, each once: first the one that most files name, as there may not be
    time for all."""
    counted = collections.Counter(name for path in files for name in TABLE[row_of(path)])
    by_name = {each.name: each for each in (*SLICES, *NEAR)}
    return [by_name[name] for name, _ in counted.most_common()]
