#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Draws the pictures of docs/pictures from data: tables of the pages, include lines, the boundary, recordings.

    draw.py ROOT write|check

`check`, a test, fails where a file is not what its data makes.
"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import against_stock  # noqa: E402
import architecture  # noqa: E402
import bars  # noqa: E402
import diagrams  # noqa: E402
import execution  # noqa: E402
import terminal  # noqa: E402
import trust  # noqa: E402


PARTS = (against_stock, architecture, bars, diagrams, execution, terminal, trust)


def pictures(root):
    """{name: text} of all files."""
    return {f"{name}.svg": text for part in PARTS for name, text in part.draw(root).items()}


def main():
    if len(sys.argv) != 3 or sys.argv[2] not in ("write", "check"):
        sys.exit(__doc__)
    root = pathlib.Path(sys.argv[1]).resolve()
    folder = root / "docs/pictures"
    drawn = pictures(root)
    if sys.argv[2] == "write":
        for name, text in drawn.items():
            (folder / name).write_text(text, encoding="utf-8")
        return
    there = {path.name: path.read_text(encoding="utf-8") for path in folder.glob("*.svg")}
    if wrong := sorted(name for name in drawn.keys() | there.keys() if drawn.get(name) != there.get(name)):
        sys.exit(f"not what their data makes: {', '.join(wrong)}; run docs/site/pictures/draw.py . write")
    print(f"{len(drawn)} pictures")


if __name__ == "__main__":
    main()
