# SPDX-License-Identifier: MIT
"""`./dev gpu` and `./dev gpu-pack`."""

import sys

from dev import builds, packages
from dev.part import Failed

# Programs for another machine: of the system they need the C library alone. Debian's fmt is a shared library, so fmt is
# compiled with what includes it. The plugin shares the system's C++ library with the models, as everywhere: with one of
# its own it would keep some of that library's memory each time that it is unloaded. What programs export for plugins
# leaves theirs out.
BUILD = builds.Build("gpu", (
    "-Dbuildtype=release", "-Doptimization=2", "-Dbenchmarks=disabled", "-Dpt2=disabled", "-Dcuda=enabled",
    *builds.TOGETHER, "-Dcpp_args=-DFMT_HEADER_ONLY",
    "-Dprogram_link_args=['-static-libstdc++', '-static-libgcc', "
    "'-Wl,--exclude-libs,libstdc++.a:libgcc.a:libgcc_eh.a']"))
TARGETS = ["reference_backends/cuda_aoti/cuda_aoti.so", "examples/programs/tenon-run/tenon-run",
           "examples/programs/isolation/tenon-worker", "examples/programs/isolation/tenon-isolated.so",
           "tests/conformance/tenon-conformance", "tests/gpu/cuda_kernels/cuda-gpu-test",
           "tests/gpu/cuda_programs/cuda-programs", "tests/gpu/cuda_programs/write-older-generations"]


def pack(part):
    """Builds what a run on a machine with a GPU needs into build/gpu-pack."""
    packages.setup(part)
    part.say("building, release")
    builds.configure(part, BUILD)
    builds.compile_in(part, BUILD.folder, TARGETS)
    part.run(["tests/gpu/make_pack", BUILD.folder, "build/gpu-pack"])
    return 0


def gpu(part, folder):
    """Runs all of it here, with a report in a folder of `folder`."""
    if part.captured(["nvidia-smi", "-L"]).returncode != 0:
        print("gpu: skipped: no NVIDIA GPU here (nvidia-smi finds none)", file=sys.stderr)
        return 77
    pack(part)
    names = part.output(["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"]).splitlines()
    if not names:
        raise Failed("nvidia-smi names no GPU")
    return part.call(["build/gpu-pack/run_suite", "--out", f"{folder}/gpu-{names[0].translate(str.maketrans(' /', '__'))}"])
