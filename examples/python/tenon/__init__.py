# SPDX-License-Identifier: MIT
"""Runs ExecuTorch programs with backends that are Tenon plugins; PyTorch is not needed."""

from ._tenon import __version__

__all__ = ["__version__"]
