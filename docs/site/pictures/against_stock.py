# SPDX-License-Identifier: MIT
"""Bars of the benchmarks against stock ExecuTorch, or against a row's floor where it has no stock side: of the rows
that have a goal, and of every row in which Tenon takes longer.

    against_stock.py RUN.json PICTURE.svg

RUN.json is what `./dev bench --json` wrote. The picture of docs/project/performance.md is drawn from the table
of docs/measurements/performance-tables.txt instead, which such a run printed. Exit status: 0, 2 when RUN.json is no run or has
nothing to draw, or the picture cannot be written.
"""

import dataclasses
import json
import math
import pathlib
import sys

import svg
import tables

SIZE, LINE, BAR = 11, 13, 7  # of a label, of one of its lines, of a bar
LEFT, RIGHT = 14, svg.WIDTH - 14
COLUMN = 46  # of the ratios
SECTIONS = {"stock": "of the time of stock ExecuTorch", "floor": "of the floor, where stock has no such row"}
FACTS = ("processor", "machine class", "compiler", "method")


@dataclasses.dataclass(frozen=True)
class Bar:
    """One row: its time as a multiple of the rival's."""

    group: str
    what: str
    ratio: float
    rival: str  # "stock" or "floor"


def is_drawn(row, ratio):
    return bool(row["goal"]) or ratio > 1


def bars_of_run(run):
    """Bars of the rows of a run that are times; counts have a scale of their own."""
    for row in run["rows"]:
        rival = next((name for name in ("stock", "floor") if row[name] and row[name]["minimum"] > 0), None)
        if row["unit"] == "ns" and rival and row["ours"]:
            ratio = row["ours"]["minimum"] / row[rival]["minimum"]
            if is_drawn(row, ratio):
                yield Bar(row["group"], row["what"], ratio, rival)


def bars_of_table(rows):
    """Bars of the table that a run prints with --markdown, which has the ratios to stock alone."""
    for row in rows:
        is_time = " " in row["ours"]
        if is_time and row["ours / stock"] and is_drawn(row, float(row["ours / stock"])):
            yield Bar(row["group"], row["what"], float(row["ours / stock"]), "stock")


def facts_of_page(page):
    """{name: text} of the list above the table."""
    above = page[:page.index("| group | what | floor |")].rstrip().splitlines()
    facts = {}
    while above and above[-1].startswith("- "):
        name, _, text = above.pop()[2:].partition(": ")
        facts[name] = text
    return facts


def lines_of(text, width):
    """A label as lines that fit."""
    lines = [""]
    for word in text.split():
        longer = f"{lines[-1]} {word}".strip()
        if lines[-1] and svg.width_of(longer, SIZE) > width:
            lines.append(word)
        else:
            lines[-1] = longer
    return lines


def multiple(ratio):
    """As the tables have it, but never as 0."""
    return f"{ratio:.2f}" if ratio >= 0.01 else f"{ratio:.1g}"


class Scale:
    """Powers of ten from left to right, with 1 and all ratios between the first and the last."""

    def __init__(self, ratios):
        self.first = min(-1, math.floor(math.log10(min(ratios))))
        self.last = max(1, math.ceil(math.log10(max(ratios))))

    def x_of(self, ratio):
        return LEFT + (RIGHT - LEFT) * (math.log10(ratio) - self.first) / (self.last - self.first)

    def marks(self):
        return [10.0**power for power in range(self.first, self.last + 1)]


def heading(picture, y, text, scale):
    """A section: what it is measured against, with the marks of the scale below."""
    picture.text(LEFT, y, text, 12.5, weight="600")
    for mark in scale.marks():
        at = scale.x_of(mark)
        anchor = "start" if at < LEFT + 20 else "end" if at > RIGHT - 20 else "middle"
        picture.text(round(at, 1), y + 16, f"{mark:g} ×", 10.5, "quiet", anchor)
    return y + 24


def row(picture, y, bar, scale):
    """A label, the ratio, and a bar from 1: to the left where Tenon takes less."""
    lines = lines_of(f"{bar.group}: {bar.what}", RIGHT - LEFT - COLUMN)
    for at, line in enumerate(lines):
        picture.text(LEFT, y + 10 + at * LINE, line, SIZE)
    is_slower = bar.ratio > 1
    picture.text(RIGHT, y + 10, multiple(bar.ratio), SIZE, "bridge-line" if is_slower else "host-line", "end", "600")
    y += len(lines) * LINE + 2
    one, end = scale.x_of(1), scale.x_of(bar.ratio)
    picture.rect(LEFT, y, RIGHT - LEFT, BAR, "shared", radius=2)
    picture.rect(round(min(one, end), 1), y, round(max(abs(end - one), 1), 1), BAR,
                 "bridge-line" if is_slower else "host-line", radius=1)
    picture.path(f"M{one:.1f} {y - 2}v{BAR + 4}", "ink", 1)
    return y + BAR + 7


def chart(bars, facts):
    """The picture of all bars; ValueError where there are none."""
    bars = list(bars)
    if not bars:
        raise ValueError("no row has a time of Tenon and one of stock ExecuTorch or of a floor")
    scale = Scale([bar.ratio for bar in bars])
    said = "; ".join(f"{bar.group}, {bar.what} {multiple(bar.ratio)}" for bar in bars if bar.rival == "stock")
    picture = svg.Picture(f"Time of Tenon as a multiple of stock ExecuTorch's: {said or 'no row'}.", 0)
    picture.text(LEFT, 24, "Time of Tenon, as a multiple", 14, weight="600")
    y = 41
    notes = ["rows with a goal or above 1; logarithmic, less is better"]
    notes += [f"{name}: {facts[name]}" for name in FACTS if name in facts]
    for line in (line for note in notes for line in lines_of(note, RIGHT - LEFT)):
        picture.text(LEFT, y, line, SIZE, "quiet")
        y += LINE + 1
    for rival, title in SECTIONS.items():
        chosen = [bar for bar in bars if bar.rival == rival]
        if chosen:
            y = heading(picture, y + 13, title, scale)
        for bar in chosen:
            y = row(picture, y, bar, scale)
    picture.height = y + 5
    return picture.render()


def draw(root):
    page = (root / "docs/measurements/performance-tables.txt").read_text(encoding="utf-8")
    return {"against-stock": chart(bars_of_table(tables.table_of(page, "group | what | floor")), facts_of_page(page))}


def main(words):
    if len(words) != 2:
        print("usage: ./dev bench --chart RUN.json PICTURE.svg", file=sys.stderr)
        return 2
    source, target = map(pathlib.Path, words)
    try:
        run = json.loads(source.read_text(encoding="utf-8"))
        text = chart(bars_of_run(run), run["facts"])
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as failure:
        print(f"against_stock.py: expected a file of tenon-bench --json: {failure!r}", file=sys.stderr)
        return 2
    try:
        target.write_text(text, encoding="utf-8")
    except OSError as failure:
        print(f"against_stock.py: {target}: {failure.strerror}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
