# SPDX-License-Identifier: MIT
"""docs/reference/layout.md: sizes and offsets of all structs, and the assertions that compilers check them with."""

from checker import frozen as frozen_texts
from checker import layout

PAGE = "docs/reference/layout.md"

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
    """The text of the page: structs in the order of the headers, drafts last."""
    everything = frozen_texts.read_all(include)
    tables = {}
    for name in everything.structs:
        tables.setdefault(everything.headers[name], []).append(_table(name, everything))
    out = [INTRODUCTION]
    for header in sorted(tables, key=lambda header: "/draft/" in header):
        if "/private/" not in header:
            title = f"\n## [{header}](../../include/{header})" + (" (a draft)" if "/draft/" in header else "")
            out.append("\n\n".join([title, *tables[header]]))
    return "\n".join(out) + "\n"


def _table(name, everything):
    wide, narrow = [layout.of(name, layout.BY_NAME[target], everything) for target in ("LP64", "armv7")]
    sizes = f"{wide.size}" if wide.size == narrow.size else f"{wide.size} (64 bits) and {narrow.size} (32 bits)"
    lines = [f"### {name}", "", f"Size: {sizes}.", "", "| member | offset, 64 bits | offset, 32 bits |", "|---|---:|---:|"]
    for place, other in zip(wide.places, narrow.places):
        lines.append(f"| `{_member(place)}` | {place.offset} | {other.offset} |")
    return "\n".join(lines)


def _member(place):
    """The declaration; of a function its name, of a union its alternatives are left out."""
    text = place.declaration
    if "(" in text:
        return f"{place.name}()"
    return f"union {place.name}" if text.startswith("union ") else text


def assertions(include, target):
    """A source in C and C++ that compiles where the sizes, offsets and numbers equal the model's."""
    everything = frozen_texts.read_all(include)
    lines = ["#include <stddef.h>", *(f'#include "{name}"' for name in sorted(set(everything.headers.values()))),
             "#ifdef __cplusplus", "#define LAYOUT_ASSERT static_assert", "#else", "#define LAYOUT_ASSERT _Static_assert",
             "#endif"]

    def expect(text, value, about):
        lines.append(f'LAYOUT_ASSERT({text} == {value}, "{about}: expected {value}");')

    expect("sizeof(void*)", target.pointer, f"{target.name}: the size of a pointer")
    for name in everything.structs:
        one = layout.of(name, target, everything)
        expect(f"sizeof({name})", one.size, f"{target.name}: size of {name}")
        for place in one.places:
            expect(f"offsetof({name}, {place.name})", place.offset, f"{target.name}: offset of {name}.{place.name}")
            expect(f"sizeof((({name}*)0)->{place.name})", place.size, f"{target.name}: size of {name}.{place.name}")
    for name, value in everything.constants.items():
        expect(name, value, name)
    return "\n".join(lines) + "\n"
