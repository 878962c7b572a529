# SPDX-License-Identifier: MIT
"""Checks that the plugin provides each function that exported libraries leave undefined.

Reads the libraries in .pte files that PyTorch's AOTInductor compiled for the CPU, for CUDA or for Metal, and the names
in the plugins' tables, which build/tests/live/checks/shim-names-* print. A function counts unless it is weak or has a
version, as the C library's functions do: these come from the dynamic loader, all others must be the plugin's. Functions
of the CUDA driver and of SLEEF are looked up in these libraries by name.

Writes a Markdown table with a row for each function; exits with 1 when one is not provided. With --without, functions
are taken out of the tables: it exits with 1 when other functions than these are missing.
"""

import argparse
import re
import subprocess
import sys
import tempfile
from pathlib import Path

# The identifier of the backend in a program, and the name of its table.
BACKENDS = {b"CudaBackend": "cuda", b"CpuAotiBackend": "cpu", b"MetalBackend": "metal"}


def undefined_in(program: Path) -> set[str]:
    """Functions that the libraries in a program have undefined, without weak ones and those with a version."""
    data = program.read_bytes()
    out: set[str] = set()
    # ELF, 64 bit, little-endian; a library for x86-64.
    for found in re.finditer(rb"\x7fELF\x02\x01\x01.{9}\x03\x00\x3e\x00", data, flags=re.DOTALL):
        with tempfile.NamedTemporaryFile(suffix=".so") as library:
            library.write(data[found.start():])
            library.flush()
            listed = subprocess.run(["nm", "-D", "--undefined-only", library.name],
                                    capture_output=True, text=True, check=True).stdout
        out.update(re.findall(r"^ +U ([^@\s]+)$", listed, flags=re.MULTILINE))
    return out


def backend_of(program: Path) -> str:
    """The backend that a program names."""
    data = program.read_bytes()
    names = [name for text, name in BACKENDS.items() if text in data]
    if len(names) != 1:
        sys.exit(f"shim_table: {program}: expected a program for one AOTInductor backend, found {names}")
    return names[0]


def provider(function: str, table: set[str]) -> str:
    """Who provides a function; empty for nothing."""
    if function in table:
        return "the plugin"
    if re.match(r"cu[A-Z]", function):
        return "the driver"
    return "SLEEF" if function.startswith("Sleef_") else ""


def main() -> int:
    """Prints the table of each backend."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, metavar="DIR", required=True, help="a build folder of Tenon")
    parser.add_argument("--without", action="append", metavar="FUNCTION", default=[])
    parser.add_argument("programs", nargs="+", metavar="[LABEL=]PROGRAM",
                        help="a .pte file, or a folder of folders with model.pte; a label, such as a version, is part of "
                             "the column's name")
    options = parser.parse_args()
    columns: dict[str, dict[str, set[str]]] = {}
    for each in options.programs:
        label, _, place = each.rpartition("=")
        path = Path(place)
        for program in sorted(path.glob("*/model.pte")) if path.is_dir() else [path]:
            functions = undefined_in(program)
            if not functions:
                sys.exit(f"shim_table: {program}: expected a library for x86-64, found none")
            name = f"{program.parent.name.removeprefix('cuda_')} {label}".strip()
            columns.setdefault(backend_of(program), {})[name] = functions
    if not columns:
        sys.exit("shim_table: expected programs, found none")
    all_missing: set[str] = set()
    for backend, programs in columns.items():
        listed = subprocess.run([str(options.build / f"tests/live/checks/shim-names-{backend}")], capture_output=True,
                                text=True, check=True).stdout
        table = set(listed.split()) - set(options.without)
        functions = sorted(set().union(*programs.values()))
        missing = [function for function in functions if not provider(function, table)]
        print("| function |", " | ".join(programs), "| provided by |")
        print("|---" * (len(programs) + 2) + "|")
        for function in functions:
            asked = " | ".join("yes" if function in needs else "" for needs in programs.values())
            print(f"| `{function}` | {asked} | {provider(function, table) or '**nothing**'} |")
        print(f"\n{backend}: {len(programs)} programs, {len(functions)} functions, {len(missing)} missing", *missing,
              end="\n\n")
        all_missing.update(missing)
    return 0 if all_missing == set(options.without) else 1


if __name__ == "__main__":
    sys.exit(main())
