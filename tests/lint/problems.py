# SPDX-License-Identifier: MIT
"""The end of a script that checks something."""

import sys


def leave(problems, summary):
    """Prints a line for each of `problems` and then `summary`, and ends the process: with 1 where there are problems."""
    for problem in problems:
        print(f"not ok: {problem}")
    print(summary)
    sys.exit(1 if problems else 0)
