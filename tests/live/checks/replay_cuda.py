# SPDX-License-Identifier: MIT
"""Checks the numbers of CUDA programs without a GPU.

CudaBackend runs the cases that export_cuda.py wrote, with the stand-in for the driver (tests/stand_ins/cuda). The
stand-in sends each launch here (replayer.hpp): kernel, grid, parameters and memory. Triton's interpreter runs the
source that Inductor wrote for the kernel, and the memory goes back, so that each launch reads what those before it
wrote. Outputs are compared with eager PyTorch's. So what is checked is all that decides about a result but the
compiled code and the device: which kernels run, in which order, on which memory, with which grids and parameters, that
they stay within their blocks, and that sizes and alignments are those for which they were compiled.

Prints a line for each program; exits with 1 when a case fails, a launch cannot be computed, or a kernel is not used.
"""

import argparse
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import triton_kernels  # Before anything that imports Triton.
import launch_server
import numpy as np
from launch_server import Launch


class Replayer:
    """Computes the launches of one program."""

    def __init__(self, program: Path, sources: Path, own: triton_kernels.OwnKernels) -> None:
        self.code = program.read_bytes()
        self.folder = sources
        self.own = own
        self.kernels: dict[str, triton_kernels.InductorKernel] = {}
        self.num_launches = 0
        self.faults: list[str] = []
        self.used: set[str] = set()
        self.recorded: list[dict[str, Any]] = []

    def unused(self) -> list[str]:
        """Kernels of the program that were not launched."""
        return sorted({path.stem for path in self.folder.glob("*.json")} - self.used)

    def kernel(self, name: str) -> triton_kernels.InductorKernel | triton_kernels.OwnKernels:
        """The kernel of that name."""
        if name.startswith("tenon_"):
            return self.own
        if name not in self.kernels:
            source = self.folder / f"{name}.py"
            if source.with_suffix(".cubin").read_bytes() not in self.code:
                raise ValueError("the program has another kernel than the one that this source was compiled to")
            self.kernels[name] = triton_kernels.InductorKernel(source)
        return self.kernels[name]

    def compute(self, launch: Launch) -> None:
        """Runs one launch."""
        self.num_launches += 1
        self.used.add(launch.kernel)
        before = {address: bytes(block) for address, block in launch.blocks.items()}
        memory = triton_kernels.Memory(launch)
        try:
            self.kernel(launch.kernel).run(memory)
        except Exception as error:
            self.faults.append(f"launch {self.num_launches}, {launch.kernel}: {type(error).__name__}: {error}")
            raise
        self.recorded.append(launch.facts() | {
            "reads": [runs(memory.is_read[address], before[address]) for address in launch.block_order()],
            "writes": [runs(memory.is_written[address], launch.blocks[address]) for address in launch.block_order()]})


def runs(mask: np.ndarray, block: bytes | bytearray) -> list[list[Any]]:
    """The bytes of a block that are in the mask, as an offset and hexadecimal text for each run."""
    edges = np.flatnonzero(np.diff(mask.astype(np.int8), prepend=0, append=0))
    return [[int(begin), block[begin:end].hex()] for begin, end in zip(edges[::2], edges[1::2])]


def run_cases(folder: Path, build: Path, replayer: Replayer) -> subprocess.CompletedProcess[str]:
    """Runs the cases of one program."""
    # A second method, or another way to run, has a folder beside the program's.
    cases = [folder, *sorted(folder.parent.glob(f"{folder.name}_*/"))]
    cases = [case for case in cases if case == folder or not (case / "model.pte").exists()]
    return launch_server.run(
        [str(build / "tests/live/checks/aoti-cases"), "--plugin",
         str(build / "reference_backends/cuda_aoti/cuda_aoti.so"), *(str(case) for case in cases)],
        build / "tests/stand_ins/cuda", replayer.compute)


def main() -> int:
    """Runs all programs in a folder."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, metavar="DIR", required=True, help="a build folder of Tenon")
    parser.add_argument("--verbose", action="store_true", help="print the line of each case")
    parser.add_argument("--kernels", type=Path, metavar="DIR",
                        help="for programs without a folder 'kernels': an export that has the same compiled kernels")
    parser.add_argument("--record", type=Path, metavar="DIR", help="write the launches there, for play_launches.py")
    parser.add_argument("programs", nargs="+", type=Path, metavar="FOLDER", help="written by export_cuda.py; others are left out")
    options = parser.parse_args()
    own = triton_kernels.OwnKernels(options.build / "tests/gpu/cuda_kernels_on_cpu/libcuda-kernels-on-cpu.so")
    num_launches = num_programs = num_failed = 0
    largest = 0.0
    print(f"{'program':<30} kernels launches outputs largest difference")
    for folder in options.programs:
        sources = folder / "kernels"
        if not (folder / "model.pte").exists():  # A case of the program in another folder.
            continue
        if not sources.exists() and options.kernels:
            sources = options.kernels / folder.name / "kernels"
        replayer = Replayer(folder / "model.pte", sources, own)
        done = run_cases(folder, options.build, replayer)
        lines = re.findall(r"^ok +\S+ +(\d+) outputs, largest difference (\S+)$", done.stdout, flags=re.MULTILINE)
        difference = max((float(value) for _, value in lines), default=float("nan"))
        unused = replayer.unused() if sources.parent == folder else []
        failed = done.returncode != 0 or replayer.faults or unused or not lines
        print(f"{f'{folder.parent.name}/{folder.name}':<30} {len(replayer.used):>7} {replayer.num_launches:>8} "
              f"{sum(int(count) for count, _ in lines):>7} {difference:.3g}{' FAILED' if failed else ''}")
        for fault in replayer.faults[:5]:
            print(f"  {fault}")
        for name in unused:
            print(f"  {name}: not launched")
        if failed or options.verbose:
            print(done.stdout + done.stderr)
        if options.record:
            options.record.mkdir(parents=True, exist_ok=True)
            lines = [json.dumps(each) for each in replayer.recorded]
            (options.record / f"{folder.name}.json").write_text("[\n" + ",\n".join(lines) + "\n]\n")
        num_programs, num_failed = num_programs + 1, num_failed + bool(failed)
        num_launches += replayer.num_launches
        largest = max(largest, difference)
        sys.stdout.flush()
    print(f"{num_programs} programs, {num_launches} launches, largest difference {largest:.3g}, {num_failed} failed")
    return 1 if num_failed or not num_programs else 0


if __name__ == "__main__":
    sys.exit(main())
