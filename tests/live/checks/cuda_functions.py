# SPDX-License-Identifier: MIT
"""Lists the functions of CUDA that models compiled by PyTorch may call, and who provides each.

Two sources: what PyTorch compiles into a model's library (the headers of AOTInductor's runtime and its code generator,
of any number of installed or unpacked versions), and what libraries in exported programs have undefined. A function is
the plugin's own (reference_backends/cuda_aoti/shims), the driver's (libcuda.so.1, which is always there), or missing:
models that call one of those load only where a CUDA runtime is installed.

Writes a Markdown table; exits with 1 when a function is missing.
"""

import argparse
import re
import sys
from pathlib import Path

import shim_table

ROOT = Path(__file__).resolve().parents[3]
SOURCES = ("include/torch/csrc/inductor/aoti_runtime", "include/torch/csrc/inductor/cpp_wrapper",
           "_inductor/codegen/aoti_runtime", "_inductor/codegen/cpp_wrapper_gpu.py",
           "_inductor/codegen/cuda/device_op_overrides.py")
FUNCTION = r"\b(cu(?:da)?[A-Z]\w*)"


def served() -> set[str]:
    """Names in the plugin's tables."""
    text = "".join(path.read_text() for path in
                   (ROOT / "reference_backends/cuda_aoti/shims").glob("runtime_*.cpp"))
    return set(re.findall(r"TENON_AOTI_ENTRY\(" + FUNCTION, text))


def called_by_sources(torch: Path) -> set[str]:
    """Functions that the sources in a folder `torch` call. Text in comments is left out."""
    out: set[str] = set()
    for place in SOURCES:
        path = torch / place
        files = [path] if path.is_file() else [each for each in path.rglob("*") if each.is_file()]
        for file in files:
            text = re.sub(r"//.*|^\s*#.*", "", file.read_text(errors="replace"), flags=re.MULTILINE)
            out.update(re.findall(FUNCTION + r"\(", text))
    return out


def main() -> int:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--torch", action="append", metavar="VERSION=FOLDER", default=[],
                        help="a folder `torch` of an installed or unpacked wheel")
    parser.add_argument("programs", nargs="*", type=Path, help=".pte files; the fixtures without any")
    options = parser.parse_args()
    programs = options.programs or sorted((ROOT / "tests/fixtures").glob("cuda_*/model.pte"))
    columns: dict[str, set[str]] = {}
    for each in options.torch:
        version, _, folder = each.partition("=")
        columns[f"torch {version}"] = called_by_sources(Path(folder))
        if not columns[f"torch {version}"]:
            sys.exit(f"cuda_functions: no sources of AOTInductor in '{folder}'")
    needs = [{name for name in shim_table.undefined_in(program) if re.fullmatch(FUNCTION, name)}
             for program in programs]
    own = served()
    names = sorted(set().union(*columns.values(), *needs))
    print("| function |", *(f"{version} |" for version in columns), f"of {len(programs)} programs |",
          "provided by |")
    print("|---" * (len(columns) + 3) + "|")
    missing = []
    for name in names:
        by = "the plugin" if name in own else "the driver" if not name.startswith("cuda") else "nothing"
        if by == "nothing":
            missing.append(name)
        print(f"| `{name}` |", *("yes |" if name in column else "|" for column in columns.values()),
              f"{sum(name in need for need in needs)} |", f"{by} |")
    print(f"\n{len(names)} functions, {len(missing)} missing", *missing)
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
