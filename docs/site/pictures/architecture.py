# SPDX-License-Identifier: MIT
"""The parts of include/tenon and the conformance kit, the directories of each, and which part includes which, read from
the `#include` lines.

How high a part is, is decided below; what is in it and what it includes come from the sources. Implied includes are
not drawn. A directory without a place, and a part that includes a part that is not below it, are errors.
"""

import dataclasses
import pathlib
import re
import sys

from svg import WIDTH, Picture, lines_of

INCLUDE = re.compile(r'^\s*#\s*include\s*[<"](?:tenon/)?([^">]+)[">]', re.M)


@dataclasses.dataclass
class Part:
    """A box: a directory of include/tenon without the parts inside of it, or the sources of the kit."""

    text: str  # what it is for, and what it needs besides other parts
    header: str  # what users of it include
    row: int  # 0 is at the bottom
    kind: str  # colour


PARTS = {
    "kit": Part("sources of the conformance kit, a library: tests/conformance/kit", "", 8, "tool"),
    "onnxruntime": Part("plugins in stock ONNX Runtime", ".../library.hpp", 8, "bridge"),
    "conformance": Part("for authors of suites and cases", "tenon/conformance/suites.hpp", 7, "tool"),
    "aot/compiler": Part("compiles exported models; needs libzip", "", 7, "tool"),
    "executorch/adapter": Part("plugins in stock ExecuTorch", ".../register_plugins.hpp", 6, "bridge"),
    "host/c": Part("the C interface, libtenon.so", "tenon/host/c/tenon_host.h", 6, "host"),
    "host/layers": Part("the upper storey: a folder for each feature of a host; JSON", "tenon/host.hpp", 5, "host"),
    "host/loader": Part("the lower storey: opens and verifies programs, finds and loads plugins, runs methods; "
                        "flatbuffers", "tenon/loader.hpp", 4, "host"),
    "host/platform": Part("calls of the system", "", 3, "host"),
    "executorch/backend": Part("ExecuTorch's backends as plugins", ".../plugin.hpp", 3, "bridge"),
    "aoti": Part("for AOTInductor models", "tenon/aoti.hpp", 3, "author"),
    "aot": Part("the ahead-of-time half", "tenon/aot.hpp", 3, "author"),
    "backend": Part("what the class of a backend derives from", "tenon/tenon.hpp", 2, "author"),
    "core": Part("status, tensors, options; the C++20 standard library alone", "", 1, "shared"),
    "abi": Part("the frozen boundary between plugin and host; C11, types of fixed width alone", "tenon/abi/tenon.h", 0,
                "shared"),
}
# Directories that belong to two boxes are drawn as part of neither.
SHARED_BY_BRIDGES = "executorch"
# Public headers of layers, and the schemas that the loader reads, have folders of their own beside the storeys.
DRAWN_IN = {"host": "host/layers", "host/schema": "host/loader"}

LEGEND = [
    ("author", "plugin authors include it"),
    ("host", "applications include it"),
    ("tool", "tools"),
    ("bridge", "with ExecuTorch's headers"),
    ("shared", "both sides"),
]
EDGE, GAP, CHIP = 10, 10, 20  # of the picture, between boxes, the height of a directory


def declared(path):
    """The path without `impl`: definitions are drawn where their declarations are."""
    return pathlib.Path(*(part for part in path.parts if part != "impl"))


def files_of(root):
    """Each file by its name: the path below include/tenon, for sources of the kit the path below tests/conformance."""
    out = {}
    for base, folder in ((root / "include/tenon", "."), (root / "tests/conformance", "kit")):
        for path in sorted((base / folder).rglob("*")):
            # Headers for one source of a program are above all directories, as umbrellas are.
            if path.suffix in (".h", ".hpp", ".cpp") and path.name != "implementation.hpp":
                out[path.relative_to(base)] = path
    return out


def part_of(path):
    """The box that a file, given by its name, belongs to; None for umbrellas."""
    folder = path.parent
    while folder.parts:
        name = folder.as_posix()
        if name in PARTS or name == SHARED_BY_BRIDGES:
            return name
        if name in DRAWN_IN:
            return DRAWN_IN[name]
        folder = folder.parent
    return None


def below_of(file, part):
    """The directories of a file below the directory of its part."""
    return file.parent.relative_to(part) if file.parent.is_relative_to(part) else pathlib.Path()


