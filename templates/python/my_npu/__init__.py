# SPDX-License-Identifier: MIT
"""MyNpuBackend, a plugin of Tenon. `import tenon` finds it by the entry point of this package."""

import pathlib


def plugin():
    """The path of the plugin's file. Tenon calls this when the backend is used for the first time."""
    return pathlib.Path(__file__).resolve().with_name("my_npu.so")
