# SPDX-License-Identifier: MIT
"""Models that PyTorch and ExecuTorch export, with both of them as the judges."""

import filecmp
import glob
import os
import pathlib
import shutil
import sys

from dev import builds, packages
from dev.part import Failed

VENV = "build/live/venv"
PYTHON = f"{VENV}/bin/python"
CACHE = "build/live/cache"
GCC = builds.GCC.folder
CPU_PLUGIN = f"{GCC}/reference_backends/cpu_aoti/cpu_aoti.so"
RUN = f"{GCC}/examples/programs/tenon-run/tenon-run"
COMPILE = f"{GCC}/examples/programs/tenon-compile/tenon-compile"
CASES = f"{GCC}/tests/live/checks/aoti-cases"
EXECUTORCH_PYTHON = f"{GCC}/examples/python/tenon/executorch/libtenon_executorch.so"
INDUCTOR = {"TORCHINDUCTOR_CACHE_DIR": os.path.abspath("build/live/inductor")}
# Of the models, those that run beside other plugins as well.
BESIDE = ("small_mlp", "gpt2", "unet", "stateful")
ARCHITECTURES = "build/live/architecture_packages"
TORCHVISION = ("torchvision==0.29.2", "pillow==13.0.0")
ONNX, ONNXRUNTIME = "onnx==1.23.2", ("1.23.2", "1.32.0")
PIP = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]


def _site_packages(name):
    return (glob.glob(f"{VENV}/lib/python3*/site-packages/{name}") or [f"{VENV}/{name}"])[0]


def libtorch():
    """Its library in PyTorch's wheel."""
    return _site_packages("torch/lib/libtorch_cpu.so")


def is_installed():
    """Whether PyTorch and ExecuTorch are in the environment."""
    return pathlib.Path(VENV, "complete").exists()


def install(part):
    """PyTorch and ExecuTorch; False where they cannot be installed. By uv, which takes a third of pip's processor time for
    their 6 GB."""
    if is_installed():
        return True
    part.say(f"installing PyTorch and ExecuTorch into {VENV} (one to five minutes)")
    steps = (["python3", "-m", "venv", VENV], [PYTHON, *PIP, "uv==0.13.9"],
             [f"{VENV}/bin/uv", "pip", "install", "--quiet", "--python", PYTHON, "torch==2.15.0", "executorch==1.5.1"])
    if any(part.call(step) != 0 for step in steps):
        return False
    pathlib.Path(VENV, "complete").touch()
    return True


def _ready(part):
    """Skips with a line where PyPI cannot be reached; PyTorch is nothing that Tenon needs."""
    part.variables.update(INDUCTOR)
    if install(part):
        return True
    part.skip("live: skipped: PyTorch and ExecuTorch cannot be installed here")
    return False


def _export(part, words):
    part.check("live: real models are exported",
               [PYTHON, "tests/live/exporters/export_models.py", "--cache", CACHE, *words])


def _cases(*words, folders=None):
    """Runs each exported case in one process, with what else the words ask for."""
    return [CASES, "--plugin", CPU_PLUGIN, *words, *(sorted(glob.glob(f"{CACHE}/*/")) if folders is None else folders)]


def _exported_models(part):
    part.check("live: they run right without libtorch", _cases("--forbid", "libtorch", "--forbid", "libc10"))
    another = "build/live/another.so"
    shutil.copy(CPU_PLUGIN, another)
    part.check("live: and with libtorch loaded first, and another plugin",
               _cases("--preload", libtorch(), "--beside", another))
    executorch, torch = _site_packages("executorch"), _site_packages("torch")
    part.check("live: these packages have the facts that this project relies on",
               ["python3", "tests/live/upstream/drift.py", executorch, torch])
    part.check("live: the ExecuTorch delegate in the pages compiles",
               ["g++", "-std=c++20", "-fsyntax-only", "-Wall", "-Wextra", "-Werror", "-DC10_USING_CUSTOM_GENERATED_MACROS",
                "-isystem", f"{executorch}/include",
                "-isystem", f"{executorch}/include/executorch/runtime/core/portable_type/c10",
                "docs/snippets/executorch_delegate.cpp"])
    few = [f"{CACHE}/{name}/" for name in BESIDE if os.path.isdir(f"{CACHE}/{name}")]
    if few:
        part.check("live: before, between and after opening the plugins for CUDA and Metal",
                   _cases("--preload", libtorch(), "--open", f"{GCC}/reference_backends/cuda_aoti/cuda_aoti.so",
                          "--open", f"{GCC}/tests/stand_ins/metal/metal_aoti_stand_in.so", folders=few))


