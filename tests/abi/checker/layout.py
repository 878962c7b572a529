# SPDX-License-Identifier: MIT
"""Where the compilers of each target put the members of a struct. layout_test.py asks the compilers whether it is so."""

import dataclasses
import itertools

from checker import headers


@dataclasses.dataclass(frozen=True)
class Target:
    """What differs between targets: the size of a pointer, and the alignment of types of 8 bytes in a struct."""

    name: str
    pointer: int
    eight: int


TARGETS = (
    Target("LP64", 8, 8),  # Linux and macOS on 64 bits.
    Target("LLP64", 8, 8),  # Windows on 64 bits. It differs in `long`, which is refused.
    Target("i386", 4, 4),
    Target("armv7", 4, 8),  # Also Windows on 32 bits, and wasm32.
)
BY_NAME = {target.name: target for target in TARGETS}

SIZES = {"char": 1, "int8_t": 1, "uint8_t": 1, "int16_t": 2, "uint16_t": 2, "int32_t": 4, "uint32_t": 4, "float": 4,
         "int64_t": 8, "uint64_t": 8, "double": 8}


@dataclasses.dataclass(frozen=True)
class Place:
    """Of one member."""

    name: str
    declaration: str
    offset: int
    size: int


@dataclasses.dataclass(frozen=True)
class Layout:
    """Of a struct or union. `holes` are (bytes, name of the member behind them); `tail` is hidden at the end."""

    size: int
    alignment: int
    places: tuple
    holes: tuple
    tail: int


def _size_and_alignment(member, target, boundary):
    if member.base is None:
        size = alignment = target.pointer
    elif isinstance(member.base, headers.Aggregate):
        inside = of_aggregate(member.base, target, boundary)
        size, alignment = inside.size, inside.alignment
    elif member.base in boundary.structs:
        inside = of_aggregate(boundary.structs[member.base], target, boundary)
        size, alignment = inside.size, inside.alignment
    else:
        size, alignment = _of_number(member, target, boundary)
    for count in member.counts:
        size *= headers.evaluate(count, boundary.constants)
    return size, alignment


def _of_number(member, target, boundary):
    base = member.base
    while base in boundary.types and base not in SIZES:
        base = boundary.types[base]
    if "(" in base:
        return target.pointer, target.pointer
    if base in ("size_t", "uintptr_t", "intptr_t", "ptrdiff_t"):
        return target.pointer, target.pointer
    if base not in SIZES:
        raise headers.Unreadable(f"`{member.declaration}`: expected a type whose size is the same everywhere, found `{base}`")
    return SIZES[base], min(SIZES[base], target.eight)


def of_aggregate(aggregate, target, boundary):
    """The Layout of a struct or union on a target."""
    end, alignment, places, holes = 0, 1, [], []
    largest = 0
    for member in aggregate.members:
        size, align = _size_and_alignment(member, target, boundary)
        alignment = max(alignment, align)
        offset = 0 if aggregate.is_union else -(-end // align) * align
        if not aggregate.is_union and offset > end:
            holes.append((offset - end, member.name))
        places.append(Place(member.name, member.declaration, offset, size))
        end = offset + size
        largest = max(largest, end)
    size = -(-largest // alignment) * alignment
    return Layout(size, alignment, tuple(places), tuple(holes), size - largest)


def of(name, target, boundary):
    """The Layout of a struct by its name."""
    return of_aggregate(boundary.structs[name], target, boundary)


def mend(name, boundary):
    """The smallest members to append so that a struct has no hidden tail on any target; the declarations."""
    members = boundary.structs[name].members
    taken = {member.name for member in members}
    names = (word for word in ("reserved", *(f"reserved{number}" for number in range(2, 9))) if word not in taken)
    first, second = next(names), next(names)
    types = [("uint8_t", count) for count in range(1, 8)] + [("uint16_t", 1), ("uint32_t", 1), ("void*", 1)]

    def declared(kind, name):
        return f"{kind[0]} {name}" + (f"[{kind[1]}]" if kind[0] == "uint8_t" and kind[1] > 1 else "")

    found = []
    for kinds in [(one,) for one in types] + list(itertools.product(types, types)):
        texts = [declared(kind, text) for kind, text in zip(kinds, (first, second))]
        longer = headers.Aggregate(False, members + tuple(map(headers.read_member, texts)))
        layouts = [of_aggregate(longer, target, boundary) for target in TARGETS]
        if not any(layout.tail for layout in layouts) and layouts[0].holes == of(name, TARGETS[0], boundary).holes:
            found.append((sum(layout.size for layout in layouts), len(texts), texts))
    return min(found)[2]
