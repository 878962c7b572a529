# SPDX-License-Identifier: MIT
"""Compiles the kernels with nvcc and writes assembly that holds the result.

usage: embed_fatbin.py FATBIN ASSEMBLY SOURCE ARCHITECTURES WARNINGS NVCC ARGUMENT...

nvcc writes PTX of the version of its own CUDA, which no older driver accepts, and binaries that drivers of an earlier
major version of CUDA do not accept either. So the PTX is declared to be of PTX_VERSION, the version of the oldest CUDA
whose driver the plugin supports; the assembler, which makes the binaries of ARCHITECTURES from it, fails when the code
needs more than that version has. WARNINGS are arguments for the compiler alone. Of ARCHITECTURES those that this nvcc
does not know are left out, but not the first two: drivers compile the PTX for their devices. Symbols begin with the
name of FATBIN.

The assembly is written anew with each fat binary, so that a build notices when it changed.
"""

import pathlib
import re
import subprocess
import sys

PTX_VERSION = (7, 8)  # CUDA 11.8


def run(command: list[str]) -> None:
    """Ends this program when the command fails."""
    result = subprocess.run(command, check=False)
    if result.returncode != 0:
        sys.exit(result.returncode)


fatbin, assembly = (pathlib.Path(path).resolve() for path in sys.argv[1:3])
source, architectures, warnings, *nvcc = sys.argv[3:]
known = subprocess.run([nvcc[0], "--list-gpu-code"], capture_output=True, text=True, check=False).stdout.split()
wanted = architectures.split(",")
chosen = [each for each in wanted if each in wanted[:2] or f"sm_{each}" in known]
oldest = chosen[0]
ptx = fatbin.with_suffix(".ptx")
run([*nvcc, *warnings.split(), "-ptx", f"-arch=compute_{oldest}", source, "-o", str(ptx)])
text = re.sub(r"^//.*\n|^\t//.*\n", "", ptx.read_text(), flags=re.MULTILINE)
version = re.search(r"^\.version (\d+)\.(\d+)$", text, flags=re.MULTILINE)
if version is None:
    sys.exit("embed_fatbin.py: nvcc's PTX has no line .version")
if (int(version[1]), int(version[2])) > PTX_VERSION:
    text = text.replace(version[0], f".version {PTX_VERSION[0]}.{PTX_VERSION[1]}", 1)
    # A hint of version 8.3: which bytes of a wide load are used.
    text = re.sub(r'^\t\.pragma "used_bytes_mask .*\n', "", text, flags=re.MULTILINE)
ptx.write_text(text)
codes = [f"-gencode=arch=compute_{oldest},code=sm_{each}" for each in chosen]
# Not compressed, so that a test can read the kernels' names.
run([*nvcc, "-fatbin", "--no-compress", "--threads", "2", *codes, str(ptx), "-o", str(fatbin)])


def embed(symbol: str, path: pathlib.Path) -> str:
    """The bytes of a file, with a zero behind them, between SYMBOL and SYMBOL_end."""
    name = str(path).replace("\\", "\\\\").replace('"', '\\"')
    return f"""\
.balign 64
.global {symbol}
.hidden {symbol}
{symbol}:
.incbin "{name}"
.global {symbol}_end
.hidden {symbol}_end
{symbol}_end:
.byte 0
"""


assembly.write_text(f"""\
/* SPDX-License-Identifier: MIT */
.section .rodata
{embed(f"{fatbin.stem}_fatbin", fatbin)}{embed(f"{fatbin.stem}_ptx", ptx)}.section .note.GNU-stack,"",%progbits
""")
