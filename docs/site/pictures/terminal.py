# SPDX-License-Identifier: MIT
"""Terminals: recordings of docs/site/pictures/*.cast, in the format of asciinema, version 2, as pictures in which
lines appear as they did. record.py makes the recordings."""

import json
import pathlib
import re
import textwrap

from svg import WIDTH, Picture

COLUMNS = 56  # Readable on a telephone: longer lines are broken.
SIZE, LINE = 10.2, 15.5
LONGEST_WAIT = 1.5  # Seconds; a recording waits for builds and models no longer than this.


def read(path):
    """The title and [(seconds, line)] of a recording."""
    head, *events = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    lines, text, started = [], "", None
    for seconds, kind, data in events:
        if kind != "o":
            continue
        for piece in re.split(r"(?<=\n)", data):
            started = seconds if not text else started
            text += piece
            if text.endswith("\n"):
                lines.append((started, text.rstrip("\r\n")))
                text = ""
    if text:
        lines.append((started, text))
    return head["title"], lines


def broken(line):
    """A line in pieces of at most COLUMNS, broken between words; further ones are indented."""
    indent = " " * (len(line) - len(line.lstrip()) + 2)
    return textwrap.wrap(line, COLUMNS, subsequent_indent=indent, drop_whitespace=True, break_on_hyphens=False) or [""]


def colour_of(line):
    if re.search(r"\bFAIL\b|\bfailed \(|\bSIGSEGV\b", line):
        return "bad"
    return "good" if re.search(r"\bPASS\b|\d passed\b|: equal: ", line) else "ink"


def picture_of(path):
    title, lines = read(path)
    rows, clock, last = [], 0.0, 0.0
    for seconds, line in lines:
        clock += min(seconds - last, LONGEST_WAIT)
        last = seconds
        rows += [(clock, piece, line) for piece in broken(line)]
    height = 34 + LINE * len(rows) + 12
    picture = Picture(f"{title}. " + " / ".join(line for _, line in lines), height)
    picture.extra_style = ("@media screen and (prefers-reduced-motion:no-preference){.tenon .typed{animation:tenon-typed .01s both}"
                           "@keyframes tenon-typed{from{opacity:0}to{opacity:1}}}")
    picture.rect(0.5, 0.5, WIDTH - 1, height - 1, "screen", "line")
    for at in range(3):
        picture.parts.append(f'<circle cx="{14 + 13 * at}" cy="14" r="4" fill="var(--line)"/>')
    picture.text(WIDTH / 2, 18, title, 11, "quiet", "middle")
    for at, (seconds, piece, line) in enumerate(rows):
        command = line.startswith("$ ")
        picture.text(9, 44 + LINE * at, piece, SIZE, "ink" if command else colour_of(line), weight="600" if command else "",
                     attributes=f' xml:space="preserve" class="typed" style="animation-delay:{seconds:.2f}s"')
    group = picture.parts.index(next(part for part in picture.parts if "typed" in part)) if rows else len(picture.parts)
    picture.parts.insert(group, '<g class="mono">')
    picture.parts.append("</g>")
    return picture.render(1.6)


def draw(root):
    folder = pathlib.Path(__file__).resolve().parent
    return {path.stem: picture_of(path) for path in sorted(folder.glob("*.cast"))}
