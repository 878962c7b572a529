# SPDX-License-Identifier: MIT
"""Where the installed package keeps its files."""

import pathlib

PACKAGE = pathlib.Path(__file__).resolve().parent
