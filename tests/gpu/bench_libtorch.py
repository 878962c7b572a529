# SPDX-License-Identifier: MIT
"""Times programs for CUDA: CudaBackend and libtorch's own loader, on the same compiled library.

Prints one JSON object. Each side runs in turns, three times; the fewest seconds of one run count.
libtorch's side needs torch with CUDA, and a library without weights of its own (the loader of a
bare library takes none), so programs with external data are timed on our side alone.
"""

import argparse
import json
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

ROUNDS, REPEAT = 3, 2000


def library_of(program: bytes) -> bytes:
    """The ELF library inside a program: from its magic to the end of its section headers."""
    begin = program.index(b"\x7fELF")
    offset = struct.unpack_from("<Q", program, begin + 0x28)[0]
    size, count = struct.unpack_from("<HH", program, begin + 0x3A)
    return program[begin : begin + offset + size * count]


def ours(args, folder: Path, case: dict) -> float:
    first = case["runs"][0]
    command = [args.tenon_run, str(folder / "model.pte"), "--plugin", args.plugin]
    command += ["--method", case.get("method", "forward")]
    for name in first["inputs"]:
        command += ["--input", str(folder / name)]
    for data in sorted(folder.glob("*.ptd")):
        command += ["--data", str(data)]
    command += ["--repeat", str(REPEAT), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)["timings"]["execute"]["min_ns"] / 1e9


def libtorch(folder: Path, case: dict) -> float:
    import time

    import numpy as np
    import torch

    with tempfile.NamedTemporaryFile(suffix=".so") as file:
        file.write(library_of((folder / "model.pte").read_bytes()))
        file.flush()
        runner = torch._C._aoti.AOTIModelContainerRunnerCuda(file.name, 1, "cuda", "")
        inputs = [torch.from_numpy(np.load(folder / name)) for name in case["runs"][0]["inputs"]]
        best = float("inf")
        for _ in range(REPEAT):
            begin = time.perf_counter()
            # The inputs and outputs of our side are in the host's memory, too.
            [output.cpu() for output in runner.run([value.cuda() for value in inputs])]
            best = min(best, time.perf_counter() - begin)
    return best


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tenon-run", required=True)
    parser.add_argument("--plugin", required=True)
    parser.add_argument("folders", nargs="+", type=Path)
    args = parser.parse_args()
    try:
        import torch

        rival = torch.cuda.is_available()
    except ImportError:
        rival = False
    if not rival:
        print("torch with CUDA is not installed: our side alone", file=sys.stderr)
    out = {}
    for folder in args.folders:
        case = json.loads((folder / "case.json").read_text())
        compare = rival and not any(folder.glob("*.ptd"))
        times = {"tenon": []} | ({"libtorch": []} if compare else {})
        for _ in range(ROUNDS):
            times["tenon"].append(ours(args, folder, case))
            if compare:
                times["libtorch"].append(libtorch(folder, case))
        best = {name: min(values) for name, values in times.items()}
        out[folder.name] = best | ({"ratio": best["tenon"] / best["libtorch"]} if compare else {})
    print(json.dumps(out, indent=2))


if __name__ == "__main__":
    main()
