# SPDX-License-Identifier: MIT
"""The results of a run of tests/cross/run, as windows_test.py and macos_test.py write them."""

import contextlib
import pathlib
import traceback
from collections.abc import Iterator


class Results:
    """Prints each result, and appends it to a file of the form that summary.py reads."""

    def __init__(self, path: pathlib.Path | None) -> None:
        self.path = path

    def add(self, kind: str, text: str, shown: str) -> None:
        print(shown, flush=True)
        if self.path is not None:
            with self.path.open("a", encoding="utf-8") as file:
                file.write(f"{kind}\t{' '.join(text.split())}\n")

    def check(self, name: str, good: bool, found: object = "") -> None:
        """One check; `found` is shown where it failed."""
        kind = "ok" if good else "not ok"
        self.add(kind, name, f"{kind:8}{name}" + ("" if good else f"\n{found}"))

    @contextlib.contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Checks that an exception ends, which is a failure: those after them are made nevertheless."""
        try:
            yield
        except Exception as error:  # pylint: disable=broad-exception-caught
            text = f"{name}: ended by {type(error).__name__}: {error}"
            self.check(text, False, traceback.format_exc())

    def detail(self, text: str) -> None:
        """About the check before it."""
        self.add("detail", text, f"        {text}")

    def not_run(self, text: str) -> None:
        """What was left out, and why."""
        self.add("not run", text, f"not run: {text}")