def models(part, words=()):
    """--only MODEL...: these are exported, and all run that were."""
    _export(part, words)
    _exported_models(part)


def _four_ways(part):
    """torchvision has a folder of its own, so that the other checks see the same Python as ever."""
    folder = "build/live/torchvision"
    if not os.path.isdir(f"{folder}/torchvision"):
        part.run([PYTHON, *PIP, "--no-deps", "--target", folder, *TORCHVISION])
    part.check("live: the examples of a program in four ways give eager PyTorch's numbers",
               [PYTHON, "tests/live/applications/four_ways_examples.py", GCC],
               env={"PYTHONPATH": os.path.abspath(folder)})  # It runs the examples in their own folder.


def _onnxruntime(part):
    """The oldest and the newest ONNX Runtime that the bridge runs in, each in a folder of its own."""
    for version in ONNXRUNTIME:
        folder = f"build/live/onnxruntime-{version}"
        if not os.path.isdir(f"{folder}/onnxruntime"):
            part.run([PYTHON, *PIP, "--target", folder, f"onnxruntime=={version}", ONNX])
        part.check(f"live: plugins run in sessions of stock ONNX Runtime {version}",
                   [PYTHON, "tests/live/checks/onnxruntime_sessions.py", GCC, "."],
                   env={"PYTHONPATH": os.path.abspath(folder), "OMP_NUM_THREADS": "1"})
    part.check("live: one file of a plugin gives the same numbers in five hosts",
               [PYTHON, "tests/live/upstream/five_hosts.py", GCC], env={"PYTHONPATH": os.path.abspath(folder)})


def programs(part):
    """What compiles and packs models without AOTInductor's exporter for ExecuTorch."""
    part.check("live: exported models compile and give eager PyTorch's numbers, here and in the wheel",
               [PYTHON, "tests/live/checks/compiled_programs.py", COMPILE, RUN,
                f"{GCC}/examples/backends/graph_backend/graph_backend.so"])
    kernels = []
    executorch_kernels = f"{GCC}/examples/backends/executorch/executorch_kernels.so"
    linalg_kernels = f"{GCC}/examples/backends/linalg_kernels.so"
    if os.path.isfile(executorch_kernels):
        kernels += ["--executorch-kernels", executorch_kernels]
    if os.path.isfile(linalg_kernels):
        kernels += ["--linalg-kernels", linalg_kernels]
    part.check("live: what AOTInductor compiled is packed, and gives eager PyTorch's numbers",
               [PYTHON, "tests/live/checks/packed_models.py", COMPILE, RUN, CPU_PLUGIN,
                "--operators", f"{GCC}/tests/plugins/operators/operator_kernels.so", *kernels])
    if os.path.isfile(EXECUTORCH_PYTHON):
        part.check("live: plugins run in stock Python with the ExecuTorch wheel",
                   [PYTHON, "tests/live/upstream/executorch_python.py", GCC])
        part.check("live: plugins are backends of torch.compile, and give eager PyTorch's numbers",
                   [PYTHON, "tests/live/checks/torch_compile.py", GCC])
        part.check("live: weights that change between two calls of torch.compile are seen",
                   [PYTHON, "tests/live/checks/torch_weights.py", GCC])
        part.check("live: plugins compute eager PyTorch's results of special values",
                   [PYTHON, "tests/live/upstream/special_values.py", GCC])
        part.check("live: tenon.compile makes the programs of tenon-compile",
                   [PYTHON, "tests/live/checks/tenon_compile.py", GCC])
        part.check("live: models compile by AOTInductor from Python, and give eager PyTorch's numbers",
                   [PYTHON, "tests/live/checks/aoti_compile.py", GCC])
        part.check("live: generate() of transformers gives eager PyTorch's tokens",
                   [PYTHON, "tests/live/checks/generate_text.py", GCC],
                   env={"PYTHONPATH": os.path.abspath(ARCHITECTURES)})  # Skipped where no transformers is there.
        part.check("live: the chat has eager PyTorch's tokens, in C++ and in Python",
                   [PYTHON, "tests/live/applications/chat_tokens.py", GCC])
        _four_ways(part)
        _onnxruntime(part)
    else:
        part.skip("live: skipped: built without the Python package and ExecuTorch's wheel"
                  " (run .ci/fetch-python-build and .ci/fetch-executorch-wheel)")


