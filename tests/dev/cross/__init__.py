# SPDX-License-Identifier: MIT
"""`./dev cross`: builds for other platforms and by other compilers, and what runs here of them.

command.py has the targets. tests/cross has what they are configured with, and the programs between Meson and
their compilers.
"""
