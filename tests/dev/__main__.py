# SPDX-License-Identifier: MIT
"""`python3 tests/dev`: what `./dev` starts."""

import os
import pathlib
import sys

if sys.version_info < (3, 9):
    sys.exit(f"dev: expected Python 3.9 or newer, found {sys.version.split()[0]} ({sys.executable})")
sys.dont_write_bytecode = True
sys.path[0] = str(pathlib.Path(__file__).resolve().parents[1])

from dev import cli  # noqa: E402  pylint: disable=wrong-import-position

try:
    status = cli.main(sys.argv[1:])
    sys.stdout.flush()
except BrokenPipeError:
    # As of a program that SIGPIPE ends; no one reads what it prints.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    status = 141
sys.exit(status)