def cuda(part):
    """Programs for CUDA: functions that their libraries ask for, and their numbers, without a GPU."""
    toolkit = os.environ.get("CUDA_HOME", "/usr/local/cuda")
    if not os.path.isfile(f"{toolkit}/include/cuda_runtime_api.h"):
        part.skip(f"live: skipped: programs for CUDA need the headers of CUDA 13 in {toolkit}")
        return
    out = "build/live/cuda"
    part.check("live: models for CUDA are exported",
               [PYTHON, "tests/live/exporters/export_cuda.py", "--out", out, "--toolkit", toolkit])
    fixtures = [path for device in ("cpu", "cuda", "metal")
                for path in sorted(glob.glob(f"tests/fixtures/{device}_*/model.pte"))]
    part.check("live: the plugins have each function that exported libraries ask for",
               ["python3", "tests/live/checks/shim_table.py", "--build", GCC, out,
                *([CACHE] if os.path.isdir(CACHE) else []), *fixtures])
    part.check("live: their kernels, run by Triton's interpreter, give eager PyTorch's numbers",
               [PYTHON, "tests/live/checks/replay_cuda.py", "--build", GCC, "--kernels", out,
                *sorted(glob.glob(f"{out}/*/")),
                *(f"tests/fixtures/cuda_{name}/" for name in ("embedding", "stateful", "two_methods"))])


def openvino(part):
    """The script says in a line why it leaves its work out where OpenVINO cannot be installed."""
    part.check("live: the OpenVINO plugin gives eager PyTorch's numbers", ["tests/live/checks/openvino.sh"])


def upstream(part):
    """Thousands of archives, programs and operators against PyTorch's and ExecuTorch's own readers, writers and kernels."""
    part.check("live: archives hold what PyTorch finds in them",
               [PYTHON, "tests/live/upstream/check_pt2.py", "--facts", f"{GCC}/tests/live/upstream/pt2-facts"])
    part.check("live: what Tenon writes is read and run by ExecuTorch's wheel",
               [PYTHON, "tests/live/upstream/written_programs.py", f"{GCC}/tests/live/upstream/write-programs"])
    part.check("live: kernels for operators that are left over are ExecuTorch's",
               [PYTHON, "tests/live/upstream/portable_operators.py"])
    part.check("live: operators that are read as functions give what those that change their inputs give",
               [PYTHON, "tests/live/upstream/in_place_operators.py"])
    part.check("live: programs without a delegate run in ExecuTorch's wheel",
               [PYTHON, "tests/live/upstream/left_over_operators.py", COMPILE])


