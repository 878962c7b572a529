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
import os
import re
import socket
import struct
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any

import triton_kernels  # Before anything that imports Triton.
import numpy as np


class Replayer:
    """Computes the launches of one program, for one process."""

    def __init__(self, folder: Path, own: triton_kernels.OwnKernels) -> None:
        self.folder = folder
        self.own = own
        self.kernels: dict[str, triton_kernels.InductorKernel] = {}
        self.num_launches = 0
        self.faults: list[str] = []
        self.used: set[str] = set()

    def sources(self) -> set[str]:
        """Names of the kernels that the program was exported with."""
        return {path.stem for path in (self.folder / "kernels").glob("*.json")}

    def compute(self, launch: dict[str, Any], memory: triton_kernels.Memory) -> None:
        """Runs one launch."""
        name = launch["kernel"]
        self.num_launches += 1
        self.used.add(name)
        if name.startswith("tenon_"):
            self.own.run(launch, memory)
            return
        if name not in self.kernels:
            self.kernels[name] = triton_kernels.InductorKernel(self.folder / "kernels" / f"{name}.py")
        self.kernels[name].run(launch, memory)

    def serve(self, connection: socket.socket) -> None:
        """Answers requests until the other side ends; the format is replayer.hpp's."""
        with connection, connection.makefile("rwb") as stream:
            while size := stream.read(4):
                launch = json.loads(stream.read(struct.unpack("<I", size)[0]))
                launch["parameters"] = [bytes.fromhex(each) for each in launch["parameters"]]
                blocks = {address: np.frombuffer(bytearray(stream.read(nbytes)), np.uint8)
                          for address, nbytes in launch["blocks"]}
                reason = ""
                try:
                    self.compute(launch, triton_kernels.Memory(blocks))
                except Exception as error:  # What a kernel may raise is not known.
                    reason = f"{type(error).__name__}: {error}"
                    self.faults.append(f"launch {self.num_launches}, {launch['kernel']}: {reason}")
                stream.write(struct.pack("<I", len(reason.encode())) + reason.encode())
                if not reason:
                    for address, _ in launch["blocks"]:
                        stream.write(blocks[address].tobytes())
                stream.flush()


def run_cases(folder: Path, build: Path, replayer: Replayer) -> subprocess.CompletedProcess[str]:
    """Runs the cases of one program, with the replayer in a thread."""
    # A second method, or another way to run, has a folder beside the program's.
    cases = [folder, *sorted(folder.parent.glob(f"{folder.name}_*/"))]
    cases = [case for case in cases if case == folder or not (case / "kernels").exists()]
    with tempfile.TemporaryDirectory(prefix="tenon-replay-") as name, socket.socket(socket.AF_UNIX) as listener:
        path = f"{name}/socket"
        listener.bind(path)
        listener.listen()

        def serve() -> None:
            while True:
                try:
                    connection, _ = listener.accept()
                except OSError:  # The listener was shut down.
                    return
                replayer.serve(connection)

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            return subprocess.run(
                [str(build / "tests/live/aoti-cases"), "--plugin",
                 str(build / "reference_backends/cuda_aoti/cuda_aoti.so"), *(str(case) for case in cases)],
                env=os.environ | {"TENON_STAND_IN_CUDA_REPLAYER": path,
                                  "LD_LIBRARY_PATH": str(build / "tests/stand_ins/cuda")},
                capture_output=True, text=True, check=False)
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            thread.join()


def main() -> int:
    """Runs all programs in a folder."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, metavar="DIR", required=True, help="a build folder of Tenon")
    parser.add_argument("--verbose", action="store_true", help="print the line of each case")
    parser.add_argument("programs", nargs="+", type=Path, metavar="FOLDER", help="written by export_cuda.py")
    options = parser.parse_args()
    own = triton_kernels.OwnKernels(options.build / "tests/gpu/cuda_kernels_on_cpu/libcuda-kernels-on-cpu.so")
    num_launches = num_programs = num_failed = 0
    largest = 0.0
    print(f"{'program':<20} kernels launches outputs largest difference")
    for folder in options.programs:
        if not (folder / "kernels").exists():
            continue
        replayer = Replayer(folder, own)
        done = run_cases(folder, options.build, replayer)
        lines = re.findall(r"^ok +\S+ +(\d+) outputs, largest difference (\S+)$", done.stdout, flags=re.MULTILINE)
        difference = max((float(value) for _, value in lines), default=float("nan"))
        unused = replayer.sources() - replayer.used
        failed = done.returncode != 0 or replayer.faults or unused or not lines
        print(f"{folder.name:<20} {len(replayer.used):>7} {replayer.num_launches:>8} "
              f"{sum(int(count) for count, _ in lines):>7} {difference:.3g}{' FAILED' if failed else ''}")
        for fault in replayer.faults[:5]:
            print(f"  {fault}")
        for name in sorted(unused):
            print(f"  {name}: not launched")
        if failed or options.verbose:
            print(done.stdout + done.stderr)
        num_programs, num_failed = num_programs + 1, num_failed + bool(failed)
        num_launches += replayer.num_launches
        largest = max(largest, difference)
        sys.stdout.flush()
    print(f"{num_programs} programs, {num_launches} launches, largest difference {largest:.3g}, {num_failed} failed")
    return 1 if num_failed or not num_programs else 0


if __name__ == "__main__":
    sys.exit(main())
