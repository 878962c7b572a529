# SPDX-License-Identifier: MIT
"""What takes seconds says what it does, on one line of a terminal."""

from __future__ import annotations

import sys
from typing import TextIO


class Progress:
    """A line of stderr that each step replaces, and that is erased at the end. Elsewhere than on a terminal nothing is
    written."""

    def __init__(self, title: str, stream: TextIO | None = None) -> None:
        self._title = title
        stream = sys.stderr if stream is None else stream  # None: Python without a console.
        self._stream = stream if stream is not None and stream.isatty() else None

    def step(self, text: str) -> None:
        """Says what is done now."""
        self._write(f"\r\x1b[K{self._title}: {text}")

    def _write(self, text: str) -> None:
        if self._stream is not None:
            self._stream.write(text)
            self._stream.flush()

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *_: object) -> None:
        self._write("\r\x1b[K")
