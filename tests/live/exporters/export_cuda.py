# SPDX-License-Identifier: MIT
"""Exports small models to ExecuTorch programs for CudaBackend, on Linux without a GPU.

ExecuTorch's own CudaBackend and PyTorch's compiler do the work. They see an H100 through two stand-in libraries for the
CUDA runtime and the driver while this program runs (cuda_stubs.cpp): the kernels are compiled for sm_90 as they would
be there, and never launched. The module's outputs on the CPU are the expected outputs. The stand-in for the driver
(tests/stand_ins/cuda) shows which calls such a program makes; a GPU alone shows what it computes.

Programs are of generation 3, weights by name. What is different from ExecuTorch's own: libraries
take their weights from a blob as well (USE_MMAP_EXTERNAL), as they do in its low memory mode, so
that tests can pack the same library as generations 1 and 2; and they are compiled small.

Writes OUT/cuda_NAME/: model.pte, aoti_cuda_blob.ptd, METHOD_inK_J.npy and METHOD_outK_J.npy (run K,
tensor J; the runs of one instance in their order), case.json, and kernels/: the source of each Triton
kernel, for replay_cuda.py. Other methods, and runs as a CUDA graph, are cases in OUT/cuda_NAME_*/. A
model that these sources have made is left as it is. Needs torch 2.13 or 2.15 for CUDA 13,
executorch 1.5, g++ and the headers of CUDA 13; takes a quarter of a minute a model.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from importlib import util
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # tests/live: imports name its folders.
from exporters.library_options import add_level, write_small_compiler

HERE = Path(__file__).resolve().parent
# Triton looks these up by their names, so that no list of symbols has them.
DRIVER_FUNCTIONS = """
cuInit cuGetErrorName cuDeviceGetName cuDeviceTotalMem_v2 cuCtxSetCurrent cuCtxPushCurrent_v2
cuCtxPopCurrent_v2 cuCtxGetLimit cuCtxSetLimit cuCtxSynchronize cuFuncGetModule cuFuncSetAttribute
cuFuncSetCacheConfig cuLaunchKernel cuLaunchKernelEx cuLaunchCooperativeKernel cuLinkAddData_v2
cuLinkComplete cuLinkCreate_v2 cuMemcpyDtoH_v2 cuMemcpyHtoD_v2 cuMemcpyHtoDAsync_v2
cuModuleGetGlobal_v2 cuModuleLoadDataEx cuModuleUnload cuOccupancyMaxActiveClusters
cuOccupancyMaxActiveBlocksPerMultiprocessor cuPointerGetAttributes cuStreamSynchronize
cuTensorMapEncodeIm2col cuTensorMapEncodeTiled
""".split()


def names(command: list[str], prefixes: tuple[str, ...]) -> set[str]:
    """Symbols that `nm` prints, without their versions."""
    lines = subprocess.run(command, capture_output=True, text=True, check=False).stdout.splitlines()
    found = {line.split()[-1].split("@")[0] for line in lines if line and not line.endswith(":")}
    return {name for name in found if name.startswith(prefixes)}


def build_stubs(folder: Path, toolkit: Path, capability: int) -> None:
    """Makes the two libraries: what cuda_stubs.cpp has, and nothing for the rest. `capability` is 90 for 9.0."""
    spec = util.find_spec("torch")
    if spec is None or spec.origin is None:
        sys.exit("export_cuda: no torch; install torch and executorch from PyPI")
    libraries = [str(path) for path in (Path(spec.origin).parent / "lib").glob("*.so*")]
    asked = names(["nm", "-D", "--undefined-only", *libraries], ("cuda", "__cuda"))
    parts = (("libcudart.so.13", "EXPORT_CUDA_RUNTIME", asked),
             ("libcuda.so.1", "EXPORT_CUDA_DRIVER", set(DRIVER_FUNCTIONS)))
    for library, define, wanted in parts:
        part = folder / f"{library}.o"
        subprocess.run(["g++", "-std=c++20", "-O1", "-fPIC", "-c", str(HERE / "cuda_stubs.cpp"),
                        "-o", str(part), f"-D{define}", f"-DEXPORT_CUDA_CAPABILITY={capability}",
                        f"-I{toolkit}/include"], check=True)
        rest = sorted(wanted - names(["nm", "--defined-only", str(part)], ("cu", "__cuda")))
        source, version = folder / "rest.c", folder / "versions"
        source.write_text("".join(f"int {name}(void) {{ return 0; }}\n" for name in rest))
        version.write_text(f"{library} {{ global: *; }};\n")
        subprocess.run(["gcc", "-w", "-fno-builtin", "-shared", "-fPIC", str(source), str(part),
                        "-o", str(folder / library), f"-Wl,-soname,{library}", "-lstdc++",
                        *([f"-Wl,--version-script={version}"] if "cudart" in library else [])],
                       check=True)
    (folder / "libcuda.so").symlink_to("libcuda.so.1")


def start_again(arguments: list[str], toolkit: Path, capability: int = 90) -> int:
    """Runs this program with the stubs in the place of CUDA: they must be there before torch is."""
    with tempfile.TemporaryDirectory(prefix="tenon-export-cuda-") as name:
        folder = Path(name)
        build_stubs(folder, toolkit, capability)
        environment = os.environ | {
            "TENON_EXPORT_CUDA_STUBS": name,
            "LD_PRELOAD": f"{folder}/libcudart.so.13:{folder}/libcuda.so.1",
            "LD_LIBRARY_PATH": name,
            "TRITON_LIBCUDA_PATH": name,
            "TRITON_CACHE_DIR": f"{name}/triton",
            "TRITON_DISABLE_LINE_INFO": "1",
            "TORCHINDUCTOR_CACHE_DIR": f"{name}/inductor",
            "TORCHINDUCTOR_COMPILE_THREADS": "1",
            "OMP_NUM_THREADS": "1",
            "CUDA_HOME": str(toolkit),
            "CXX": str(write_small_compiler(folder)),
        }
        command = [sys.executable, str(HERE / "export_cuda_models.py"), *arguments]
        return subprocess.run(command, env=environment, check=False).returncode


def main() -> int:
    """Exports what was asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", metavar="NAME", default=[])
    parser.add_argument("--out", type=Path, metavar="DIR", required=True)
    parser.add_argument("--toolkit", type=Path, default=Path("/usr/local/cuda"))
    add_level(parser, "x86-64")
    options = parser.parse_args()
    return start_again([str(options.out), options.level, *options.only], options.toolkit)


if __name__ == "__main__":
    sys.exit(main())
