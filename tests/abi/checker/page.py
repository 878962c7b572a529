# SPDX-License-Identifier: MIT
"""docs/reference/layout.md: sizes and offsets of all structs, and the assertions that compilers check them with."""

from checker import frozen as frozen_texts
from checker import layout

PAGE = "docs/reference/layout.md"
SHOWN = (("LP64", "64 bits"), ("armv7", "32 bits"))

INTRODUCTION = """# Layout of the structs

Sizes and offsets, in bytes, of every struct that crosses the boundary. `tests/abi/boundary.py write` writes this page from
the headers. One test compares the page with the headers. Another test compiles assertions of these numbers for each
platform.

| column | platforms |
|---|---|
| 64 bits | Linux, macOS and Windows on x86-64 and arm64 |
| 32 bits | armv7, Windows on x86, wasm32 |

i386 Linux aligns 8-byte types to 4 bytes, so some of its structs are smaller; the compilers check that target, too. A
host loads only plugins for its own platform, so no struct crosses from one column to the other. A host reads
[`tenon_plugin_head`](#tenon_plugin_head) and [`tenon_backend_record`](#tenon_backend_record) from a file; they are equal
on all platforms.

Structs have no hidden padding at their ends. An appended member therefore starts at the old size or later. The
[ABI policy](abi-policy.md) says how structs grow."""


def page(include):
    """The text of the page."""
    everything = frozen_texts.read_all(include)
    out = [INTRODUCTION]
    for title, header_of in sections(include):
        out.append(f"\n## {title}")
        for name in header_of:
            out.append("\n" + _table(name, everything))
    return "\n".join(out) + "\n"


def sections(include):
    """(title, structs) in the order of the headers."""
    everything = frozen_texts.read_all(include)
    by_header = {}
    for name in everything.structs:
        by_header.setdefault(everything.headers[name], []).append(name)
    drafts = [(header, names) for header, names in by_header.items() if "/draft/" in header]
    stable = [(header, names) for header, names in by_header.items() if "/draft/" not in header and "/private/" not in header]
    for header, names in stable:
        yield _link(header), names
    for header, names in drafts:
        yield f"{_link(header)} (a draft)", names


def _link(header):
    return f"[{header}](../../include/{header})"


def _table(name, everything):
    layouts = [layout.of(name, layout.BY_NAME[target], everything) for target, _ in SHOWN]
    sizes = " and ".join(f"{one.size} ({shown})" for one, (_, shown) in zip(layouts, SHOWN))
    if layouts[0].size == layouts[1].size:
        sizes = f"{layouts[0].size}"
    lines = [f"### {name}", "", f"Size: {sizes}.", "", "| member | offset, 64 bits | offset, 32 bits |", "|---|---:|---:|"]
    for wide, narrow in zip(layouts[0].places, layouts[1].places):
        lines.append(f"| `{_member(wide)}` | {wide.offset} | {narrow.offset} |")
    return "\n".join(lines)


def _member(place):
    """The declaration; of a function its name, of a union its alternatives are left out."""
    text = place.declaration
    if "(" in text:
        return f"{place.name}()"
    return f"union {place.name}" if text.startswith("union ") else text


def assertions(include, target, header=None):
    """A source in C and C++ that compiles where the sizes, offsets and numbers are those of the model. Of one header, or
    of all."""
    everything = frozen_texts.read_all(include)
    names = sorted({name for name in everything.headers.values() if header in (None, name)})
    lines = ["#include <stddef.h>", *(f'#include "{name}"' for name in names), "#ifdef __cplusplus",
             "#define LAYOUT_ASSERT static_assert", "#else", "#define LAYOUT_ASSERT _Static_assert", "#endif"]
    lines.append(f'LAYOUT_ASSERT(sizeof(void*) == {target.pointer}, "{target.name}: the size of a pointer");')
    for name in everything.structs:
        if everything.headers[name] not in names:
            continue
        one = layout.of(name, target, everything)
        lines.append(f'LAYOUT_ASSERT(sizeof({name}) == {one.size}, "{target.name}: size of {name}: expected {one.size}");')
        for place in one.places:
            lines.append(f'LAYOUT_ASSERT(offsetof({name}, {place.name}) == {place.offset}, '
                         f'"{target.name}: offset of {name}.{place.name}: expected {place.offset}");')
            lines.append(f'LAYOUT_ASSERT(sizeof((({name}*)0)->{place.name}) == {place.size}, '
                         f'"{target.name}: size of {name}.{place.name}: expected {place.size}");')
    for name, value in everything.constants.items():
        if everything.headers[name] in names:
            lines.append(f'LAYOUT_ASSERT({name} == {value}, "{name}: expected {value}");')
    return "\n".join(lines) + "\n"