def read_sources(root):
    """Directories of each part, and pairs of parts of which the first includes the second."""
    files = files_of(root)
    # What does not fit into the storeys of the host yet is not drawn.
    lines = (root / "tests/headers/woven.txt").read_text(encoding="utf-8").splitlines()
    woven = {tuple(line.split()) for line in lines if not line.startswith("#")}
    directories = {name: set() for name in PARTS}
    between, inside = set(), {name: set() for name in PARTS}
    for file, path in files.items():
        name = declared(file)
        part = part_of(name)
        if part is None and len(name.parts) > 1:
            sys.exit(f"{name}: give its directory a place in {pathlib.Path(__file__).name}")
        if part not in PARTS:
            continue
        below = below_of(name, part)
        if below.parts:
            directories[part].add(below.parts[0])
        for include in INCLUDE.findall(path.read_text(encoding="utf-8")):
            target = next((p for p in (pathlib.Path(include), file.parent / include) if p in files), None)
            if target is None or (file.as_posix(), target.as_posix()) in woven:
                continue
            other = declared(target)
            goal = part_of(other)
            if goal == part:
                there = below_of(other, goal)
                if below.parts and there.parts and below.parts[0] != there.parts[0]:
                    inside[part].add((below.parts[0], there.parts[0]))
            elif goal in PARTS:
                between.add((part, goal))
    return directories, between, inside


def levels_of(names, edges):
    """Names in lists: each name includes only names of the lists before its own."""
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


def reduced(between):
    """What each part includes, without what follows from the others."""
    below = {name: {goal for part, goal in between if part == name} for name in PARTS}

    def reached(name):
        return below[name].union(*(reached(goal) for goal in below[name]))

    return {name: sorted(goal for goal in goals if not any(goal in reached(other) for other in goals - {goal}))
            for name, goals in below.items()}


def chips_of(levels, width):
    """Rows of directories: [(name, x, width)], from the highest level down; a long level has several rows."""
    for level in reversed(levels):
        row, at = [], 0
        for name in level:
            needed = 7 * len(name) + 12
            if at + needed > width:
                yield row
                row, at = [], 0
            row.append((name, at, needed))
            at += needed + 6
        yield row


def box(picture, name, includes, levels, x, y, width, height=0):
    """Draws a part, or with `picture` None only measures it; the height."""
    part, at = PARTS[name], y + 19
    texts = [(name, 13, "ink", "600", False)]
    texts += [(line, 11, "quiet", "", False) for line in lines_of(part.text, width - 16)]
    if part.header:
        header = f"<{part.header}>"
        texts.append((header, min(10.5, round((width - 18) / len(header) / 0.61, 1)), "quiet", "", True))
    if includes:
        texts += [(line, 11, "ink", "", False) for line in lines_of(f"includes {', '.join(includes)}", width - 16)]
    if picture:
        picture.rect(x, y, width, height, part.kind, f"{part.kind}-line")
    for text, size, colour, weight, mono in texts:
        if picture:
            picture.text(x + 9, at, text, size, colour, weight=weight, mono=mono)
        at += 16
    at -= 8
    for row in chips_of(levels, width - 18):
        for chip, offset, needed in row if picture else ():
            picture.rect(x + 9 + offset, at, needed, CHIP - 4, "paper", f"{part.kind}-line", 4)
            picture.text(x + 9 + offset + needed / 2, at + 12, chip, 10.5, "ink", "middle", mono=True)
        at += CHIP
    return at + 6 - y


def draw(root):
    directories, between, inside = read_sources(root)
    for above, below in sorted(between):
        if PARTS[above].row <= PARTS[below].row:
            sys.exit(f"{above} includes {below}, which is not below it")
    includes = reduced(between)
    levels = {name: levels_of(directories[name], inside[name]) for name in PARTS}
    rows = []
    for row in sorted({part.row for part in PARTS.values()}, reverse=True):
        names = [name for name, part in PARTS.items() if part.row == row]
        rows += [names[at:at + 2] for at in range(0, len(names), 2)]
    placed, y = [], EDGE
    for names in rows:
        width = (WIDTH - 2 * EDGE - GAP * (len(names) - 1)) / len(names)
        height = max(box(None, name, includes[name], levels[name], 0, 0, width) for name in names)
        placed += [(name, EDGE + at * (width + GAP), y, width, height) for at, name in enumerate(names)]
        y += height + GAP
    said = "; ".join(f"{name} includes {', '.join(goals)}" for name, goals in includes.items() if goals)
    picture = Picture(f"The parts of include/tenon and the kit, from the highest to the lowest: {said}.", y + 17 * len(LEGEND) + 30)
    for name, x, top, width, height in placed:
        box(picture, name, includes[name], levels[name], x, top, width, height)
    for kind, text in LEGEND:
        picture.rect(EDGE, y + 2, 16, 12, kind, f"{kind}-line", 3)
        picture.text(EDGE + 24, y + 12, text, 11.5)
        y += 17
    picture.text(EDGE, y + 14, "In a box: a line of directories includes lines below it.", 11, "quiet")
    return {"architecture": picture.render()}
