# SPDX-License-Identifier: MIT
"""What CI leaves out, in slices: `./dev rest`."""
