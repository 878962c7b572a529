# SPDX-License-Identifier: MIT
"""Exports the models of models/cases.py to ExecuTorch programs for the CPU, with expected outputs.

Each program has one delegate, `CpuAotiBackend`: AOTInductor's library and weights as ExecuTorch's own AotiBackend
stores them. The expected outputs come from eager PyTorch. Takes 10 to 60 seconds a model and needs torch 2.15 and
executorch 1.5 (the pip packages) and a C++ compiler.

Writes CACHE/NAME/, a case as docs/tools/cases.md describes it: model.pte, aoti_cpu_blob.ptd (external weights),
inK_J.npy and outK_J.npy (input set K, tensor J), case.json, and with --package model.pt2. With --kit the models come
from kit_models.py, compiled small: the conformance kit's cases; with --arm64 these and a convolution, for 64-bit ARM
(for_arm64.py): tests/fixtures/arm64.
"""

import argparse
import copy
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import traceback
from pathlib import Path
from typing import Any

LIVE = Path(__file__).resolve().parents[1]
SOURCES = [*(f"exporters/{name}.py" for name in ("export_models", "case_folder", "for_arm64", "library_options")),
           *(f"models/{name}.py" for name in ("cases", "kit_models", "layers", "vision"))]
METHOD = "forward"

# torch reads this when it is imported.
os.environ.setdefault("TORCHINDUCTOR_CACHE_DIR", "/tmp/tenon-inductor")

try:
    import torch
    from executorch.backends.aoti.aoti_backend import AotiBackend
    from executorch.backends.aoti.aoti_partitioner import AotiPartitioner
    from executorch.exir import (
        EdgeCompileConfig,
        ExecutorchBackendConfig,
        to_edge_transform_and_lower,
    )
    from executorch.exir._serialize.data_serializer import DataEntry
    from executorch.exir.backend.backend_details import BackendDetails
except ImportError as missing:
    sys.exit(f"export_models: {missing}; install torch and executorch from PyPI")

# tests/live: imports name its folders; the list of the plugin's kernels.
sys.path[:0] = [str(LIVE), str(LIVE.parents[1] / "reference_backends/cpu_kernels")]
import kernel_list
from exporters import for_arm64
from exporters.case_folder import dtype_name, limits, operators_of, save_tensors, write_case
from exporters.library_options import add_level, for_processors, write_small_compiler
from models import cases, kit_models
from models.cases import Case, Inputs

# What is the same for the program and for the package that benchmarks compare it with: a portable
# AVX2 library on one thread, without libtorch, with its weights next to it. Inductor tries out each
# vector instruction set with a library that needs Sleef, which only libtorch brings: under
# link_libtorch=False the try fails and all code silently becomes scalar, unless vec_isa_ok is set.
COMPILE_OPTIONS: dict[str, Any] = {
    "aot_inductor.link_libtorch": False,
    "aot_inductor.package": True,
    "aot_inductor.package_constants_in_so": False,
    "aot_inductor.package_constants_on_disk_format": "binary_blob",
    "cpp.threads": 1,
    "cpp.vec_isa_ok": True,
} | for_processors("x86-64-v3")

# Weights become constants in the layout that convolutions ask for, batch norms part of them; else the
# compiled code copies such weights in each run. Without oneDNN's packing by PyTorch, whose constants
# are opaque outside of it.
FROZEN: dict[str, Any] = {"freezing": True, "cpp.weight_prepack": False}


def compile_options(frozen: bool) -> dict[str, Any]:
    """What a model is compiled with."""
    return COMPILE_OPTIONS | (FROZEN if frozen else {})


def compile_wrappers_quickly() -> None:
    """For many small models: the wrapper is code that calls. The kernels, which compute, are compiled as everywhere."""
    COMPILE_OPTIONS["aot_inductor.compile_wrapper_opt_level"] = "O0"
    COMPILE_OPTIONS["aot_inductor.enable_line_tables"] = False


def supported_kernels() -> set[str]:
    """The names of the kernels that the plugin has."""
    return set(kernel_list.exporter_names(kernel_list.read_header()))


class KernelTable(dict[str, None]):
    """The kernels a backend serves; it notes those it is asked for, served or not."""

    def __init__(self, names: set[str], lenient: bool) -> None:
        super().__init__(dict.fromkeys(names))
        self.lenient = lenient
        self.asked: set[str] = set()

    def __contains__(self, name: object) -> bool:
        self.asked.add(str(name))
        return self.lenient or super().__contains__(name)


