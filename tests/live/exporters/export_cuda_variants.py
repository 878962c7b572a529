# SPDX-License-Identifier: MIT
"""Exports a program with a library for each of several CUDA devices, on Linux without a GPU.

The exporter is ExecuTorch's after pytorch/executorch#22198 (executorch 1.5.1 is older): each device has an export of
its own, by export_cuda.py with a stand-in for that device, and ExecuTorch's backends/cuda/merge_ptes.py makes one
program of them, over one file of weights. --exporter is the folder that holds its `executorch` package, in front of an
installed one.

Writes OUT/cuda_variants/: model.pte with libraries for sm_80, for sm_90, and with PTX for compute_75 for all others;
aoti_cuda_blob.ptd, forward_inK_J.npy, forward_outK_J.npy and case.json. Needs what export_cuda.py needs.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # tests/live: imports name its folders.
from exporters import export_cuda

# Compute capabilities, and whether the kernels are kept as PTX as well. The last is for fallback.
VARIANTS = ((80, "OFF"), (90, "OFF"), (75, "ON"))


def main() -> int:
    """Exports each variant and merges them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, metavar="DIR", required=True)
    parser.add_argument("--exporter", type=Path, metavar="DIR")
    parser.add_argument("--toolkit", type=Path, default=Path("/usr/local/cuda"))
    options = parser.parse_args()
    if options.exporter:
        os.environ["PYTHONPATH"] = str(options.exporter.resolve())
    out = options.out / "cuda_variants"
    with tempfile.TemporaryDirectory(prefix="tenon-export-variants-") as name:
        made = []
        for capability, ptx in VARIANTS:
            folder = Path(name) / str(capability)
            os.environ["TENON_EXPORT_CUDA_PTX"] = ptx
            if export_cuda.start_again([str(folder), "x86-64", "variants"], options.toolkit, capability):
                return 1
            made.append(folder / "cuda_variants")
        shutil.copytree(made[0], out, dirs_exist_ok=True, ignore=shutil.ignore_patterns("kernels"))
        merge = [sys.executable, "-m", "executorch.backends.cuda.merge_ptes"]
        for folder in made[:-1]:
            merge += ["--input-pte", str(folder / "model.pte"), "--input-ptd", str(folder / "aoti_cuda_blob.ptd")]
        merge += ["--fallback-pte", str(made[-1] / "model.pte"), "--fallback-ptd", str(made[-1] / "aoti_cuda_blob.ptd")]
        merge += ["--output-pte", str(out / "model.pte"), "--output-ptd", str(out / "aoti_cuda_blob.ptd")]
        return subprocess.run(merge, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
