# SPDX-License-Identifier: MIT
"""Times real models: CpuAotiBackend and libtorch's own loader, on the same compiled model.

Each side runs in a process of its own, on one pinned thread, in turns; the fewest nanoseconds of
all rounds count. With --threads the same with each of several numbers of threads, on as many
processors. Cold start is the time of a whole process up to its first output, and memory what
such a process held at most: tenon-run, a C++ program with libtorch's loader (bench_libtorch.cpp) and
Python with torch. Needs cases exported with
--package (export_models.py), torch, and a C++ compiler for the side of libtorch.
"""

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

try:
    import numpy as np
    import torch
except ImportError as missing:
    sys.exit(f"bench_aoti: {missing}; run it with the Python of `./dev live`")

HERE = Path(__file__).resolve().parent
TORCH = Path(torch.__file__).parent

PYTHON_RIVAL = """
import ctypes, sys, torch
ctypes.CDLL(sys.argv[1], ctypes.RTLD_GLOBAL)
torch.set_num_threads(1)
model = torch._inductor.aoti_load_package(sys.argv[2])
inputs = [torch.load(name) for name in sys.argv[3:]]
with torch.no_grad():
    model(*inputs)
"""


# Runs a command and prints its seconds and its largest resident memory in kilobytes. A process of
# its own, because a child is charged for the memory that its parent had when it was started; so
# what is less than this small Python has, 9 MiB, does not show.
WATCH = """
import os, sys, time
before = time.monotonic()
null = os.open(os.devnull, os.O_RDWR)
actions = [(os.POSIX_SPAWN_DUP2, null, 1), (os.POSIX_SPAWN_DUP2, null, 2)]
pid = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ, file_actions=actions)
_, status, usage = os.wait4(pid, 0)
print(time.monotonic() - before, usage.ru_maxrss, status)
"""


def build_rival(folder: Path) -> Path:
    """Compiles bench_libtorch.cpp against the libtorch of this Python."""
    source, program = HERE / "bench_libtorch.cpp", folder / "bench-libtorch"
    newest = max(path.stat().st_mtime for path in (source, HERE / "best_run.hpp"))
    if program.exists() and program.stat().st_mtime > newest:
        return program
    print("building bench-libtorch", file=sys.stderr)
    include, lib = TORCH / "include", TORCH / "lib"
    subprocess.run(
        ["g++", "-std=c++20", "-O2", "-w", f"-I{include}"]
        + [f"-I{include}/torch/csrc/api/include", str(source), f"-L{lib}"]
        # Not libtorch.so, which brings in the libraries for CUDA, and three times the memory.
        + ["-ltorch_cpu", "-lc10", f"-Wl,-rpath,{lib}", "-o", str(program)],
        check=True,
    )
    return program


def input_files(case: Path) -> list[str]:
    """The first inputs of a case as files of torch.save, made when they are not there."""
    description = json.loads((case / "case.json").read_text(encoding="utf-8"))
    out = []
    about = description["made_by"]
    for i, name in enumerate(description["runs"][0]["inputs"]):
        path = case / f"bench_in{i}.pt"
        tensor = torch.from_numpy(np.load(case / name))
        if about["dtypes"][i] == "bfloat16":
            tensor = tensor.view(torch.bfloat16)
        order = about["dim_orders"][i]
        if order == [0, 2, 3, 1]:
            tensor = tensor.to(memory_format=torch.channels_last)
        torch.save(tensor, path)
        out.append(str(path))
    return out


def pin(command: list[str], threads: int) -> list[str]:
    """A command that runs another one on the last processors, one for each thread where there are as many."""
    count = os.cpu_count() or 1
    return ["taskset", "-c", f"{max(count - threads, 0)}-{count - 1}", *command]


def pinned(command: list[str], threads: int) -> str:
    """Output of a command on pinned processors."""
    run = subprocess.run(pin(command, threads), capture_output=True, text=True)
    if run.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}: {run.stderr.strip()}")
    return run.stdout


def whole_process(command: list[str]) -> tuple[float, int]:
    """Seconds and the most kilobytes in memory of a command from start to end."""
    watch = [sys.executable, "-I", "-S", "-c", WATCH, *command]
    seconds, kilobytes, status = subprocess.run(
        watch, capture_output=True, text=True, check=True
    ).stdout.split()
    if status != "0":
        raise RuntimeError(f"{' '.join(command)}: wait status {status}")
    return float(seconds), int(kilobytes)