class CpuAotiBackend(AotiBackend, BackendDetails):
    """AotiBackend for the CPU. What varies from model to model is set on the class."""

    kernels = KernelTable(set(), False)
    external = False
    frozen = False
    strip = False
    stripper = "strip"
    libraries: list[bytes] = []
    operator_calls: dict[str, bytes] = {}

    @classmethod
    def get_device_name(cls) -> str:
        return "cpu"

    @classmethod
    def get_supported_fallback_kernels(cls) -> dict[str, Any]:
        return cls.kernels

    @classmethod
    def get_decomposition_table(cls) -> dict[Any, Any]:
        return {}

    @classmethod
    def get_custom_passes(cls, compile_specs: list[Any]) -> list[Any]:
        return []

    @classmethod
    def save_data_externally(cls) -> bool:
        return cls.external

    @classmethod
    def get_aoti_compile_options(cls, compile_specs: list[Any]) -> dict[str, Any]:
        return compile_options(cls.frozen)

    @classmethod
    def codesign_so(cls, so_path: str, compile_specs: list[Any]) -> None:
        """Not to sign it: this is where the library passes by, before it is hashed and packed."""
        if cls.strip:
            subprocess.run([cls.stripper, "--strip-unneeded", so_path], check=True)
        library = Path(so_path).read_bytes()
        cls.libraries.append(library)
        calls = Path(so_path).with_suffix(".json")
        if calls.exists():
            cls.operator_calls[hashlib.sha256(library).hexdigest()] = calls.read_bytes()

    @classmethod
    def preprocess(cls, edge_program: Any, compile_specs: list[Any]) -> Any:
        """Adds what AotiBackend drops: the description of the operators that the library calls by number."""
        result = super().preprocess(edge_program, compile_specs)
        data = result.data_store_output
        for key in [key for key in data.pte_data if key.endswith("_so_blob")]:
            content = key.removesuffix("_so_blob")
            if content in cls.operator_calls:
                data.buffers.append(cls.operator_calls[content])
                data.pte_data[f"{content}_extern_kernel_nodes"] = DataEntry(len(data.buffers) - 1, 1, None)
        return result


def fingerprint() -> str:
    """What a cached case depends on: the sources and the version of torch."""
    digest = hashlib.sha256(torch.__version__.encode())
    for source in SOURCES:
        digest.update((LIVE / source).read_bytes())
    return digest.hexdigest()