def executorch(part):
    """In ExecuTorch's exporter and runtime."""
    if os.path.isfile(EXECUTORCH_PYTHON):
        part.check("live: plugins compile in ExecuTorch's exporter as in tenon-compile",
                   [PYTHON, "tests/live/upstream/executorch_lowering.py", GCC])
        part.check("live: ExecuTorch's own tests of the exporter pass with plugins",
                   [PYTHON, "tests/live/upstream/upstream_tests.py", GCC])
    program = f"{GCC}/tests/live/upstream/beside-executorch"
    if not os.access(program, os.X_OK):
        part.skip("live: skipped: built without the ExecuTorch wheel (run .ci/fetch-executorch-wheel)")
        return
    cache, plugins = "build/live/xnnpack", f"{GCC}/examples/backends/executorch"
    part.check("live: models for XNNPACK are exported",
               [PYTHON, "tests/live/exporters/export_xnnpack.py", "--cache", cache])
    part.check("live: they give the bits of the stock runtime",
               [program, "--plugin", f"{plugins}/xnnpack.so", "--plugin", f"{plugins}/executorch_kernels.so",
                *sorted(glob.glob(f"{cache}/*/"))])


PARTS = {"models": models, "programs": programs, "cuda": cuda, "openvino": openvino, "upstream": upstream,
         "executorch": executorch}


def operators(part, words):
    """ExecuTorch's suite of operators, which has totals of its own."""
    if not install(part):
        raise Failed("live: PyTorch and ExecuTorch cannot be installed here")
    # The suite marks its tests with pytest.
    if part.captured([PYTHON, "-c", "import pytest"]).returncode != 0:
        part.run([PYTHON, *PIP, "pytest==9.2.0"])
    part.run([PYTHON, "tests/live/checks/operator_suite.py", "--cache", "build/live/operators", "--build", GCC, *words],
             env=INDUCTOR)


def _architectures(part, build, words):
    """The packages of the architectures have a folder of their own, so that the other checks see the same Python as
    ever."""
    if not install(part):
        raise Failed("live: PyTorch and ExecuTorch cannot be installed here")
    folder, wanted = ARCHITECTURES, "tests/live/models/architecture_packages.txt"
    complete = f"{folder}/complete.txt"
    if not os.path.exists(complete) or not filecmp.cmp(wanted, complete, shallow=False):
        shutil.rmtree(folder, ignore_errors=True)
        part.run([PYTHON, *PIP, "--no-deps", "--target", folder, "-r", wanted])
        shutil.copy(wanted, complete)
    part.run([PYTHON, "tests/live/checks/architectures.py", "--cache", "build/live/architectures",
              "--build", build.folder, *words], env={**INDUCTOR, "PYTHONPATH": folder})


def live(part, words):
    """The parts, or the one of the words; or operators, or architectures, which have totals of their own."""
    parts = list(PARTS)
    if words[:1] == ["--part"]:
        name = (words[1:2] or [""])[0]
        if name not in PARTS:
            print(f"dev: live: expected one of {' '.join(PARTS)}, found '{name}'", file=sys.stderr)
            raise SystemExit(2)
        parts, words = [name], words[2:]
    packages.setup(part)
    packages.from_pypi(part)
    builds.configure(part, builds.GCC)
    if words[:1] == ["--operators"]:
        builds.compile_in(part, GCC, ["examples/programs/tenon-run/tenon-run", "reference_backends/cpu_aoti/cpu_aoti.so"])
        operators(part, words[1:])
        return 0
    if words[:1] == ["--architectures"]:
        build = builds.O2 if "--speed" in words else builds.GCC
        builds.configure(part, build)
        builds.compile_in(part, build.folder, ["tests/live/checks/aoti-cases", "tests/live/benchmarks/bench-tenon",
                                               "reference_backends/cpu_aoti/cpu_aoti.so"])
        _architectures(part, build, words[1:])
        return 0
    builds.compile_in(part, GCC, ["all", *(f"tests/live/{name}" for name in (
        "benchmarks/bench-tenon", "upstream/pt2-facts", "upstream/write-programs", "upstream/upstream_demos.so")),
        "tests/gpu/cuda_kernels_on_cpu/libcuda-kernels-on-cpu.so"])
    if _ready(part):
        for name in parts:
            if name == "models":
                models(part, words)
            else:
                PARTS[name](part)
    return None
