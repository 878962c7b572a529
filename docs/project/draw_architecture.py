#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Draws docs/project/architecture.svg: the parts of include/tenon, the directories of each, and which
part includes which, read from the `#include` lines.

Where a part is placed is decided below; what is in it and all arrows come from the sources. An arrow
that follows from others is left out. A directory without a place, and an arrow that points up, are
errors.

usage: draw_architecture.py ROOT write|check
"""

import dataclasses
import difflib
import html
import pathlib
import re
import sys

INCLUDE = re.compile(r'^\s*#\s*include\s*[<"](?:tenon/)?([^">]+)[">]', re.M)


@dataclasses.dataclass
class Part:
    """A box: a directory of include/tenon without the parts inside of it."""

    text: str  # what it is for, and what it needs besides other parts
    header: str  # what users of it include
    row: int  # 0 is at the bottom
    left: int
    right: int
    kind: str  # colour


WIDTH = 1000
PARTS = {
    "conformance": Part(
        "the conformance kit; needs Catch2", "tenon/conformance/suites.hpp", 5, 426, 976, "tool"
    ),
    "aot/compiler": Part(
        "compiles exported models; needs libzip", "", 4, 426, 720, "tool"
    ),
    "executorch/backend": Part(
        "its backends as plugins", ".../plugin.hpp", 3, 24, 236, "bridge"
    ),
    "aoti": Part("for AOTInductor models", "tenon/aoti.hpp", 3, 252, 420, "author"),
    "aot": Part("the ahead-of-time half", "tenon/aot.hpp", 3, 436, 600, "author"),
    "executorch/adapter": Part(
        "plugins in stock ExecuTorch", ".../register_plugins.hpp", 3, 692, 976, "bridge"
    ),
    "backend": Part(
        "what the class of a backend derives from", "tenon/tenon.hpp", 2, 24, 600, "author"
    ),
    "host": Part(
        "loads plugins, runs programs; flatbuffers, JSON", "tenon/host.hpp", 2, 620, 976, "host"
    ),
    "core": Part(
        "status, tensors, options; the C++20 standard library alone", "", 1, 24, 976, "shared"
    ),
    "abi": Part(
        "the frozen boundary between plugin and host; C11, types of fixed width alone",
        "tenon/abi/tenon.h", 0, 24, 976, "shared",
    ),
}
# Directories that belong to two boxes are drawn as part of neither.
SHARED_BY_BRIDGES = "executorch"

COLOURS = {  # border, fill
    "author": ("#2f6f4f", "#e6f4ec"),
    "host": ("#2b5c9e", "#e6eefa"),
    "tool": ("#7a4fa3", "#f1eaf8"),
    "bridge": ("#a5641c", "#fbf0e2"),
    "shared": ("#55606e", "#eef0f3"),
}
LEGEND = [
    ("author", "plugin authors include it"),
    ("host", "applications include it"),
    ("tool", "tools"),
    ("bridge", "with ExecuTorch's headers"),
    ("shared", "both sides"),
]

MARGIN = 24
ROW_GAP = 34
HEAD = 46  # title and text of a box
HEADER = 18  # the line that names its header
CHIP = 24  # height of a directory's name
CHIP_GAP = 6
CHARACTER = 7.3  # width of one in a directory's name


def part_of(path):
    """The box that a file, given by its path below include/tenon, belongs to; None for umbrellas."""
    folder = path.parent
    while folder.parts:
        name = folder.as_posix()
        if name in PARTS or name == SHARED_BY_BRIDGES:
            return name
        folder = folder.parent
    return None


def read_sources(root):
    """Directories of each part, and pairs of parts of which the first includes the second."""
    base = root / "include/tenon"
    directories = {name: set() for name in PARTS}
    between, inside = set(), {name: set() for name in PARTS}
    for path in sorted(base.rglob("*")):
        if path.suffix not in (".h", ".hpp"):
            continue
        name = path.relative_to(base)
        part = part_of(name)
        if part is None and len(name.parts) > 1:
            sys.exit(f"{name}: give its directory a place in {pathlib.Path(__file__).name}")
        if part not in PARTS:
            continue
        below = name.parent.relative_to(part)
        if below.parts:
            directories[part].add(below.parts[0])
        for include in INCLUDE.findall(path.read_text(encoding="utf-8")):
            target = next((p for p in (base / include, path.parent / include) if p.is_file()), None)
            if target is None:
                continue
            other = target.resolve().relative_to(base.resolve())
            goal = part_of(other)
            if goal == part:
                there = other.parent.relative_to(goal)
                if below.parts and there.parts and below.parts[0] != there.parts[0]:
                    inside[part].add((below.parts[0], there.parts[0]))
            elif goal in PARTS:
                between.add((part, goal))
    return directories, between, inside


def levels_of(names, edges):
    """Names in lists: those of one list include only those of the lists before it."""
    level = dict.fromkeys(names, 0)
    for _ in names:
        for above, below in edges:
            if below in level:
                level[above] = max(level[above], level[below] + 1)
    if any(level[above] <= level[below] for above, below in edges):
        sys.exit(f"these directories include each other in a circle: {sorted(names)}")
    rows = {}
    for name in sorted(names):
        rows.setdefault(level[name], []).append(name)
    return [rows[key] for key in sorted(rows)]


def without_implied(edges):
    """Edges that do not follow from others."""
    reach = {}

    def reachable(start):
        if start not in reach:
            reach[start] = set()
            for above, below in edges:
                if above == start:
                    reach[start] |= {below} | reachable(below)
        return reach[start]

    return sorted(
        (above, below) for above, below in edges
        if not any(
            middle != below and below in reachable(middle)
            for start, middle in edges if start == above
        )
    )


def item_width(name):
    return 8.0 if name == "›" else len(name) * CHARACTER + 18


def lines_of(part, directories, inside):
    """Directories of a box, in lines; "›" precedes those that the ones before it include."""
    names = []
    for level in reversed(levels_of(directories, inside)):
        names += (["›"] if names else []) + level
    room = part.right - part.left - 28
    lines, used = [], room + 1.0
    for name in names:
        if used + item_width(name) > room:
            lines.append([])
            used = 0.0
        lines[-1].append(name)
        used += item_width(name) + CHIP_GAP
    return lines


def text(x, y, content, style):
    return f'<text x="{x:g}" y="{y:g}" class="{style}">{html.escape(content)}</text>'


def draw_box(name, part, top, height, lines):
    border, fill = COLOURS[part.kind]
    width = part.right - part.left
    out = [
        f'<rect x="{part.left}" y="{top:g}" width="{width}" height="{height:g}" rx="8" '
        f'fill="{fill}" stroke="{border}" stroke-width="1.5"/>',
        text(part.left + 14, top + 21, name, "name"),
        text(part.left + 14, top + 38, part.text, "what"),
    ]
    y = top + HEAD
    if part.header:
        out.append(text(part.left + 14, y + 9, f"<{part.header}>", "header"))
        y += HEADER
    for line in lines:
        x = part.left + 14.0
        for directory in line:
            width = item_width(directory)
            if directory == "›":
                out.append(text(x, y + 16.5, directory, "name"))
            else:
                out.append(
                    f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{CHIP}" rx="5" '
                    f'fill="#ffffff" stroke="{border}" stroke-opacity="0.45"/>'
                )
                out.append(text(x + 9, y + 16.5, directory, "room"))
            x += width + CHIP_GAP
        y += CHIP + CHIP_GAP
    return out


def draw_arrow(above, below, boxes):
    """A line from the lower side of one box to the upper side of another, where both are."""
    left = max(PARTS[above].left, PARTS[below].left)
    right = min(PARTS[above].right, PARTS[below].right)
    if left >= right:
        sys.exit(f"{above} includes {below}, and no vertical arrow fits between their places")
    start, end = boxes[above][1], boxes[below][0]
    between = [
        (part.left, part.right) for part in PARTS.values()
        if PARTS[below].row < part.row < PARTS[above].row
    ]
    free = [
        x for x in range(left + 14, right - 13)
        if all(not first - 14 <= x <= last + 14 for first, last in between)
    ]
    middle = (left + right) / 2
    if not free:
        sys.exit(f"{above} includes {below}, and all that is between their places is taken")
    x = min(free, key=lambda each: abs(each - middle))
    return f'<path d="M{x:g} {start:g} V{end - 2:g}" class="arrow" marker-end="url(#tip)"/>'


def draw(root):
    directories, between, inside = read_sources(root)
    for above, below in sorted(between):
        if PARTS[above].row <= PARTS[below].row:
            sys.exit(f"{above} includes {below}, which is not below it")
    lines = {name: lines_of(part, directories[name], inside[name]) for name, part in PARTS.items()}
    heights = {
        name: HEAD + 4 + HEADER * bool(part.header) + len(lines[name]) * (CHIP + CHIP_GAP)
        for name, part in PARTS.items()
    }
    boxes, y = {}, MARGIN
    for row in sorted({part.row for part in PARTS.values()}, reverse=True):
        names = [name for name, part in PARTS.items() if part.row == row]
        height = max(heights[name] for name in names)
        boxes |= {name: (y, y + height) for name in names}
        y += height + ROW_GAP
    height = y + 16
    out = [
        "<!-- SPDX-License-Identifier: MIT -->",
        "<!-- Made by docs/project/draw_architecture.py from the include lines. -->",
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:g}" '
        'role="img" aria-label="The parts of Tenon; arrows lead to what a part includes">',
        "<style>",
        ".name { font: 600 15px system-ui, sans-serif; fill: #1c232b; }",
        ".what { font: 12px system-ui, sans-serif; fill: #4a5560; }",
        ".room { font: 12px ui-monospace, 'DejaVu Sans Mono', monospace; fill: #1c232b; }",
        ".header { font: 11.5px ui-monospace, 'DejaVu Sans Mono', monospace; fill: #4a5560; }",
        ".arrow { fill: none; stroke: #6b7683; stroke-width: 1.5; }",
        "</style>",
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" '
        'markerHeight="8" orient="auto"><path d="M0 0 L8 4 L0 8 z" fill="#6b7683"/></marker></defs>',
        f'<rect width="{WIDTH}" height="{height:g}" rx="10" fill="#ffffff"/>',
    ]
    out += [draw_arrow(above, below, boxes) for above, below in without_implied(between)]
    for name, part in PARTS.items():
        top, bottom = boxes[name]
        out += draw_box(name, part, top, bottom - top, lines[name])
    x = MARGIN
    for kind, words in LEGEND:
        border, fill = COLOURS[kind]
        out.append(
            f'<rect x="{x:g}" y="{height - 30:g}" width="14" height="14" rx="3" fill="{fill}" '
            f'stroke="{border}"/>'
        )
        out.append(text(x + 20, height - 18.5, words, "what"))
        x += 46 + len(words) * 6.2
    out.append(text(x + 20, height - 18.5, "a › b: a includes b", "what"))
    return "\n".join(out + ["</svg>", ""])


def main():
    if len(sys.argv) != 3 or sys.argv[2] not in ("write", "check"):
        sys.exit(__doc__.rsplit("\n", 2)[1])
    root = pathlib.Path(sys.argv[1]).resolve()
    picture = root / "docs/project/architecture.svg"
    drawn = draw(root)
    if sys.argv[2] == "write":
        picture.write_text(drawn, encoding="utf-8")
        return
    found = picture.read_text(encoding="utf-8")
    if found != drawn:
        changes = difflib.unified_diff(found.splitlines(), drawn.splitlines(), "found", "drawn", "", "", 0)
        print("\n".join(list(changes)[:20]))
        sys.exit("the picture is not that of the sources: run docs/project/draw_architecture.py . write")


if __name__ == "__main__":
    main()