def speed(arguments: argparse.Namespace, cases: list[Path]) -> None:
    rival = str(build_rival(arguments.cache))
    clock = "processor" if arguments.processor_time else "clock"
    print("| model | threads | libtorch | Tenon | ratio |\n|---|---|---|---|---|")
    for case in cases:
        inputs = input_files(case)
        seconds = str(arguments.seconds)
        for threads in arguments.threads:
            count = str(threads)
            left = [rival, f"{case}/model.pt2", seconds, count, clock, *inputs]
            right = [arguments.bench_tenon, arguments.plugin, str(case), seconds, "1", count, clock]
            theirs, ours = float("inf"), float("inf")
            for _ in range(arguments.rounds):
                theirs = min(theirs, float(pinned(left, threads)))
                ours = min(ours, float(pinned(right, threads)))
            print(
                f"| {case.name} | {threads} | {theirs / 1e3:.2f} us | {ours / 1e3:.2f} us "
                f"| {ours / theirs:.2f} |"
            )
            sys.stdout.flush()


def cold(arguments: argparse.Namespace, cases: list[Path]) -> None:
    rival = str(build_rival(arguments.cache))
    columns = "Python | libtorch in C++ | tenon-run | to libtorch"
    print(f"\n| model | {columns} | {columns} |\n|---{9 * '|---'}|")
    for case in cases:
        inputs = input_files(case)
        python = [sys.executable, "-c", PYTHON_RIVAL, str(TORCH / "lib/libtorch_cpu.so")]
        python += [f"{case}/model.pt2", *inputs]
        # Without time to spend it loads the package, and stops after the first run or the first 20 us.
        cpp = [rival, f"{case}/model.pt2", "0", "1", "clock", *inputs]
        tenon = [arguments.tenon_run, f"{case}/model.pte", "--plugin", arguments.plugin]
        description = json.loads((case / "case.json").read_text(encoding="utf-8"))
        for name in description.get("data", []):
            tenon += ["--data", f"{case}/{name}"]
        for name in description["runs"][0]["inputs"]:
            tenon += ["--input", f"{case}/{name}"]
        runs = [[whole_process(each) for each in (python, cpp, tenon)] for _ in range(arguments.rounds)]
        t, m = ([min(run[side][what] for run in runs) for side in range(3)] for what in range(2))
        print(
            f"| {case.name} | {t[0] * 1e3:.0f} ms | {t[1] * 1e3:.0f} ms | {t[2] * 1e3:.1f} ms "
            f"| 1/{t[1] / t[2]:.0f} | {m[0] / 1024:.0f} MiB | {m[1] / 1024:.0f} MiB "
            f"| {m[2] / 1024:.1f} MiB | 1/{m[1] / m[2]:.1f} |"
        )
        sys.stdout.flush()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--cache", type=Path, required=True, help="folder of exported cases")
    parser.add_argument("--plugin", required=True, help="cpu_aoti.so")
    parser.add_argument("--bench-tenon", required=True, help="the program bench-tenon")
    parser.add_argument("--tenon-run", required=True, help="the program tenon-run")
    parser.add_argument("--only", action="append", default=[], help="a case; may be repeated")
    parser.add_argument("--rounds", type=int, default=3, help="turns of each side (default 3)")
    parser.add_argument("--seconds", type=float, default=1.0, help="length of a turn (default 1)")
    parser.add_argument("--threads", type=int, nargs="+", default=[1], help="numbers of threads (default 1)")
    parser.add_argument("--processor-time", action="store_true",
                        help="time on a processor in place of the clock's, where other work disturbs")
    parser.add_argument("--no-cold", action="store_true", help="leave out cold start and memory")
    parser.add_argument("--no-speed", action="store_true", help="only cold start and memory")
    arguments = parser.parse_args()
    cases = sorted(path.parent for path in arguments.cache.glob("*/model.pt2"))
    cases = [case for case in cases if not arguments.only or case.name in arguments.only]
    if not cases:
        sys.exit(f"bench_aoti: no case with a model.pt2 in {arguments.cache}")
    if not arguments.no_speed:
        speed(arguments, cases)
    if not arguments.no_cold:
        cold(arguments, cases)


if __name__ == "__main__":
    main()
