#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Draws docs/project/architecture.svg by Graphviz: the parts of include/tenon, the directories of each, and which part
includes which, read from the `#include` lines.

How high a part is, is decided below; what is in it and all arrows come from the sources. An arrow that follows from others
is left out. A directory without a place, and an arrow that does not point down, are errors. The picture names the sum
of what it was drawn from, so that checking it takes no Graphviz.

usage: draw_architecture.py ROOT write|check
"""

import dataclasses
import hashlib
import html
import pathlib
import re
import subprocess
import sys

INCLUDE = re.compile(r'^\s*#\s*include\s*[<"](?:tenon/)?([^">]+)[">]', re.M)


@dataclasses.dataclass
class Part:
    """A box: a directory of include/tenon without the parts inside of it."""

    text: str  # what it is for, and what it needs besides other parts
    header: str  # what users of it include
    row: int  # 0 is at the bottom
    kind: str  # colour


PARTS = {
    "conformance": Part("the conformance kit; needs Catch2", "tenon/conformance/suites.hpp", 5, "tool"),
    "aot/compiler": Part("compiles exported models; needs libzip", "", 4, "tool"),
    "executorch/backend": Part("its backends as plugins", ".../plugin.hpp", 3, "bridge"),
    "aoti": Part("for AOTInductor models", "tenon/aoti.hpp", 3, "author"),
    "aot": Part("the ahead-of-time half", "tenon/aot.hpp", 3, "author"),
    "executorch/adapter": Part("plugins in stock ExecuTorch", ".../register_plugins.hpp", 3, "bridge"),
    "backend": Part("what the class of a backend derives from", "tenon/tenon.hpp", 2, "author"),
    "host": Part("loads plugins, runs programs; flatbuffers, JSON", "tenon/host.hpp", 2, "host"),
    "core": Part("status, tensors, options; the C++20 standard library alone", "", 1, "shared"),
    "abi": Part("the frozen boundary between plugin and host; C11, types of fixed width alone", "tenon/abi/tenon.h", 0,
                "shared"),
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

# Directories in a line of a box.
IN_LINE = 8


def declared(path):
    """The path without `impl`: definitions are drawn where their declarations are."""
    return pathlib.Path(*(part for part in path.parts if part != "impl"))


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
        # Those for one source of a program are above all directories, as umbrellas are.
        if path.suffix not in (".h", ".hpp") or path.name == "implementation.hpp":
            continue
        name = declared(path.relative_to(base))
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
            other = declared(target.resolve().relative_to(base.resolve()))
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


def font(content, size, colour="#1c232b", face="sans-serif"):
    """Text of a label."""
    return f'<FONT FACE="{face}" POINT-SIZE="{size}" COLOR="{colour}">{html.escape(content)}</FONT>'


def rows_of(levels, border):
    """Rows of a box, with the directories of one level each; those of a long one in several lines."""
    for level in reversed(levels):
        for first in range(0, len(level), IN_LINE):
            cells = "".join(
                f'<TD BGCOLOR="#ffffff" BORDER="1" COLOR="{border}" STYLE="ROUNDED">{font(name, 12, face="monospace")}</TD>'
                for name in level[first:first + IN_LINE])
            yield f'<TR><TD><TABLE BORDER="0" CELLSPACING="4"><TR>{cells}</TR></TABLE></TD></TR>'


def box(name, part, levels):
    """The node of a part."""
    border, fill = COLOURS[part.kind]
    grey = "#4a5560"
    rows = [f'<TR><TD><B>{font(name, 15)}</B></TD></TR>', f"<TR><TD>{font(part.text, 12, grey)}</TD></TR>"]
    if part.header:
        rows.append(f'<TR><TD>{font(f"<{part.header}>", 11, grey, "monospace")}</TD></TR>')
    rows += rows_of(levels, border)
    return (f'"{name}" [label=<<TABLE BORDER="1" CELLBORDER="0" CELLSPACING="1" STYLE="ROUNDED" COLOR="{border}" '
            f'BGCOLOR="{fill}">{"".join(rows)}</TABLE>>]')


def legend():
    """The colours, and what a box shows, as the lowest node."""
    cells = "".join(f'<TD BGCOLOR="{COLOURS[kind][1]}" BORDER="1" COLOR="{COLOURS[kind][0]}">{font(text, 12)}</TD>'
                    for kind, text in LEGEND)
    cells += f'<TD>{font("in a box: a line includes lines below it", 12)}</TD>'
    return f'"legend" [label=<<TABLE BORDER="0" CELLSPACING="6"><TR>{cells}</TR></TABLE>>]'


def graph_of(root):
    """The graph, in the language of Graphviz."""
    directories, between, inside = read_sources(root)
    for above, below in sorted(between):
        if PARTS[above].row <= PARTS[below].row:
            sys.exit(f"{above} includes {below}, which is not below it")
    out = ["digraph {", 'graph [ranksep=0.35, nodesep=0.3, bgcolor="#ffffff"]', "node [shape=none, margin=0]",
           'edge [color="#6b7683"]']
    out += [box(name, part, levels_of(directories[name], inside[name])) for name, part in PARTS.items()]
    for row in sorted({part.row for part in PARTS.values()}):
        names = "; ".join(f'"{name}"' for name, part in PARTS.items() if part.row == row)
        out.append(f"{{ rank=same; {names} }}")
    out += [f'"{above}" -> "{below}"' for above, below in sorted(between)]
    out += [legend(), '"abi" -> "legend" [style=invis]', "}", ""]
    return "\n".join(out)


def main():
    if len(sys.argv) != 3 or sys.argv[2] not in ("write", "check"):
        sys.exit(__doc__.rsplit("\n", 2)[1])
    root = pathlib.Path(sys.argv[1]).resolve()
    picture = root / "docs/project/architecture.svg"
    graph = graph_of(root)
    head = ("<!-- SPDX-License-Identifier: MIT -->\n<!-- Made by docs/project/draw_architecture.py from the include lines: "
            f"{hashlib.sha256(graph.encode()).hexdigest()} -->\n")
    if sys.argv[2] == "write":
        # An older version of Graphviz may draw it a little differently: a picture of these lines stays.
        if not picture.exists() or not picture.read_text(encoding="utf-8").startswith(head):
            reduced = subprocess.run(["tred"], input=graph, capture_output=True, text=True, check=True).stdout
            drawn = subprocess.run(["dot", "-Tsvg"], input=reduced, capture_output=True, text=True, check=True).stdout
            picture.write_text(head + drawn[drawn.index("<svg"):], encoding="utf-8")
        return
    if not picture.read_text(encoding="utf-8").startswith(head):
        sys.exit("the picture is not that of the sources: run docs/project/draw_architecture.py . write")


if __name__ == "__main__":
    main()