def is_current(folder: Path, wanted: str, package: bool) -> bool:
    """Whether the folder holds a whole case made from these sources."""
    try:
        case = json.loads((folder / "case.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return case.get("made_by", {}).get("fingerprint") == wanted and (
        not package or (folder / "model.pt2").exists())


def export(case: Case) -> torch.export.ExportedProgram:
    """The model as torch.export sees it, from a fresh instance."""
    module, sets = case.build()
    return torch.export.export(module, sets[0], dynamic_shapes=case.dynamic_shapes)


def check_single_delegate(program: Any) -> None:
    """Raises unless the whole method is one delegate of ours."""
    plan = program.execution_plan[0]
    delegates = [delegate.id for delegate in plan.delegates]
    if delegates != [CpuAotiBackend.__name__] or plan.operators:
        operators = [f"{operator.name}.{operator.overload}" for operator in plan.operators]
        raise RuntimeError(f"one delegate and no operator expected; the program has delegates "
                           f"{delegates} and operators {operators}")


def lower(program: torch.export.ExportedProgram) -> Any:
    """The ExecuTorch program with one delegate, `CpuAotiBackend`."""
    specs = [CpuAotiBackend.generate_method_name_compile_spec(METHOD)]
    edge = to_edge_transform_and_lower(
        program,
        partitioner=[AotiPartitioner(CpuAotiBackend.__name__, specs)],
        compile_config=EdgeCompileConfig(_check_ir_validity=False),
    )
    manager = edge.to_executorch(ExecutorchBackendConfig(extract_delegate_segments=True))
    check_single_delegate(manager.executorch_program)
    return manager


def write_program(case: Case, folder: Path) -> None:
    """Writes model.pte, and the .ptd file of a case with external weights."""
    manager = lower(export(case))
    manager.write_tensor_data_to_file(str(folder))
    manager.save(str(folder / "model.pte"))


def write_package(case: Case, folder: Path) -> None:
    """Writes model.pt2, which torch's AOTIModelPackageLoader runs in a process with libtorch."""
    program = export(case)
    options = compile_options(case.frozen)
    if not program.state_dict:  # torch's loader cannot map an empty file of weights
        options["aot_inductor.package_constants_in_so"] = True
        options["aot_inductor.package_constants_on_disk_format"] = None
    torch._inductor.aoti_compile_and_package(
        program, package_path=str(folder / "model.pt2"), inductor_configs=options)


def run_eagerly(case: Case, folder: Path) -> dict[str, Any]:
    """Runs every set in eager PyTorch; writes the tensors and returns what case.json says of it."""
    module, sets = case.build()
    runs: list[dict[str, Any]] = []
    for number, inputs in enumerate(sets):
        result = module(*copy.deepcopy(inputs))
        outputs = result if isinstance(result, tuple) else (result,)
        runs.append({
            "inputs": save_tensors(inputs, f"in{number}", folder),
            "expected": save_tensors(outputs, f"out{number}", folder),
        })
    if case.stateful:
        runs.append(runs[0] | {"fresh": True})
    return {
        "description": (module.__doc__ or "").partition("\n")[0],
        "runs": runs,
        "tolerances": limits(outputs, case.rtol, case.atol),
        "made_by": {
            "dtypes": [dtype_name(tensor) for tensor in inputs],
            "dim_orders": [list(tensor.dim_order()) for tensor in inputs],
        },
    }


def export_case(case: Case, folder: Path, options: argparse.Namespace, wanted: str) -> None:
    """Makes the whole folder of one case."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    CpuAotiBackend.kernels = KernelTable(supported_kernels(), options.lenient)
    CpuAotiBackend.external = case.external
    CpuAotiBackend.frozen = case.frozen
    CpuAotiBackend.strip = options.kit
    CpuAotiBackend.libraries = []
    started = time.monotonic()
    with torch.no_grad():
        members = run_eagerly(case, folder)
        write_program(case, folder)
        seconds = time.monotonic() - started
        if options.package:
            write_package(case, folder)
    if options.library:
        (folder / "model.so").write_bytes(CpuAotiBackend.libraries[0])
    made_by = {"script": "tests/live/exporters/export_models.py", "torch": torch.__version__,
               "operators": operators_of(export(case))}
    if options.kit:  # The limits are the kit's own for each dtype, and facts would go stale.
        del members["tolerances"]
    else:
        made_by |= members["made_by"] | {
            "fallback_kernels": sorted(CpuAotiBackend.kernels.asked),
            "seconds": round(seconds, 1), "fingerprint": wanted,
        }
    write_case(folder, **members | {
        "data": sorted(path.name for path in folder.glob("*.ptd")), "made_by": made_by})


def compile_small(folder: Path, gcc: str = "g++") -> None:
    """Has inductor use a compiler that leaves out unused functions, and the names of the rest."""
    config = torch._inductor.config
    config.cpp.cxx = (str(write_small_compiler(folder, gcc, strip=False)),)
    config.aot_inductor.precompile_headers = False


def arguments() -> argparse.Namespace:
    """Reads the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", metavar="NAME",
                        help="export this model; may be given several times")
    parser.add_argument("--kit", action="store_true",
                        help="the models of kit_models.py in place of cases.py")
    parser.add_argument("--arm64", action="store_true",
                        help="as --kit, for 64-bit ARM, with Debian's cross compiler")
    parser.add_argument("--list", action="store_true", help="name the models and leave")
    parser.add_argument("--cache", type=Path, metavar="DIR", help="where the cases go")
    parser.add_argument("--force", action="store_true", help="export also what is up to date")
    parser.add_argument("--package", action="store_true",
                        help="write model.pt2 too: the same model for torch's own loader")
    parser.add_argument("--library", action="store_true",
                        help="write model.so too: the library inside the program")
    parser.add_argument("--lenient", action="store_true",
                        help="let through kernels that the plugin has not")
    add_level(parser, "x86-64-v3")
    options = parser.parse_args()
    COMPILE_OPTIONS.update(for_processors(options.level))
    if not options.list and options.cache is None:
        parser.error("--cache DIR is needed")
    options.kit |= options.arm64
    options.models = kit_models.MODELS if options.kit else cases.MODELS
    if options.arm64:
        options.models = options.models | {"conv1d_audio": cases.MODELS["conv1d_audio"]}
    unknown = set(options.only or ()) - set(options.models)
    if unknown:
        parser.error(f"no such model: {', '.join(sorted(unknown))}; see --list")
    return options


def export_all(options: argparse.Namespace) -> int:
    """Exports each; 1 if a model failed."""
    wanted = fingerprint()
    names = [name for name in options.models if not options.only or name in options.only]
    failures: dict[str, str] = {}
    for number, name in enumerate(names, 1):
        folder = options.cache / name
        label = f"[{number}/{len(names)}] {name}"
        if not options.force and is_current(folder, wanted, options.package):
            print(f"{label}: up to date", flush=True)
            continue
        print(f"{label}: exporting", flush=True)
        started = time.monotonic()
        try:
            export_case(options.models[name], folder, options, wanted)
        except Exception as problem:  # one model must not stop the others
            traceback.print_exc()
            failures[name] = f"{type(problem).__name__}: {problem}"
            continue
        size = (folder / "model.pte").stat().st_size
        print(f"{label}: {size:,} bytes in {time.monotonic() - started:.1f} s", flush=True)
    for name, problem in failures.items():
        print(f"failed: {name}: {problem}", file=sys.stderr)
    return 1 if failures else 0


def main() -> int:
    """Exports what was asked for; 1 if a model failed."""
    options = arguments()
    if options.list:
        print("\n".join(options.models))
        return 0
    with tempfile.TemporaryDirectory(prefix="tenon-export-") as scratch:
        if options.arm64:
            compile_small(Path(scratch), for_arm64.prepare(Path(scratch)))
            COMPILE_OPTIONS.update(for_arm64.COMPILE_OPTIONS)
            CpuAotiBackend.stripper = for_arm64.STRIP
        elif options.kit:
            compile_small(Path(scratch))
        return export_all(options)


if __name__ == "__main__":
    sys.exit(main())
