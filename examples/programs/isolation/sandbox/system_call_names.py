# SPDX-License-Identifier: MIT
"""Writes the names and numbers of the system calls that the compiler's headers know, as a C++ list.

    system_call_names.py OUTPUT COMPILER...
"""

import pathlib
import re
import subprocess
import sys

NOT_CALLS = {"syscalls", "arch_specific_syscall"}


def main():
    output, compiler = pathlib.Path(sys.argv[1]), sys.argv[2:]
    macros = subprocess.run([*compiler, "-dM", "-E", "-x", "c", "-"], input="#include <sys/syscall.h>\n",
                            capture_output=True, text=True, check=True).stdout
    names = sorted(set(re.findall(r"^#define __NR_(\w+) ", macros, re.M)) - NOT_CALLS)
    output.write_text("".join(f'{{"{name}", __NR_{name}}},\n' for name in names))


if __name__ == "__main__":
    main()
