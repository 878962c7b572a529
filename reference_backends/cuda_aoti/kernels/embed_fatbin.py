# SPDX-License-Identifier: MIT
"""Compiles the kernels with nvcc and writes assembly that holds the result.

usage: embed_fatbin.py FATBIN ASSEMBLY NVCC ARGUMENT...

The assembly is written anew with each fat binary, so that a build notices when it changed.
"""

import pathlib
import subprocess
import sys

fatbin, assembly = (pathlib.Path(path).resolve() for path in sys.argv[1:3])
result = subprocess.run([*sys.argv[3:], "-o", str(fatbin)], check=False)
if result.returncode != 0:
    sys.exit(result.returncode)
path = str(fatbin).replace("\\", "\\\\").replace('"', '\\"')
assembly.write_text(f"""\
/* SPDX-License-Identifier: MIT */
.section .rodata
.balign 64
.global tenon_cuda_fatbin
.hidden tenon_cuda_fatbin
tenon_cuda_fatbin:
.incbin "{path}"
.global tenon_cuda_fatbin_end
.hidden tenon_cuda_fatbin_end
tenon_cuda_fatbin_end:
.section .note.GNU-stack,"",%progbits
""")
