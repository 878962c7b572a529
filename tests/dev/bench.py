# SPDX-License-Identifier: MIT
"""What is timed: against the stock ExecuTorch wheel, and against libtorch."""

import glob
import os

from dev import builds, live, packages
from dev.part import Failed


def bench(part, words):
    """The benchmarks; --compare reads two runs, --chart draws one."""
    if words[:1] == ["--compare"]:
        return part.call(["python3", "tests/benchmarks/compare/compare.py", *words[1:]])
    if words[:1] == ["--chart"]:
        return part.call(["python3", "-B", "docs/site/pictures/against_stock.py", *words[1:]])
    packages.setup(part)
    # Without the wheel the program says in one line that it skips, and exits with 77.
    wheel = part.captured([".ci/fetch-executorch-wheel"], stderr=None)
    build = builds.Build("bench", ("-Dbuildtype=release", f"-Dexecutorch_wheel={wheel.stdout.strip()}"))
    builds.configure(part, build)
    builds.compile_in(part, build.folder, ["benchmark-programs"])
    # The larger programs for XNNPACK, where `live` has exported them.
    cases = [word for folder in sorted(glob.glob("build/live/xnnpack/*/")) if os.path.isfile(f"{folder}model.pte")
             for word in ("--case", folder)]
    return part.call([f"{build.folder}/tests/benchmarks/tenon-bench", *cases, *words])


def _operators(part, words):
    """Single operators in libtorch and in the plugin."""
    builds.configure(part, builds.O2)
    builds.compile_in(part, builds.O2.folder, ["tests/live/benchmarks/bench-operators"])
    load = " ".join(f"{each:.2f}" for each in os.getloadavg())
    part.print(f"load of the machine: {load}, {len(os.sched_getaffinity(0))} processors")
    program = f"{builds.O2.folder}/tests/live/benchmarks/bench-operators"
    return part.call([program, "--libtorch", live.libtorch(), *words],
                     env={"OMP_NUM_THREADS": "1"})


def _models(part, words):
    """Models that are exported with a package for libtorch's loader; `live` checks what they compute."""
    plugin, run = "reference_backends/cpu_aoti/cpu_aoti.so", "examples/programs/tenon-run/tenon-run"
    timed = "tests/live/benchmarks/bench-tenon"
    program = [live.PYTHON, "tests/live/benchmarks/bench_aoti.py", "--cache", live.CACHE,
               "--plugin", f"{builds.O2.folder}/{plugin}",
               "--bench-tenon", f"{builds.O2.folder}/{timed}", "--tenon-run", f"{builds.O2.folder}/{run}"]
    if "-h" in words or "--help" in words:
        return part.call([*program, "--help"])
    only = [word for before, name in zip(words, words[1:]) if before == "--only" for word in ("--only", name)]
    builds.configure(part, builds.O2)
    builds.compile_in(part, builds.O2.folder, [plugin, timed, run])
    part.run([live.PYTHON, "tests/live/exporters/export_models.py", "--cache", live.CACHE, "--package", *only],
             env=live.INDUCTOR)
    return part.call([*program, *words])


def bench_aoti(part, words):
    """Against libtorch."""
    packages.setup(part)
    if not live.install(part):
        raise Failed("bench-aoti: PyTorch cannot be installed here")
    return _operators(part, words[1:]) if words[:1] == ["--operators"] else _models(part, words)
